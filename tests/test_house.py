"""The rules of the house: who imports whom, how long a file may be, what importing costs, what the wheel holds."""

import ast
import doctest
import importlib
import importlib.metadata
import os
import re
import subprocess
import sys
import tomllib
import zipfile
from pathlib import Path

import pytest

import numtape

ROOT = Path(__file__).resolve().parents[1]
ROOMS = ("tracer", "compiler", "runtime")  # each may import itself and those before it
MODULES = sorted([ROOT / "__init__.py", *(path for room in ROOMS for path in (ROOT / room).rglob("*.py"))])
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())
README = (ROOT / "README.md").read_text()


def short(path):
    return path.relative_to(ROOT).as_posix()


def module_name(path):
    parts = ["numtape", *path.relative_to(ROOT).with_suffix("").parts]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def own_files():
    """Files of the project as they stand in the tree, without what tools leave there."""
    made = {"build", "dist", "__pycache__"}
    for directory, names, files in os.walk(ROOT):
        hidden = {n for n in names if n.startswith(".") and n != ".ci"}
        names[:] = sorted(set(names) - made - hidden - {n for n in names if n.endswith(".egg-info")})
        yield from (Path(directory) / f for f in sorted(files) if not f.endswith((".pyc", ".so")))


def imported(path):
    """Absolute names of all modules that a file imports, also inside functions, with their lines."""
    package = module_name(path).split(".")
    if path.name != "__init__.py":
        package.pop()
    for node in ast.walk(ast.parse(path.read_text(), str(path))):
        if isinstance(node, ast.Import):
            yield from ((alias.name, node.lineno) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = package[: len(package) - node.level + 1] if node.level else []
            stem = [*base, *(node.module.split(".") if node.module else [])]
            # `from .. import compiler` imports a room too
            yield from ((".".join([*stem, alias.name]), node.lineno) for alias in node.names)


def run_python(code, *args, **kwargs):
    return subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, timeout=300, **kwargs)


@pytest.mark.parametrize("room", ROOMS)
def test_imports_go_down_only(room):
    above = tuple(f"numtape.{other}" for other in ROOMS[ROOMS.index(room) + 1 :])
    wrong = [
        f"{short(path)}:{line} imports {name}"
        for path in MODULES
        if path.is_relative_to(ROOT / room)
        for name, line in imported(path)
        if name.startswith(above) or name == "numtape"
    ]
    assert not wrong, "\n".join(wrong)


def test_files_are_short():
    lengths = {short(p): len(p.read_text().splitlines()) for p in own_files() if p.suffix == ".py"}
    assert "tests/test_house.py" in lengths
    assert not {name: n for name, n in lengths.items() if n >= 400}


def test_import_loads_no_compiler():
    done = run_python("import numtape, sys; numtape.jit(len), numtape.GradientTape(); print(*sys.modules)")
    assert done.returncode == 0, done.stderr
    loaded = {name.partition(".")[0] for name in done.stdout.split()}
    assert "numpy" in loaded
    assert not loaded & {"numba", "llvmlite", "scipy", "sklearn", "typer", "rich"}


def test_import_reads_no_settings():
    """What numtape's variables hold matters when something is compiled, not when the package is imported."""
    strange = {**os.environ, "NUMTAPE_BACKEND": "none-such", "NUMTAPE_LOG": "none-such"}
    done = run_python("import numtape", env=strange)
    assert done.returncode == 0, done.stderr


def test_public_names():
    records = ["GradientTape", "Variable", "constant", "stop_gradient", "tensor"]
    transforms = ["grad", "hessian", "hvp", "jacobian", "jit", "jvp", "value_and_grad", "vjp"]
    for name in records + transforms:
        assert callable(getattr(numtape, name)), name
        assert name in dir(numtape)
    with pytest.raises(AttributeError, match="no_such_name"):
        _ = numtape.no_such_name


def test_version_is_one():
    assert re.fullmatch(r"\d+\.\d+\.\d+([ab]|rc)?\d*", numtape.__version__)
    assert importlib.metadata.version("numtape") == numtape.__version__
    assert f"## {numtape.__version__}" in (ROOT / "CHANGELOG.md").read_text()


def test_packages_are_listed():
    """Packages are written out in pyproject.toml; a new directory has to be added there."""
    in_tree = {module_name(path.parent / "__init__.py") for path in MODULES}
    assert set(PROJECT["tool"]["setuptools"]["packages"]) == in_tree
    without = [short(path.parent) for path in MODULES if not (path.parent / "__init__.py").exists()]
    assert not without, "no __init__.py"


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The wheel, built without a network from a copy of what is packaged (a build leaves files in the tree)."""
    needed = PROJECT["build-system"]["requires"][0].rpartition("=")[2]
    setuptools = pytest.importorskip("setuptools", minversion=needed, reason="builds the wheel: pip install '.[test]'")
    assert setuptools
    source, out = tmp_path_factory.mktemp("source"), tmp_path_factory.mktemp("wheel")
    for path in own_files():
        copy = source / short(path)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(path.read_bytes())
    build = "import sys; from setuptools import build_meta; print(build_meta.build_wheel(sys.argv[1]))"
    done = run_python(build, str(out), cwd=source)
    assert done.returncode == 0, done.stderr
    return zipfile.ZipFile(next(out.glob("*.whl")))


def test_wheel_holds_the_package_alone(wheel):
    info = f"numtape-{numtape.__version__}.dist-info/"
    names = {n for n in wheel.namelist() if not n.startswith(info)}
    code = {n for n in names if n.endswith(".py")}
    assert code == {f"numtape/{short(path)}" for path in MODULES}
    assert names - code <= {"numtape/py.typed"}
    assert {info + "licenses/LICENSE", info + "entry_points.txt"} <= set(wheel.namelist())
    metadata = wheel.read(info + "METADATA").decode()
    assert "License-Expression: Apache-2.0" in metadata
    assert "Requires-Python: <3.14,>=3.11" in metadata


def test_wheel_imports(wheel, tmp_path):
    wheel.extractall(tmp_path)
    names = [module_name(path) for path in MODULES]
    code = "import importlib, sys; print(*{importlib.import_module(n).__file__ for n in sys.argv[1:]}, sep='\\n')"
    done = run_python(code, *names, cwd=tmp_path, env={**os.environ, "PYTHONPATH": str(tmp_path)})
    assert done.returncode == 0, done.stderr
    assert all(Path(file).is_relative_to(tmp_path) for file in done.stdout.splitlines())


@pytest.mark.parametrize("path", MODULES, ids=short)
def test_docstring_examples(path):
    module = importlib.import_module(module_name(path))
    flags = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
    assert doctest.testmod(module, optionflags=flags).failed == 0


def readme_blocks(language, mark=""):
    return re.findall(rf"{re.escape(mark)}\n```{language}\n(.*?)```", README, re.DOTALL)


@pytest.mark.parametrize("name", ["main job", "tests"])
def test_readme_has_the_commands_of_ci(name):
    mark = f"<!-- ci: {name} -->"
    assert README.count(mark) == 1
    (block,) = readme_blocks("sh", mark)
    assert block.count("\n") == 1, "one line"
    assert f'run_readme "{name}"' in (ROOT / ".ci" / "run").read_text()


def test_readme_code_runs(tmp_path):
    """The Python blocks run in order as one file, and print what the comments beside `print` say."""
    script = tmp_path / "readme.py"
    script.write_text("\n".join(readme_blocks("python")))
    expected = re.findall(r"^print\(.*\) +# (.*)$", script.read_text(), re.MULTILINE)
    assert len(expected) >= 3
    done = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines() == expected


def test_readme_links_exist():
    targets = [t for t in re.findall(r"\]\(([^)]+)\)", README) if "://" not in t]
    assert targets
    assert not [t for t in targets if not (ROOT / t).exists()]


# Written in pieces, or this file would hold what it looks for.
PRIVATE = re.compile(r"(?<![\w.])/(?:wo" + r"rk|ro" + r"ot|o" + r"pt)/\w|https?://[^\s)]*(?:py" + r"pi|/sim" + r"ple)")


def test_nothing_private():
    """No file names a directory of somebody's machine or a package index."""
    found = []
    for path in own_files():
        for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
            if PRIVATE.search(line):
                found.append(f"{short(path)}:{number}: {line.strip()[:100]}")
    assert not found, "\n".join(found)


def test_unfinished_work_is_no_code():
    """No marker of unfinished work, no exception swallowed without a word."""
    marker = re.compile(r"\b(?:TO" + r"DO|FIX" + r"ME|XX" + r"X)\b|except[^\n]*:\s*pass\b")
    found = [short(path) for path in MODULES if marker.search(path.read_text())]
    assert not found
