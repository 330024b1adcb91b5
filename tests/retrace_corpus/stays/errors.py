"""An error while tracing leaves nothing behind."""

import numpy as np

import numtape as nt

ready = None


@nt.jit
def model(x):
    if ready is None:
        raise RuntimeError("not ready")
    return x * ready


for _ in range(3):
    try:
        model(np.ones(2))
    except RuntimeError as error:
        assert "not ready" in str(error)
assert model.stats.traces == model.stats.entries == 0
for n in (2, 4, 1):
    ready = float(n)
    np.testing.assert_array_equal(model(np.ones(n)), np.full(n, ready))
