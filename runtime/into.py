"""``fn(*args, out=arrays)``: the result is written into arrays of the caller's."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np

from ..tracer.errors import DtypeError, ShapeError, layout
from .signature import flatten


def write_into(out: Any, result: Any, label: str) -> Any:
    """Write a result into `out`, arrays in the structure of the result, and return `out`.

    Nothing is written unless all of it fits. Raises TypeError, ValueError, ShapeError or DtypeError otherwise.
    """
    arrays, tree = flatten(out)
    values, wanted = flatten(result)
    if tree != wanted:
        expected = (
            "one array" if not isinstance(result, tuple | list | dict) else f"{len(values)} arrays in its structure"
        )
        got = type(out).__name__ if not isinstance(out, tuple | list | dict) else f"{len(arrays)} in another structure"
        raise ValueError(
            layout(f"out= of {label} doesn't have the structure of the result", expected=expected, got=got)
        )
    for array, value in zip(arrays, values, strict=True):
        _check(array, np.asarray(value), label)
    if any(np.may_share_memory(a, b) and np.shares_memory(a, b) for a, b in combinations(arrays, 2)):
        raise ValueError(
            layout(f"out= of {label} holds arrays that share memory", fix="Pass one array for each result.")
        )
    for array, value in zip(arrays, values, strict=True):
        array[...] = value
    return out


def _check(array: Any, value: np.ndarray[Any, Any], label: str) -> None:
    if not isinstance(array, np.ndarray):
        raise TypeError(layout(f"out= of {label}", expected="arrays", got=type(array).__name__))
    if not array.flags.writeable:
        raise ValueError(layout(f"out= of {label} is read-only", fix="Pass an array that can be written to."))
    if array.shape != value.shape:
        raise ShapeError(layout(f"out= of {label}", expected=f"shape {value.shape}", got=f"shape {array.shape}"))
    if not np.can_cast(value.dtype, array.dtype, "same_kind"):
        raise DtypeError(layout(f"out= of {label}", expected=f"an array of {value.dtype}", got=f"{array.dtype}"))
