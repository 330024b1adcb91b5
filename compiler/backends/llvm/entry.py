"""From a compiled program to a Python function: the words that describe a call, and the function object over them."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

from ....tracer.types import WEAK_DTYPES
from ...kernel import Input, OutputValue
from . import capi, entry_ir, pool_ir
from .pool import Pool

RELEASE = 20_000  # elements of all inputs together from which the interpreter lock is given up
Result = int | tuple["Result", ...]

_EXPORTED = ("nt_alloc", "nt_free")
_KINDS = {bool: entry_ir.BOOL, int: entry_ir.INT, float: entry_ir.FLOAT}
_PYTHON_TYPE = {dtype: type_ for type_, dtype in WEAK_DTYPES.items()}
_METH_FASTCALL = 0x80


def runtime_text() -> str:
    """The LLVM IR that all programs share: memory and the entry. It holds no address; `capi.symbols` has them."""
    return pool_ir.pool_text() + entry_ir.entry_text()


class Runtime:
    """The code of `runtime_text`, loaded: `address` finds its functions; `owner` keeps them, for ever from now on.

    `symbols` are the functions that compiled programs call, by name.
    """

    def __init__(self, address: Callable[[str], int], owner: object) -> None:
        self.pool = Pool(address, owner)
        self.symbols = {name: address(name) for name in _EXPORTED}
        self._enter = address("nt_enter")
        self._release = address("nt_release_kept")
        ctypes.CFUNCTYPE(None, ctypes.c_void_p)(address("nt_set_handler"))(id(self.pool.handler))

    def builtin(
        self,
        core: int,
        inputs: Sequence[Input],
        outputs: Sequence[OutputValue],
        result: Result,
        fallback: Callable[..., Any],
        counters: np.ndarray,
        name: str,
        doc: str = "",
        keep: object = None,
        release: int = RELEASE,
        written: Sequence[int] = (),
    ) -> Any:
        """A function that runs the core at an address.

        Arguments that aren't what `inputs` say, and statuses that aren't 0, make it return what `fallback` returns for
        the same arguments. `result` is an output, or a tuple of results; each output appears in it once. Element 0 of
        `counters` (int64) counts the calls that the core served. Inputs numbered in `written` have to be writable.
        `keep` lives as long as the function; it holds the core's code and must not lead back to the function, because
        the garbage collector doesn't look into it.
        """
        if counters.dtype != np.int64 or counters.ndim != 1 or not counters.size or not counters.flags.carray:
            raise ValueError("counters are one row of int64, of at least one")
        words = describe(core, inputs, outputs, result, release, written)
        method = _method(self._enter, name, doc)
        # Not a plain item: the collector would finalize a dead cycle's engine while its functions can still be called.
        capi.pin(keep)
        kept = capi.capsule(id(keep), None, self._release)
        return capi.function(ctypes.addressof(method), (fallback, counters, words, method, kept))


def _method(address: int, name: str, doc: str) -> Any:
    """A PyMethodDef with its strings behind it in one block, which nothing takes apart before the block goes."""
    title, text = name.encode() + b"\0", doc.encode() + b"\0"
    block = ctypes.create_string_buffer(32 + len(title) + len(text))
    start = ctypes.addressof(block) + 32
    block.raw = struct.pack("<QQqQ", start, address, _METH_FASTCALL, start + len(title)) + title + text
    return block


def describe(
    core: int,
    inputs: Sequence[Input],
    outputs: Sequence[OutputValue],
    result: Result,
    release: int = RELEASE,
    written: Sequence[int] = (),
) -> bytes:
    """The words of a call, as the entry reads them: head, records of inputs and outputs, tokens of the result."""
    tokens = list(_tokens(result))
    if sorted(token for token in tokens if token >= 0) != list(range(len(outputs))):
        raise ValueError(f"{result} doesn't hold each of {len(outputs)} outputs once")
    taken = [_taken(value, number in written) for number, value in enumerate(inputs)]
    given, out_bytes = [], 0
    for output in outputs:
        given.append(_given(output, out_bytes))
        out_bytes += 8 * (1 + output.rank)
    in_bytes = sum(8 * (1 + value.rank) for value in inputs)
    outputs_at = 8 * len(entry_ir.HEAD) + entry_ir.RECORD * len(taken)
    head = {
        "core": core,
        "inputs": len(inputs),
        "release": release,
        "in_bytes": in_bytes,
        "out_bytes": out_bytes,
        "scratch_bytes": in_bytes + out_bytes + 8 * (len(tokens) + 1),
        "outputs_at": outputs_at,
        "outputs": len(outputs),
        "tokens_at": outputs_at + entry_ir.RECORD * len(given),
        "tokens": len(tokens),
        "array_type": id(np.ndarray),
    }
    words = struct.pack(f"<{len(head)}q", *(head[name] for name in entry_ir.HEAD))
    return b"".join([words, *taken, *given, struct.pack(f"<{len(tokens)}q", *tokens)])


def _tokens(result: Result) -> Iterator[int]:
    """The result in postfix order: an output's number, or -n - 1 for a tuple of the last n."""
    if isinstance(result, tuple):
        for item in result:
            yield from _tokens(item)
        yield -len(result) - 1
    else:
        yield result


def _record(kind: int, size: int, *words: int) -> bytes:
    return struct.pack("<ii4q", kind, size, *words, *(0,) * (4 - len(words)))


def _taken(value: Input, written: bool) -> bytes:
    """The record of an input: the type that is wanted; then the dtype, the flags, and the scalar type beside it."""
    if value.weak:
        type_ = _weak(value)
        return _record(_KINDS[type_], 8, id(type_), id(True))
    flags = capi.C_CONTIGUOUS | capi.ALIGNED | (capi.WRITEABLE if written else 0)
    dtype = _plain(value.dtype)
    if value.rank:
        return _record(entry_ir.ARRAY, value.rank, id(np.ndarray), id(dtype), flags)
    scalar = 0 if written else id(_scalar_type(dtype))
    return _record(entry_ir.SCALAR, dtype.itemsize, id(np.ndarray), id(dtype), flags, scalar)


def _given(value: OutputValue, offset: int) -> bytes:
    """The record of an output: where its slots begin; then its dtype, or what makes the scalar."""
    if value.weak:
        return _record(_KINDS[_weak(value)], 8, offset)
    dtype = _plain(value.dtype)
    if value.rank:
        return _record(entry_ir.ARRAY, value.rank, offset, id(dtype))
    scalar = _scalar_type(dtype)
    if dtype.kind == "b":
        return _record(entry_ir.NUMPY_BOOL, 1, offset, id(np.False_), id(np.True_))
    return _record(entry_ir.SCALAR, dtype.itemsize, offset, id(scalar), capi.allocator(scalar))


def _weak(value: Input | OutputValue) -> type:
    if value.rank or value.dtype not in _PYTHON_TYPE:
        raise ValueError(f"no Python number is a {value.dtype} of rank {value.rank}")
    return _PYTHON_TYPE[value.dtype]


def _plain(dtype: np.dtype[Any]) -> np.dtype[Any]:
    """The one object that stands for a dtype, which lives for ever."""
    return np.dtype(dtype.type)


def _scalar_type(dtype: np.dtype[Any]) -> type:
    if dtype.itemsize > 8:
        raise ValueError(f"a {dtype} of rank 0 doesn't fit in a slot")
    return dtype.type
