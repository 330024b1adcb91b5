"""Functions of scipy.special that are not ufuncs, known by name so that SciPy need not be loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from ..values import emit, rank_of
from .common import array, axes_of, inexact, keep, stretch
from .reductions import max_


def _peak(x: Any, axes: tuple[int, ...], **initial: float) -> Any:
    """The largest element with its axes kept, as a constant; 0 where it isn't finite, since inf - inf is nan."""
    top = max_(x, axis=axes, keepdims=True, **initial)
    return emit("stop_gradient", emit("where", emit("isfinite", top), top, 0.0))


def logsumexp(a: Any, axis: Any = None, b: Any = None, keepdims: bool = False, return_sign: bool = False) -> Any:
    """``log(sum(b * exp(a)))`` without overflow, right at infinities.

    Parameters
    ----------
    a : array_like
    axis : None, int or tuple of ints
    b : array_like, optional
        Factors of the exponentials, broadcast against `a`.
    keepdims : bool
    return_sign : bool
        Return also the sign of the sum, and the logarithm of its absolute value.

    Examples
    --------
    >>> import numtape as nt
    >>> nt.logsumexp(nt.tensor([1000.0, 1000.0]))
    tensor(1000.69314718, dtype=float64)
    """
    x = inexact(array(a))
    if b is not None:
        x, weight = stretch(x, array(b))
        # what has no weight doesn't count, an infinite one included
        x = emit("where", emit("equal", weight, 0), -np.inf, x)
    axes = axes_of(axis, rank_of(x))
    top = _peak(x, axes, initial=-np.inf)  # of nothing, the sum is 0
    terms = emit("exp", emit("subtract", x, top))
    if b is not None:
        terms = emit("multiply", weight, terms)
    total = emit("sum", terms, axes=axes)
    drop = emit("squeeze", top, axes=axes) if axes else top
    if return_sign:
        sign = emit("sign", total)
        value = emit("add", emit("log", emit("absolute", total)), drop)
        return keep(value, axes, keepdims), keep(sign, axes, keepdims)
    return keep(emit("add", emit("log", total), drop), axes, keepdims)


def softmax(x: Any, axis: Any = None) -> Any:
    x = inexact(array(x))
    axes = axes_of(axis, rank_of(x))
    powers = emit("exp", emit("subtract", x, _peak(x, axes)))
    return emit("divide", powers, keep(emit("sum", powers, axes=axes), axes, True))


def log_softmax(x: Any, axis: Any = None) -> Any:
    x = inexact(array(x))
    axes = axes_of(axis, rank_of(x))
    shifted = emit("subtract", x, _peak(x, axes))
    return emit("subtract", shifted, keep(emit("log", emit("sum", emit("exp", shifted), axes=axes)), axes, True))


FUNCTIONS_BY_NAME: dict[tuple[str, str], Callable[..., Any]] = {
    ("scipy.special", "logsumexp"): logsumexp,
    ("scipy.special", "softmax"): softmax,
    ("scipy.special", "log_softmax"): log_softmax,
}
