"""Every op that works element by element, compiled, on ordinary and on special values of each kind of dtype."""

import numpy as np
import pytest
from agreement import assert_close, interpret, ulps

from numtape.compiler.pipeline import compile_graph
from numtape.compiler.scalar import PRIMITIVES, Scalar, Scalars
from numtape.tracer.dims import atom
from numtape.tracer.graph import Builder
from numtape.tracer.ops import OPS
from numtape.tracer.types import SHORT, ArrayType

N = atom("a.0")
SPECIAL = (
    0.0, -0.0, 1, -1, 0.5, -0.5, 1.5, 2.5, -3.5, 7, -7, 20.3, 1e-8, -1e-300, 1e300, np.inf, -np.inf, np.nan,
)  # fmt: skip
CASTS = ("f64", "f32", "i64", "i8", "u8", "bool")


def pairs_of(dtype):
    """Two arrays that hold every pair of special values."""
    rng = np.random.default_rng(1)
    if dtype.kind == "f":
        with np.errstate(all="ignore"):
            values = np.array(SPECIAL).astype(dtype)
        more = rng.normal(size=(2, 200)).astype(dtype) * dtype.type(4)
    elif dtype.kind == "b":
        values, more = np.array([False, True]), np.zeros((2, 0), bool)
    else:
        info = np.iinfo(dtype)
        # the smallest number is left out: what numpy makes of it depends on the machine
        small = [-1, -2, -7, -64, info.min + 1] if dtype.kind == "i" else []
        values = np.array([0, 1, 2, 3, 5, 8, 9, 31, 64, info.max - 1, info.max, *small], dtype)
        more = rng.integers(0, 100, (2, 50)).astype(dtype)
    return np.concatenate([np.repeat(values, len(values)), more[0]]), np.concatenate(
        [np.tile(values, len(values)), more[1]]
    )


def graphs(dtype):
    """Graphs of up to 16 ops each, and the ops' names."""
    b = Builder("ops")
    x, y = (b.input(name, ArrayType(dtype, (N,))) for name in "ab")
    made = {}
    for name, row in OPS.items():
        if not row.elementwise or name == "weaken":  # weaken takes single numbers
            continue
        if name == "reciprocal" and dtype.kind != "f":
            continue  # 1 // 0 of integers is whatever the machine's conversion of infinity gives
        if name == "astype":
            targets = [t for t in CASTS if dtype.kind != "f" or t in ("f64", "f32", "bool")]
            made |= {f"astype {t}": x.op(name, dtype=t) for t in targets if t != SHORT[dtype.name]}
            continue
        args = [x, y] if len(row.partials) == 2 else [x]
        if name == "where":
            args = [x.op("less", y), x, y]
        elif name == "power" and dtype.kind == "i":
            args = [x, y.op("absolute")]
        try:
            out = b.op(name, *args)
        except TypeError:
            continue  # numpy has no loop for the dtype
        if out.dtype.name != "float16":
            made[name] = out
    names = list(made)
    for begin in range(0, len(names), 16):
        part = names[begin : begin + 16]
        yield b.build([made[name] for name in part]), part


@pytest.mark.parametrize("backend", ["llvm", "numba"])
@pytest.mark.parametrize("dtype", ["float64", "float32", "int64", "int32", "int8", "uint8", "uint64", "bool"])
def test_every_op_agrees_with_numpy(dtype, backend):
    values = pairs_of(np.dtype(dtype))
    for graph, names in graphs(np.dtype(dtype)):
        status, outputs = compile_graph(graph, backend).run(list(values))
        assert status == 0
        for name, got, want in zip(names, outputs, interpret(graph, list(values)), strict=True):
            # these add numbers of the operands' size, which may cancel
            scale = np.maximum(*map(np.abs, values)) if name in ("logaddexp", "logaddexp2") else None
            assert_close(got, want, ulps(4), scale, what=f"{name} of {dtype}")
            if want.dtype.kind == "f" and name not in ("maximum", "minimum"):  # which zero is larger, numpy leaves open
                np.testing.assert_array_equal(np.signbit(got)[want == 0], np.signbit(want)[want == 0], err_msg=name)


def test_every_scalar_is_made_of_primitives():
    """What the rows of elementwise ops compose, and that the table knows what each primitive takes."""
    made = []

    def emit(name, dtype, operands):
        assert len(operands) == PRIMITIVES[name].arity
        made.append(name)

    s = Scalars(emit, lambda value, dtype: value)
    x = Scalar("x", np.dtype("float64"))
    for name, row in OPS.items():
        if not row.elementwise:
            continue
        if isinstance(row.scalar, str):
            assert PRIMITIVES[row.scalar].arity == len(row.partials), name
        elif name not in ("where", "astype", "weaken"):
            row.scalar(s, *[x] * len(row.partials))
    assert "select" in made and "exp" in made
    with pytest.raises(AttributeError):
        s.gamma(x)
    with pytest.raises(AssertionError, match="several dtypes|dtypes"):
        s.add(x, Scalar("y", np.dtype("float32")))
