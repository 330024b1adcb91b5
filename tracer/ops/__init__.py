"""Every op, by name: the union of the tables beside this file."""

from __future__ import annotations

from ..op import Op
from . import control, elementwise, factor, index, linalg, predicates, reduce, shape, special

OPS: dict[str, Op] = {
    row.name: row
    for module in (elementwise, predicates, special, reduce, shape, index, linalg, factor, control)
    for row in module.TABLE
}
