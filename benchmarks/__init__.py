"""The benchmark suite: ``python -m benchmarks`` measures numtape and its peers side by side; see README.md here."""
