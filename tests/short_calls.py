"""What the tests of the short way share: functions whose calls take it, and comparing it with the long way."""

import numpy as np

import numtape as nt
from numtape.runtime import lanes
from numtape.runtime.jit import Function

x4 = np.arange(1.0, 5.0)


def is_short(f):
    return not isinstance(f.__call__, lanes.LongWay)


def opened(function, *args, **options):
    """A compiled function that has been called twice, so that a third call can take the short way."""
    f = nt.jit(function, **options) if not isinstance(function, Function) else function
    f.clear_cache()
    for _ in range(2):
        f(*args)
    assert is_short(f)
    return f


def counted(f, *args):
    """A call's result, and whether it never came to Python."""
    before = f._counts.calls
    return f(*args), f._counts.calls == before


def same(a, b):
    assert type(a) is type(b)
    if isinstance(a, tuple):
        assert len(a) == len(b)
        for one, other in zip(a, b, strict=True):
            same(one, other)
    elif isinstance(a, np.ndarray):
        assert (a.dtype, a.shape, a.flags.carray) == (b.dtype, b.shape, b.flags.carray)
        np.testing.assert_array_equal(a, b)
        assert a.base is None and not np.shares_memory(a, b)
    else:
        assert repr(a) == repr(b)


def answers(f, *args, short):
    """The call agrees with the long way's and NumPy's, in kind too, and takes the way that is said."""
    got, was_short = counted(f, *args)
    assert was_short == short
    same(got, f._call(*args))
    for one, other in zip(*[r if type(r) is tuple else (r,) for r in (got, f.__wrapped__(*args))], strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-6)


def double(x):
    return np.sin(x) * 2 + 1


def simple(x, k=2.0):
    return x * k
