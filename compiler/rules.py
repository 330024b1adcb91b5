"""The table of rewrite rules: pairs of expressions, the left one replaced by the right one.

Arguments by position stand for any value, keyword arguments for a parameter, numbers for 0-d constants of that value
and sign. A rule applies only where its right side has exactly the type of its left side, or where it returns None; so
``x * 1`` stays when the 1 lifts x to another dtype or shape. `sample` says how the tests try the rule: a shape per
value (or a number, for a constant), a value per parameter.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from ..tracer.graph import Expr
from ..tracer.ops import OPS
from ..tracer.ops import words as w
from ..tracer.plain import dataclass, field
from ..tracer.types import TRUST, broadcast


@dataclass(frozen=True)
class Rule:
    """``pattern`` may be replaced by ``replacement``; `exact` promises the same bits for every value."""

    name: str
    pattern: Callable[..., Any]
    replacement: Callable[..., Any]
    exact: bool = True
    sample: Mapping[str, Any] = field(default_factory=dict)


def inexact(name: str, pattern: Callable[..., Any], replacement: Callable[..., Any]) -> Rule:
    """A rule that changes values somewhere: applied only when the user asks for it."""
    return Rule(name, pattern, replacement, exact=False)


ARITHMETIC = (
    Rule("times_one", lambda x: x * 1, lambda x: x),
    Rule("one_times", lambda x: 1 * x, lambda x: x),
    Rule("over_one", lambda x: x / 1, lambda x: x),
    Rule("minus_zero", lambda x: x - 0.0, lambda x: x),
    Rule("plus_minus_zero", lambda x: x + -0.0, lambda x: x),  # -0.0 + 0.0 is +0.0, but x + -0.0 is x
    Rule("minus_zero_plus", lambda x: -0.0 + x, lambda x: x),
    Rule("twice_negative", lambda x: w.negative(w.negative(x)), lambda x: x),
    Rule("positive", lambda x: w.positive(x), lambda x: x),
    Rule("plus_negative", lambda x, y: x + (-y), lambda x, y: x - y if _negates(y, x) else None),
    Rule("negative_plus", lambda x, y: (-x) + y, lambda x, y: y - x if _negates(x, y) else None),
    Rule("minus_negative", lambda x, y: x - (-y), lambda x, y: x + y if _negates(y, x) else None),
    Rule("power_one", lambda x: x**1, lambda x: x),
    Rule("power_two", lambda x: x**2, lambda x: w.square(x)),
    # NumPy takes one exponent of 0.5 for all elements as a root: -0.0 stays -0.0, where pow(-0.0, 0.5) is 0.0
    Rule("power_half", lambda x: x**0.5, lambda x: w.sqrt(x) if x.rank and x.dtype.itemsize >= 4 else None),
    # -1 in uint8 is 255, and so is its absolute value
    Rule("absolute_of_negative", lambda x: w.absolute(-x), lambda x: None if x.dtype.kind == "u" else w.absolute(x)),
    Rule("absolute_of_absolute", lambda x: w.absolute(w.absolute(x)), lambda x: w.absolute(x)),
    Rule("square_of_negative", lambda x: w.square(-x), lambda x: w.square(x)),
    Rule("square_of_absolute", lambda x: w.square(w.absolute(x)), lambda x: w.square(x)),
    Rule("maximum_of_same", lambda x: w.maximum(x, x), lambda x: x),
    Rule("minimum_of_same", lambda x: w.minimum(x, x), lambda x: x),
    Rule("cotangent_of_one", lambda p: w.cotangent(1.0, p), lambda p: p),
    Rule(
        "cotangent_of_constant",
        lambda ct, p: w.cotangent(ct, p),
        lambda ct, p: ct * p if w.number(ct) else None,
        sample={"ct": 2.5},
    ),
    Rule(
        "cotangents_of_constant",
        lambda a, b: a.op("cotangents", b),
        lambda a, b: w.cotangent(a, b) if w.number(b) else None,
        sample={"b": -0.3},
    ),
    Rule(
        "constant_of_cotangents",
        lambda a, b: a.op("cotangents", b),
        lambda a, b: w.cotangent(b, a) if w.number(a) else None,
        sample={"a": float("inf")},
    ),
    Rule("where_same", lambda c, x: w.where(c, x, x), lambda c, x: x),
    # the inner where must not cast: where(c, where(c, ~f64, f32), f64) rounds its first branch to f32
    Rule(
        "where_yes_twice",
        lambda c, x, y, z: w.where(c, w.where(c, x, y), z),
        lambda c, x, y, z: w.where(c, x, z) if _alike(x, y) else None,
    ),
    Rule(
        "where_no_twice",
        lambda c, x, y, z: w.where(c, x, w.where(c, y, z)),
        lambda c, x, y, z: w.where(c, x, z) if _alike(y, z) else None,
    ),
    Rule("where_not", lambda c, x, y: w.where(w.logical_not(c), x, y), lambda c, x, y: w.where(c, y, x)),
    Rule("not_not", lambda x: w.logical_not(w.logical_not(x)), lambda x: x),
    Rule("stop_twice", lambda x: w.stop_gradient(w.stop_gradient(x)), lambda x: w.stop_gradient(x)),
)


def _negates(x: Expr, other: Expr) -> bool:
    """Whether ``other + (-x)`` is ``other - x``: -(-128) is -128 in int8, where a wider sum would take 128 off."""
    return x.type.inexact or x.dtype == other.dtype


def _alike(x: Expr, y: Expr) -> bool:
    return x.dtype == y.dtype and x.type.weak == y.type.weak


_FLAT = {"x": (2, 3), "p": (3, 2), "q": (6,)}
_SLICED = {"x": (3, 2), "shape": (5, 2), "start": (4, 0), "step": (-2, 1), "size": (3, 2)}
_WHOLE = {"x": (2, 3), "start": (0, 0), "step": (1, 1), "size": (2, 3), "shape": (2, 3)}

SHAPES = (
    Rule("astype_same", lambda x, *, t: x.op("astype", dtype=t), lambda x, *, t: x, sample={"t": "f64"}),
    Rule("reshape_same", lambda x, *, p: x.op("reshape", shape=p), lambda x, *, p: x, sample={"x": (2,), "p": (2,)}),
    Rule(
        "reshape_twice",
        lambda x, *, p, q: x.op("reshape", shape=p).op("reshape", shape=q),
        lambda x, *, p, q: w.reshape(x, q),
        sample=_FLAT,
    ),
    Rule(
        "reshape_of_expand_dims",
        lambda x, *, a, p: x.op("expand_dims", axes=a).op("reshape", shape=p),
        lambda x, *, a, p: w.reshape(x, p),
        sample={**_FLAT, "a": (1,)},
    ),
    Rule(
        "reshape_of_squeeze",
        lambda x, *, a, p: x.op("squeeze", axes=a).op("reshape", shape=p),
        lambda x, *, a, p: w.reshape(x, p),
        sample={"x": (2, 1, 3), "a": (1,), "p": (6,)},
    ),
    Rule(
        "squeeze_of_expand_dims",
        lambda x, *, a, b: x.op("expand_dims", axes=a).op("squeeze", axes=b),
        lambda x, *, a, b: x if a == b else None,
        sample={"x": (2, 3), "a": (0, 2), "b": (0, 2)},
    ),
    Rule(
        "expand_dims_of_squeeze",
        lambda x, *, a, b: x.op("squeeze", axes=a).op("expand_dims", axes=b),
        lambda x, *, a, b: x if a == b else None,
        sample={"x": (1, 2, 1), "a": (0, 2), "b": (0, 2)},
    ),
    Rule("expand_no_dims", lambda x, *, a: x.op("expand_dims", axes=a), lambda x, *, a: x, sample={"a": ()}),
    Rule("squeeze_none", lambda x, *, a: x.op("squeeze", axes=a), lambda x, *, a: x, sample={"a": ()}),
    Rule(
        "broadcast_same",
        lambda x, *, p: x.op("broadcast_to", shape=p),
        lambda x, *, p: x,
        sample={"x": (2,), "p": (2,)},
    ),
    Rule(
        "broadcast_twice",
        lambda x, *, p, q: x.op("broadcast_to", shape=p).op("broadcast_to", shape=q),
        lambda x, *, p, q: w.broadcast_to(x, q),
        sample={"x": (1,), "p": (2, 1), "q": (2, 3)},
    ),
    Rule(
        "broadcast_of_leading_dims",
        lambda x, *, a, p: x.op("expand_dims", axes=a).op("broadcast_to", shape=p),
        lambda x, *, a, p: w.broadcast_to(x, p) if not x.rank or a == tuple(range(len(a))) else None,
        sample={"x": (3,), "a": (0,), "p": (2, 3)},
    ),
    Rule(
        "transpose_identity",
        lambda x, *, p: x.op("transpose", perm=p),
        lambda x, *, p: x if p == w.all_axes(x) else None,
        sample={"x": (2, 3), "p": (0, 1)},
    ),
    Rule(
        "transpose_twice",
        lambda x, *, p, q: x.op("transpose", perm=p).op("transpose", perm=q),
        lambda x, *, p, q: w.transpose(x, tuple(p[axis] for axis in q)),
        sample={"x": (2, 3, 4), "p": (1, 2, 0), "q": (1, 0, 2)},
    ),
    Rule(
        "slice_whole",
        lambda x, *, start, size, step: x.op("slice", start=start, size=size, step=step),
        lambda x, *, start, size, step: x if _whole(start, step) else None,
        sample=_WHOLE,
    ),
    Rule(
        "unslice_whole",
        lambda x, *, shape, start, step: x.op("unslice", shape=shape, start=start, step=step),
        lambda x, *, shape, start, step: x if _whole(start, step) else None,
        sample=_WHOLE,
    ),
    Rule(
        "set_slice_whole",
        lambda x, y, *, start, step: x.op("set_slice", y, start=start, step=step),
        lambda x, y, *, start, step: y if _whole(start, step) else None,
        sample={**_WHOLE, "y": (2, 3)},
    ),
    Rule(
        "slice_of_unslice",
        lambda x, *, shape, start, step, at, size, by: x.op("unslice", shape=shape, start=start, step=step).op(
            "slice", start=at, size=size, step=by
        ),
        lambda x, *, shape, start, step, at, size, by: x if start == at and step == by else None,
        sample={**_SLICED, "at": (4, 0), "by": (-2, 1)},
    ),
    Rule("concatenate_one", lambda x, *, a: x.op("concatenate", axis=a), lambda x, *, a: x, sample={"x": (3,), "a": 0}),
    *(
        Rule(f"{name}_over_none", lambda x, *, a, name=name: x.op(name, axes=a), lambda x, *, a: x, sample={"a": ()})
        for name in ("prod", "max", "min")
    ),
)


def _whole(start: tuple[Any, ...], step: tuple[int, ...]) -> bool:
    return all(type(s) is int and s == 0 for s in start) and all(s == 1 for s in step)


# What is alike along an axis is computed once: f(broadcast(x)) -> broadcast(f(x)). A weak x would promote otherwise.
def _unary(name: str) -> Rule:
    return Rule(
        f"{name}_of_broadcast",
        lambda x, *, p: x.op("broadcast_to", shape=p).op(name),
        lambda x, *, p: None if x.type.weak else x.op(name).op("broadcast_to", shape=p),
        sample={"p": (2, 3)},
    )


def _binary(name: str) -> tuple[Rule, Rule]:
    def stretched(x: Expr, y: Expr, small: Expr, p: Any) -> Expr | None:
        if small.type.weak:
            return None
        return w.broadcast_to(x.op(name, y), broadcast(TRUST, p, (y if small is x else x).shape))

    return (
        Rule(
            f"{name}_of_broadcast_first",
            lambda x, y, *, p: x.op("broadcast_to", shape=p).op(name, y),
            lambda x, y, *, p: stretched(x, y, x, p),
            sample={"p": (2, 3)},
        ),
        Rule(
            f"{name}_of_broadcast_second",
            lambda x, y, *, p: x.op(name, y.op("broadcast_to", shape=p)),
            lambda x, y, *, p: stretched(x, y, y, p),
            sample={"p": (2, 3)},
        ),
    )


_SPREADING = ("add", "subtract", "multiply", "divide", "power", "maximum", "minimum", "cotangent", "cotangents")
_CASTS = ("astype", "weaken")
BROADCASTS = (
    *(_unary(row.name) for row in OPS.values() if row.partials and len(row.partials) == 1 and row.name not in _CASTS),
    *(rule for name in _SPREADING for rule in _binary(name)),
    Rule(
        "where_yes_of_broadcast",
        lambda c, x, y, *, p: w.where(c, x.op("broadcast_to", shape=p), y),
        lambda c, x, y, *, p: None if x.type.weak else w.where(c, x, y),
        sample={"c": (2, 3), "p": (2, 3)},
    ),
    Rule(
        "where_no_of_broadcast",
        lambda c, x, y, *, p: w.where(c, x, y.op("broadcast_to", shape=p)),
        lambda c, x, y, *, p: None if y.type.weak else w.where(c, x, y),
        sample={"c": (2, 3), "p": (2, 3)},
    ),
)

INEXACT = (
    inexact("plus_zero", lambda x: x + 0.0, lambda x: x),  # -0.0 + 0.0 is +0.0
    inexact("zero_plus", lambda x: 0.0 + x, lambda x: x),
    inexact("log_of_exp", lambda x: w.log(w.exp(x)), lambda x: x),  # exp overflows
    inexact("exp_of_log", lambda x: w.exp(w.log(x)), lambda x: x),  # log(-1) is nan
    inexact("square_of_sqrt", lambda x: w.square(w.sqrt(x)), lambda x: x),
)

RULES = (*ARITHMETIC, *SHAPES, *BROADCASTS, *INEXACT)
