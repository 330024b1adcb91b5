"""One turn of a random graph each: a function that adds an op to what random_graphs.py grows, where one fits."""

from hypothesis import strategies as st

from numtape.tracer.dims import atom, floordiv, maximum, minimum
from numtape.tracer.errors import NumtapeError
from numtape.tracer.types import broadcast

N, M = atom("a.0"), atom("a.1")
EXACT = [
    "negative", "absolute", "square", "sqrt", "reciprocal", "stop_gradient", "sign", "floor", "ceil", "rint", "trunc",
    "isnan", "isfinite", "logical_not",
]  # fmt: skip
STEPS = ("sign", "floor", "ceil", "rint", "trunc", "logical_not")
ROUNDED = ["exp", "log1p", "sin", "cos", "tanh", "arctan", "sigmoid", "expm1", "erf", "cbrt"]
BINARY = ["add", "subtract", "multiply", "divide", "maximum", "minimum", "cotangent"]
COMPARE = ["less", "less_equal", "greater", "equal", "not_equal"]
INTEGER = [
    "add", "subtract", "multiply", "floor_divide", "remainder", "maximum", "minimum", "bitwise_and", "bitwise_xor",
]  # fmt: skip
SMOOTH = ["negative", "square", "sin", "cos", "tanh", "arctan", "sigmoid"]


class Strict:
    """Sizes are equal when they are written alike."""

    def same(self, a, b):
        return a if a == b else None

    def is_one(self, a):
        return a == 1

    def sign(self, a):
        return 1

    def bounds(self):
        return {}


def unary(m):
    x = m.some()
    if m.smooth:
        return m.put(x.op(m.pick(SMOOTH)), x, exact=False)
    name = m.pick(EXACT + ROUNDED)
    if name in STEPS and not m.exact[x.index]:
        return None
    return m.put(x.op(name), x, exact=name in EXACT)


def binary(m):
    x = m.some()
    name = "multiply" if m.smooth and m.draw(st.booleans()) else "add" if m.smooth else m.pick(BINARY)
    if name in ("maximum", "minimum", "cotangent") and not m.exact[x.index]:
        name = "subtract"
    y = m.partner(x)
    if name in ("maximum", "minimum", "cotangent") and not m.exact[y.index]:
        return None
    return m.put(x.op(name, y), x, y)


def with_number(m):
    x = m.some("fi")
    number = m.pick((2, -1, 0) if x.dtype.kind == "i" else (0.5, -1.5, 2.0))
    return m.put(x.op(m.pick(("add", "multiply", "subtract")), number), x)


def power(m):
    x = m.some()
    return m.put(x.op("power", m.pick((2, 3) if m.smooth else (2, 3, 0.5, -1, 0))), x, exact=False)


def integers(m):
    x = m.some("i", exact=True)
    y = m.partner(x, "i")
    return m.put(x.op(m.pick(INTEGER), y), x, y)


def compare(m):
    x = m.some("fi", exact=True)
    y = m.partner(x, x.dtype.kind)
    return m.put(x.op(m.pick(COMPARE), y), x, y) if m.exact[y.index] else None


def logic(m):
    x = m.some("b")
    y = m.partner(x, "b")
    return m.put(x.op(m.pick(("logical_and", "logical_or", "logical_xor")), y), x, y)


def choose(m):
    x, condition = m.some(), m.some("b")
    y = m.partner(x)
    try:
        broadcast(Strict(), x.shape, y.shape, condition.shape)
    except NumtapeError:
        return None
    return m.put(condition.op("where", x, y), x, y, condition)


def cast(m):
    x = m.some("fib", exact=True)
    to = m.pick(("f64", "f32", "bool") if x.dtype.kind == "f" else ("f64", "f32", "i64", "i32", "i8", "u8", "bool"))
    return m.put(x.op("astype", dtype=to), x)


def reduction(m):
    name = "sum" if m.smooth else m.pick(("sum", "sum", "prod", "max", "min", "any", "all"))
    x = m.some("f" if m.smooth else "fi", rank=1, exact=name not in ("sum", "prod"))
    if x is None:
        return None
    axes = tuple(sorted(m.draw(st.sets(st.integers(0, x.rank - 1), min_size=1))))
    y = m.put(x.op(name, axes=axes), x, exact=name not in ("sum", "prod") or x.dtype.kind != "f")
    if m.draw(st.booleans()):
        y = m.put(y.op("expand_dims", axes=axes), y)
    return y


def position(m):
    x = m.some("fi", rank=1, exact=True)
    return m.put(x.op(m.pick(("argmax", "argmin")), axis=m.axis(x)), x) if x is not None else None


def scan(m):
    x = m.some(rank=1)
    if x is None:
        return None
    axis = m.axis(x)
    if m.draw(st.booleans()):
        return m.put(x.op(m.pick(("cumsum", "cumprod")), axis=axis), x)
    y = m.partner(x)
    return m.put(y.op("linrec", x, axis=axis), x, y) if y.shape == x.shape and y.dtype == x.dtype else None


def arrange(m):
    x = m.some(m.pick(("f", "fib")), rank=1, exact=True)
    if x is None:
        return None
    return m.put(x.op(m.pick(("sort", "argsort")), axis=m.axis(x)), x) if x.dtype.kind != "b" else None


def view(m):
    x = m.some("f" if m.smooth else m.pick(("f", "fib")), rank=1)
    if x is None:
        return None
    match m.pick(("transpose", "expand_dims", "squeeze", "flatten", "split", "copy")):
        case "transpose":
            return m.put(x.op("transpose", perm=tuple(m.draw(st.permutations(range(x.rank))))), x)
        case "expand_dims" if x.rank < 4:
            return m.put(x.op("expand_dims", axes=(m.draw(st.integers(0, x.rank)),)), x)
        case "squeeze":
            axes = tuple(a for a, s in enumerate(x.shape) if s == 1)
            return m.put(x.op("squeeze", axes=axes), x) if axes else None
        case "flatten":
            total = 1
            for size in x.shape:
                total = total * size
            flat = m.put(x.op("reshape", shape=(total,)), x)
            return m.put(flat.op("reshape", shape=x.shape[::-1]), x) if m.draw(st.booleans()) else flat
        case "split" if any(isinstance(s, int) and s == 3 for s in x.shape):
            return m.put(x.op("reshape", shape=(*x.shape, 1)), x)
        case _:
            return m.put(x.op("copy"), x)


def stretch(m):
    x = m.some()
    if x.rank > 2:
        return None
    shape = tuple(m.pick((N, M, 2)) if s == 1 else s for s in x.shape)
    return m.put(x.op("broadcast_to", shape=(*m.pick(((), (2,), (N,))), *shape)), x)


def some_slice(m, size):
    """start, size and step of a slice that fits an axis of any length, the symbolic length 0 included."""
    match m.pick(("whole", "flip", "tail", "head", "middle", "odd", "first")):
        case "flip":
            return size - 1, size, -1
        case "tail":
            return minimum(size, 1), maximum(size - 1, 0), 1
        case "head":
            return 0, maximum(size - 1, 0), 1
        case "middle":
            return minimum(size, 1), maximum(size - 2, 0), 1
        case "odd":
            return minimum(size, 1), floordiv(size, 2), 2
        case "first" if isinstance(size, int) and size:
            return size - 1, 1, 1
        case _:
            return 0, size, 1


def cut(m):
    x = m.some("f" if m.smooth else m.pick(("f", "fib")), rank=1)
    if x is None:
        return None
    starts, sizes, steps = zip(*(some_slice(m, s) for s in x.shape), strict=True)
    y = m.put(x.op("slice", start=starts, size=sizes, step=steps), x)
    match m.pick(("none", "none", "unslice", "set", "join")):
        case "unslice":
            return m.put(y.op("unslice", shape=x.shape, start=starts, step=steps), y)
        case "set" if y.dtype.kind == "f":
            z = m.put(y.op("multiply", 0.5), y)
            base = m.put(x.op("add", 1.0), x) if m.draw(st.booleans()) else x
            return m.put(base.op("set_slice", z, start=starts, step=steps), x, y)
        case "join":
            axis = m.axis(x)
            rest = [s for i, s in enumerate(x.shape) if i != axis]
            if [s for i, s in enumerate(y.shape) if i != axis] == rest:
                return m.put(x.op("concatenate", y, axis=axis), x, y)
    return y


def join(m):
    x = m.some(rank=1)
    if x is None:
        return None
    parts = [x] + [m.partner(x) for _ in range(m.draw(st.integers(1, 5)))]
    parts = [p for p in parts if p.shape == x.shape]
    return m.put(parts[0].op("concatenate", *parts[1:], axis=m.axis(x)), *parts)


def index(m):
    """Elements at positions modulo the length; where that is 0 there is nothing to read, and both sides say so."""
    x = m.some(rank=1)
    if x is None:
        return None
    b, axis = m.builder, m.axis(x)
    length = m.pick((N, M, 3, 1))
    places = b.op("iota", size=length, dtype="i64")
    places = places.op("multiply", m.pick((1, 2, -1))).op("remainder", b.size(x.shape[axis]))
    places = m.put(places.op("subtract", b.size(x.shape[axis])) if m.draw(st.booleans()) else places)
    if m.draw(st.booleans()):
        places = m.put(places.op("expand_dims", axes=(0,)))
    at = m.draw(st.integers(0, x.rank - 1))
    y = m.put(x.op("gather", places, axes=(axis,), at=at), x)
    match m.pick(("none", "add", "set")):
        case "add":
            return m.put(y.op("scatter_add", places, shape=x.shape, axes=(axis,), at=at), y, exact=False)
        case "set":
            z = m.put(y.op("negative"), y)
            return m.put(x.op("scatter_set", z, places, axes=(axis,), at=at), x, z)
    return y


def pairs(m):
    """One element of each row."""
    x = m.some(rank=2)
    if x is None or x.rank != 2:
        return None
    rows = m.builder.op("iota", size=x.shape[0], dtype="i64")
    columns = rows.op("remainder", m.builder.size(x.shape[1]))
    return m.put(x.op("gather", rows, columns, axes=(0, 1), at=0), x)


def masked(m):
    x = m.some("b", rank=1)
    if x is None or len(m.counts) > 1:
        return None
    count = f"#{len(m.counts)}"
    m.counts.append(count)
    found = m.builder.op("nonzero", x, count=count)
    places = [m.builder.op("pick", found, index=i) for i in range(x.rank)]
    sources = [n for n in m.nodes if n.dtype.kind == "f" and n.shape == x.shape]
    if not sources:
        return m.put(places[-1])
    y = m.pick(sources)
    return m.put(y.op("gather", *places, axes=tuple(range(x.rank)), at=0), y)


def product(m):
    x = m.some(rank=2)
    fit = [n for n in m.nodes if x is not None and n.dtype.kind == "f" and n.rank >= 2 and n.shape[-2] == x.shape[-1]]
    fit = [n for n in fit if len({n.rank, x.rank, 2}) <= 2 and (n.rank == 2 or x.rank == 2)]
    if not fit:
        return None
    y = m.pick(fit)
    return m.put(x.op("matmul", y), x, y, exact=False)


def vector_product(m):
    x = m.some(rank=2)
    fit = [n for n in m.nodes if x is not None and n.dtype.kind == "f" and n.rank == 1 and n.shape[0] == x.shape[-1]]
    if not fit:
        return None
    y = m.pick(fit)
    out = m.put(x.op("matmul", y.op("expand_dims", axes=(1,))), x, y, exact=False)
    return m.put(out.op("squeeze", axes=(out.rank - 1,)), x, y, exact=False)


def size_value(m):
    x = m.some()
    size = m.pick((N, M, N * M, floordiv(N, 2)))
    return m.put(x.op("multiply", m.builder.size(size)), x)


SMOOTH_TURNS = (
    unary, unary, unary, binary, binary, binary, with_number, power, reduction, view, stretch, cut, cut, join, product,
    vector_product, pairs, size_value,
)  # fmt: skip
TURNS = (
    *SMOOTH_TURNS, unary, binary, integers, compare, logic, choose, choose, cast, reduction, position, scan, arrange,
    index, index, masked,
)  # fmt: skip
