"""Functions that write into an argument: it must be a Tensor, since a plain array can't hold a traced value."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..dims import minimum
from ..errors import DtypeError, layout
from ..tensor import Tensor
from ..values import dtype_of, emit, facts, is_traced, sizes
from .common import array, broadcast_to, cast, flat, force, iota, product, size_value, to_bool
from .gathers import bounded, indices_of, nonzero


def _target(function: str, item: Any) -> Tensor:
    if isinstance(item, Tensor):
        return item
    text = f"np.{function} would write a traced value into a plain {type(item).__name__}"
    raise DtypeError(layout(text, fix="Make the target a Tensor: nt.tensor(target)."))


def copyto(dst, src, casting="same_kind", where=True):
    target, value = _target("copyto", dst), array(src)
    plain = not is_traced(src) and isinstance(src, bool | int | float)
    if not plain and not np.can_cast(dtype_of(value), target.dtype, casting):
        text = f"Cannot cast array data from {dtype_of(value)!r} to {target.dtype!r} according to the rule '{casting}'"
        raise TypeError(text)
    if where is not True:
        mask = broadcast_to(to_bool(array(where)), sizes(target))
        value = emit("where", mask, cast(value, target.dtype), target)
    target[...] = value


def _spread(values: Any, count: Any) -> Any:
    """The values over and over, `count` of them."""
    v = flat(array(values))
    length = sizes(v)[0]
    if facts().same(length, count) is not None:
        return v
    place = emit("remainder", iota(count), size_value(length))
    return emit("gather", v, place, axes=(0,), at=0)


def put(a, ind, v, mode="raise"):
    target = _target("put", a)
    index = flat(indices_of(ind))
    if facts().sign(product(sizes(array(v)))) == 0:
        return
    row = flat(target.read())
    index = bounded(index, sizes(row)[0], mode)
    value = cast(_spread(v, sizes(index)[0]), target.dtype)
    row = emit("scatter_set", row, value, index, axes=(0,), at=0)
    target[...] = emit("reshape", row, shape=sizes(target))


def place(arr, mask, vals):
    target = _target("place", arr)
    (index,) = nonzero(flat(to_bool(array(mask))))
    value = cast(_spread(vals, sizes(index)[0]), target.dtype)
    row = emit("scatter_set", flat(target.read()), value, index, axes=(0,), at=0)
    target[...] = emit("reshape", row, shape=sizes(target))


def putmask(a, mask, values):
    target = _target("putmask", a)
    value = array(values)
    if sizes(value) != sizes(target):
        value = emit("reshape", _spread(value, product(sizes(target))), shape=sizes(target))
    target[...] = emit("where", to_bool(array(mask)), cast(value, target.dtype), target)


def fill_diagonal(a, val, wrap=False):
    target = _target("fill_diagonal", a)
    shape = sizes(target)
    if len(shape) < 2:
        raise ValueError("array must be at least 2-d")
    if len(shape) > 2 and any(facts().same(shape[0], s) is None for s in shape[1:]):
        raise ValueError("All dimensions of input must be of equal length")
    if wrap and len(shape) == 2:
        # the diagonal starts anew below a tall matrix's last column, one row further down
        row = Tensor(flat(target.read())._read())
        stride = force(shape[1]) + 1
        row[::stride] = _spread(val, sizes(row[::stride])[0])
        target[...] = emit("reshape", row, shape=shape)
        return
    length = shape[0]
    for size in shape[1:]:
        length = minimum(length, size, facts().bounds())
    index = iota(length)
    value = cast(_spread(val, length), target.dtype)
    base = target.read()
    axes = tuple(range(len(shape)))
    target[...] = emit("scatter_set", base, value, *[index] * len(shape), axes=axes, at=0)


FUNCTIONS: dict[Any, Any] = {
    np.copyto: copyto, np.put: put, np.place: place, np.putmask: putmask, np.fill_diagonal: fill_diagonal,
}  # fmt: skip
