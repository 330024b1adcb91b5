"""What the generated source calls beside Python and NumPy: compiled by numba when it is first used."""

from __future__ import annotations

import math
from functools import lru_cache
from typing import Any

import numpy as np

NAMES = (
    "add argsort_rows copy_into cotangent floordiv int_floordiv int_fmod int_power int_quotient int_remainder "
    "maximum minimum remainder reshaped select settle shift_left shift_right sort_rows two_sum"
)


def helper_names() -> tuple[str, ...]:
    """The names that generated source may import from here: known without importing numba."""
    return (*NAMES.split(), *_casts())


@lru_cache(1)
def namespace() -> dict[str, Any]:
    """The globals of generated source."""
    from numba import njit

    return {"np": np, "math": math, "njit": njit, **_casts(), **_intrinsics(), **_functions()}


def _casts() -> dict[str, Any]:
    short = {"f64": "float64", "f32": "float32"}
    short |= {f"{kind[0]}{bits}": f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)}
    return {name: getattr(np, long) for name, long in short.items()} | {"u": np.uint64}


def _intrinsics() -> dict[str, Any]:
    """Single instructions that Python has no word for."""
    from numba import types
    from numba.core import cgutils
    from numba.core.imputils import impl_ret_borrowed
    from numba.extending import intrinsic
    from numba.np.arrayobj import populate_array

    def common(a: Any, b: Any) -> Any:
        a, b = types.unliteral(a), types.unliteral(b)
        assert a == b, f"operands of {a} and {b}"
        return a

    @intrinsic
    def select(context: Any, condition: Any, a: Any, b: Any) -> Any:
        """``a if condition else b`` without a branch."""
        type_ = common(a, b)

        def code(cgctx: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.select(args[0], args[1], args[2])

        return type_(types.boolean, type_, type_), code

    @intrinsic
    def add(context: Any, a: Any, b: Any) -> Any:
        """A sum whose order the compiler may choose: terms of a block go into several accumulators."""
        type_ = common(a, b)

        def code(cgctx: Any, builder: Any, signature: Any, args: Any) -> Any:
            return builder.fadd(args[0], args[1], flags=("reassoc",))

        return type_(type_, type_), code

    @intrinsic
    def cotangent(context: Any, first: Any, second: Any) -> Any:
        """The product, but 0 where `first` is 0: also against inf and nan."""
        type_ = common(first, second)

        def code(cgctx: Any, builder: Any, signature: Any, args: Any) -> Any:
            nothing = builder.fcmp_ordered("==", args[0], args[0].type(0.0))
            return builder.select(nothing, args[0].type(0.0), builder.fmul(*args))

        return type_(type_, type_), code

    @intrinsic
    def two_sum(context: Any, total: Any, rest: Any, part: Any) -> Any:
        """``total + part``, and `rest` with what that sum rounds off (Knuth, TAOCP 2, 4.2.2)."""
        type_ = common(total, part)

        def code(cgctx: Any, builder: Any, signature: Any, args: Any) -> Any:
            a, left, b = args
            new = builder.fadd(a, b)
            back = builder.fsub(new, a)
            error = builder.fadd(builder.fsub(a, builder.fsub(new, back)), builder.fsub(b, back))
            return cgctx.make_tuple(builder, signature.return_type, (new, builder.fadd(left, error)))

        return types.UniTuple(type_, 2)(type_, type_, type_), code

    @intrinsic
    def settle(context: Any, total: Any, rest: Any) -> Any:
        """The sum of both; an infinite total has left nan behind."""
        type_ = common(total, rest)

        def code(cgctx: Any, builder: Any, signature: Any, args: Any) -> Any:
            lost = builder.fcmp_unordered("uno", args[1], args[1])
            return builder.select(lost, args[0], builder.fadd(*args))

        return type_(type_, type_), code

    def extreme(ordered: str) -> Any:
        @intrinsic
        def choose(context: Any, a: Any, b: Any) -> Any:
            """NumPy's maximum and minimum: nan wins."""
            type_ = common(a, b)

            def code(cgctx: Any, builder: Any, signature: Any, args: Any) -> Any:
                x, y = args
                if isinstance(type_, types.Float):
                    first = builder.or_(builder.fcmp_ordered(ordered, x, y), builder.fcmp_unordered("uno", x, x))
                elif type_.signed:
                    first = builder.icmp_signed(ordered, x, y)
                else:
                    first = builder.icmp_unsigned(ordered, x, y)
                return builder.select(first, x, y)

            return type_(type_, type_), code

        return choose

    @intrinsic
    def copy_into(context: Any, target: Any, source: Any) -> Any:
        """Copy one C-contiguous array into another of its size."""

        def code(cgctx: Any, builder: Any, signature: Any, args: Any) -> Any:
            to, origin = (cgctx.make_array(t)(cgctx, builder, a) for t, a in zip(signature.args, args, strict=True))
            cgutils.raw_memcpy(builder, to.data, origin.data, to.nitems, to.itemsize)
            return cgctx.get_dummy_value()

        return types.void(target, source), code

    @intrinsic
    def reshaped(context: Any, array: Any, shape: Any) -> Any:
        """A C-contiguous array in another shape of as many elements; array.reshape takes twice as long to compile."""
        view = types.Array(array.dtype, len(shape), "C", readonly=not array.mutable)

        def code(cgctx: Any, builder: Any, signature: Any, args: Any) -> Any:
            source = cgctx.make_array(signature.args[0])(cgctx, builder, args[0])
            kinds = signature.args[1]
            given = cgutils.unpack_tuple(builder, args[1])
            sizes = [cgctx.cast(builder, s, kind, types.intp) for s, kind in zip(given, kinds, strict=True)]
            strides: list[Any] = []
            step = source.itemsize
            for size in reversed(sizes):
                strides.insert(0, step)
                step = builder.mul(step, size)
            out = cgctx.make_array(view)(cgctx, builder)
            populate_array(
                out, data=source.data, shape=sizes, strides=strides, itemsize=source.itemsize, meminfo=source.meminfo,
                parent=source.parent,
            )  # fmt: skip
            return impl_ret_borrowed(cgctx, builder, view, out._getvalue())

        return view(array, shape), code

    return {
        "select": select, "add": add, "cotangent": cotangent, "two_sum": two_sum, "settle": settle,
        "maximum": extreme(">="), "minimum": extreme("<="), "copy_into": copy_into, "reshaped": reshaped,
    }  # fmt: skip


def _functions() -> dict[str, Any]:
    from numba import njit

    def remainder(a: Any, b: Any) -> Any:
        rest = np.fmod(a, b)
        if b == 0:
            return rest
        if rest == 0:
            return math.copysign(rest, b)
        return rest + b if (b < 0) != (rest < 0) else rest

    def floordiv(a: Any, b: Any) -> Any:
        # from the exact remainder, since a / b may round up to the next integer
        if b == 0:
            return a / b
        rest = np.fmod(a, b)
        quotient = (a - rest) / b
        if rest != 0 and (b < 0) != (rest < 0):
            quotient = quotient - 1
        if quotient == 0:
            return math.copysign(quotient, a / b)
        down = np.floor(quotient)
        return down + 1 if quotient - down > 0.5 else down

    # of integers: a - a is a zero, and b // b a one, of the operands' own dtype
    def int_floordiv(a: Any, b: Any) -> Any:
        return a - a if b == 0 else a * b if b == -1 else a // b

    def int_remainder(a: Any, b: Any) -> Any:
        return a - a if b == 0 or b == -1 else a % b

    def int_fmod(a: Any, b: Any) -> Any:
        if b == 0 or b == -1:
            return a - a
        rest = a % b
        return rest - b if rest != 0 and (a < 0) != (b < 0) else rest

    def int_quotient(a: Any, b: Any) -> Any:
        """C's division, towards 0."""
        if b == 0:
            return a - a
        if b == -1:
            return a * b
        whole = a // b
        return whole + b // b if whole * b != a and (a < 0) != (b < 0) else whole

    def int_power(base: Any, exponent: Any) -> Any:
        out = 1
        while exponent != 0:
            if exponent & 1:
                out = out * base
            base = base * base
            exponent = (exponent >> 1) & 0x7FFFFFFFFFFFFFFF  # of uint64 too, which comes here as int64
        return out

    def shift_left(a: Any, b: Any, bits: Any) -> Any:
        return a << b if np.uint64(b) < np.uint64(bits) else a - a

    def shift_right(a: Any, b: Any, bits: Any) -> Any:
        if np.uint64(b) < np.uint64(bits):
            return a >> b
        return a >> (bits - 1) if a < 0 else a - a

    compiler = njit(error_model="numpy", nogil=True)

    @compiler
    def argsort_rows(source: Any, out: Any) -> None:
        """Positions that sort each row: stable, nan last. Runs of 8 by insertion, then merged."""
        length = source.shape[1]
        other = np.empty(length, np.int64)
        for r in range(source.shape[0]):
            row, place = source[r], out[r]
            for i in range(length):
                j = i
                value = row[i]
                # nan is the only value that differs from itself
                while j % 8 > 0 and (
                    value < row[place[j - 1]] or (value == value and row[place[j - 1]] != row[place[j - 1]])
                ):
                    place[j] = place[j - 1]
                    j -= 1
                place[j] = i
            width = 8
            while width < length:
                for begin in range(0, length, 2 * width):
                    middle, end = min(begin + width, length), min(begin + 2 * width, length)
                    a, b = begin, middle
                    for k in range(begin, end):
                        take = a < middle
                        if take and b < end:
                            x, y = row[place[a]], row[place[b]]
                            take = not (y < x or (y == y and x != x))
                        if take:
                            other[k] = place[a]
                            a += 1
                        else:
                            other[k] = place[b]
                            b += 1
                for k in range(length):
                    place[k] = other[k]
                width *= 2

    @compiler
    def sort_rows(source: Any, out: Any) -> None:
        places = np.empty(source.shape, np.int64)
        argsort_rows(source, places)
        for r in range(source.shape[0]):
            for i in range(source.shape[1]):
                out[r, i] = source[r, places[r, i]]

    functions = (
        remainder, floordiv, int_floordiv, int_remainder, int_fmod, int_quotient, int_power, shift_left,
        shift_right,
    )  # fmt: skip
    sorting = {"argsort_rows": argsort_rows, "sort_rows": sort_rows}
    return {f.__name__: compiler(f) for f in functions} | sorting


def __getattr__(name: str) -> Any:
    try:
        return namespace()[name]
    except KeyError:
        raise AttributeError(name) from None
