"""What all tests share: the number of random examples, which only the environment decides."""

import os

from hypothesis import settings

# No deadline: the first example of a test compiles. `ci` draws the same examples in each run.
settings.register_profile("dev", max_examples=25, deadline=None)
settings.register_profile("ci", max_examples=100, deadline=None, derandomize=True, print_blob=True)
settings.register_profile("full", max_examples=1000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))
