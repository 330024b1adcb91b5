"""What all tests share: the number of random examples, and running a body eagerly and compiled."""

import os
import shutil
import tempfile

import pytest
from hypothesis import settings

# compiled code of the tests is kept apart from the user's; workers and child processes take this over
if "NUMTAPE_CACHE_DIR" not in os.environ:
    os.environ["NUMTAPE_CACHE_DIR"] = tempfile.mkdtemp(prefix="numtape-tests-")
    OWN_CACHE = os.environ["NUMTAPE_CACHE_DIR"]
else:
    OWN_CACHE = ""

# No deadline: the first example of a test compiles. `ci` draws the same examples in each run.
settings.register_profile("dev", max_examples=25, deadline=None)
settings.register_profile("ci", max_examples=100, deadline=None, derandomize=True, print_blob=True)
settings.register_profile("full", max_examples=1000, deadline=None, print_blob=True)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci" if os.environ.get("CI") else "dev"))


@pytest.fixture(params=["eager", "jit"])
def run(request):
    """Runs a body on Tensors as it stands, or compiled on arrays."""
    import numtape as nt

    def eager(body, *args):
        return body(*[nt.tensor(a) for a in args])

    return eager if request.param == "eager" else lambda body, *args: nt.jit(body)(*args)


def pytest_unconfigure(config):
    """Take the cache of these tests away, once the process that made it ends."""
    if OWN_CACHE:
        shutil.rmtree(OWN_CACHE, ignore_errors=True)
