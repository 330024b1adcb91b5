"""What all tests share: the number of random examples, and running a body eagerly and compiled."""

import os

import pytest
from hypothesis import settings

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
