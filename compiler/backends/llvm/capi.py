"""What native code needs of CPython and NumPy without a C compiler: addresses, and places of fields, each checked."""

from __future__ import annotations

import ctypes
import os
import platform
import sys
import sysconfig
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from ....tracer.types import LONG

# where fields lie in a 64-bit build; `verified` reads each of them before anything is built on it
TYPE = 8  # PyObject
FLOAT_VALUE = 16  # PyFloatObject
TUPLE_ITEMS = 24  # PyTupleObject
BYTES_DATA = 32  # PyBytesObject
SCALAR_VALUE = 16  # NumPy's scalars
DATA, NDIM, LENGTHS, STRIDES, BASE, DESCR, FLAGS, MEM_HANDLER = 16, 24, 32, 40, 48, 56, 64, 88  # PyArrayObject
DESCR_BYTEORDER, DESCR_NUMBER = 26, 28  # PyArray_Descr

C_CONTIGUOUS, OWNDATA, ALIGNED, WRITEABLE = 0x1, 0x4, 0x100, 0x400  # of FLAGS

ABI_VERSION, ARRAY_TYPE, NEW_FROM_DESCR, GET_HANDLER = 0, 2, 94, 305  # slots of NumPy's table of C functions
_TP_ALLOC = 47  # Py_tp_alloc of CPython's typeslots.h

_PYTHON = (
    "PyBool_FromLong", "PyCapsule_GetPointer", "PyEval_RestoreThread", "PyEval_SaveThread", "PyFloat_FromDouble",
    "PyLong_AsLongLongAndOverflow", "PyLong_FromLongLong", "PyObject_Vectorcall", "PyTuple_New", "Py_DecRef",
    "Py_IncRef",
)  # fmt: skip
_C = ("free", "madvise", "malloc", "memcpy", "memmove", "memset", "mmap", "munmap")


def _address(function: Any) -> int:
    address = ctypes.cast(function, ctypes.c_void_p).value
    assert address
    return address


def symbols() -> dict[str, int]:
    """The address of each external function that `runtime_text` refers to, by name."""
    process = ctypes.CDLL(None)
    found = {name: _address(getattr(ctypes.pythonapi, name)) for name in _PYTHON}
    found.update({name: _address(getattr(process, name)) for name in _C})
    found["nt_PyArray_NewFromDescr"] = _table()[NEW_FROM_DESCR]
    return found


@lru_cache(1)
def _table() -> Any:
    """NumPy's table of C functions and types."""
    array_api = np._core._multiarray_umath._ARRAY_API  # type: ignore[attr-defined]
    pointer = _call("PyCapsule_GetPointer", ctypes.c_void_p, ctypes.py_object, ctypes.c_char_p)(array_api, None)
    return ctypes.cast(pointer, ctypes.POINTER(ctypes.c_void_p))


@lru_cache(None)
def _call(name: str, result: Any, *kinds: Any) -> Any:
    """A function of Python's C API, as a function object of its own that nobody else sets argument types on."""
    return ctypes.PYFUNCTYPE(result, *kinds)(_address(getattr(ctypes.pythonapi, name)))


def allocator(type_: type) -> int:
    """The address of the function that makes an object of a NumPy scalar type: ``tp_alloc(type, 0)``."""
    return int(_call("PyType_GetSlot", ctypes.c_void_p, ctypes.py_object, ctypes.c_int)(type_, _TP_ALLOC) or 0)


def pin(value: object) -> None:
    """Take a reference to `value` that native code gives back, or nobody: then it lives as long as the process."""
    _call("Py_IncRef", None, ctypes.py_object)(value)


def capsule(pointer: int, name: int | None, destructor: int | None = None) -> Any:
    """A PyCapsule over `pointer`; `name` is the address of a C string that outlives it."""
    address = ctypes.c_void_p
    return _call("PyCapsule_New", ctypes.py_object, address, address, address)(pointer, name, destructor)


def function(method: int, self: object) -> Any:
    """A built-in function over the PyMethodDef at an address, which `self` has to keep."""
    address = ctypes.c_void_p
    return _call("PyCFunction_NewEx", ctypes.py_object, address, ctypes.py_object, address)(method, self, None)


@lru_cache(1)
def verified() -> str:
    """Empty where native code can serve; otherwise the reason why it can't."""
    try:
        return next((reason for reason, holds in _CHECKS if not holds()), "")
    except (AttributeError, ImportError, OSError, ValueError, TypeError, AssertionError) as error:
        return f"this build of CPython or NumPy is not known: {error}"


def _platform() -> bool:
    return sys.platform == "linux" and platform.machine() == "x86_64" and ctypes.sizeof(ctypes.c_void_p) == 8


def _interpreter() -> bool:
    return sys.implementation.name == "cpython" and sys.version_info >= (3, 11)


def _lock() -> bool:
    return not sysconfig.get_config_var("Py_GIL_DISABLED")


def _word(value: object, offset: int, kind: Any = ctypes.c_uint64) -> int:
    return int(kind.from_address(id(value) + offset).value)


def _objects() -> bool:
    number = 0.1 + len(sys.argv)
    pair, text = (number, object()), os.urandom(24)
    return (
        all(_word(value, TYPE) == id(type(value)) for value in (number, pair, text, 2**80, np.empty(1)))
        and float.__basicsize__ == FLOAT_VALUE + 8
        and ctypes.string_at(id(number) + FLOAT_VALUE, 8) == np.float64(number).tobytes()
        and tuple.__basicsize__ == TUPLE_ITEMS
        and [_word(pair, TUPLE_ITEMS + 8 * i) for i in range(2)] == [id(item) for item in pair]
        and bytes.__basicsize__ == BYTES_DATA + 1
        and ctypes.string_at(id(text) + BYTES_DATA, len(text)) == text
    )


def _numpy_table() -> bool:
    table = _table()
    if ctypes.PYFUNCTYPE(ctypes.c_uint)(table[ABI_VERSION])() != 0x2000000 or table[ARRAY_TYPE] != id(np.ndarray):
        return False
    words = (ctypes.c_int64 * 2)(3, 5)
    lengths, descr = (ctypes.c_int64 * 1)(2), np.dtype(np.int64)
    pin(descr)  # the call takes over a reference
    p, i = ctypes.c_void_p, ctypes.c_int
    new = ctypes.PYFUNCTYPE(ctypes.py_object, p, p, i, p, p, p, i, p)(table[NEW_FROM_DESCR])
    flags = C_CONTIGUOUS | ALIGNED | WRITEABLE
    made = new(id(np.ndarray), id(descr), 1, ctypes.addressof(lengths), None, ctypes.addressof(words), flags, None)
    holds = type(made) is np.ndarray and made.tolist() == [3, 5] and made.base is None and not made.flags.owndata
    words[0] = 7
    return holds and bool(made[0] == 7)


def _arrays() -> bool:
    if np.ndarray.__basicsize__ < MEM_HANDLER + 8:
        return False
    whole = np.zeros((4, 5, 6), np.int16)
    part = whole[1:, ::2, 3]
    dtype = whole.dtype.newbyteorder()
    get_handler: Callable[[], object] = ctypes.PYFUNCTYPE(ctypes.py_object)(_table()[GET_HANDLER])

    def axes(offset: int) -> tuple[int, ...]:
        return tuple((ctypes.c_int64 * part.ndim).from_address(_word(part, offset)))

    flags = {f: bool(_word(whole, FLAGS, ctypes.c_int) & f) for f in (C_CONTIGUOUS, OWNDATA, ALIGNED, WRITEABLE)}
    return (
        _word(part, DATA) == part.__array_interface__["data"][0]
        and _word(part, NDIM, ctypes.c_int) == 2
        and axes(LENGTHS) == part.shape
        and axes(STRIDES) == part.strides
        and _word(part, BASE) == id(whole)
        and _word(whole, BASE) == 0
        and _word(part, DESCR) == id(part.dtype)
        and all(flags.values())
        and _word(part, FLAGS, ctypes.c_int) & (C_CONTIGUOUS | OWNDATA) == 0
        and _word(np.frombuffer(b"\0" * 9, np.int16, 4, 1), FLAGS, ctypes.c_int) & (ALIGNED | WRITEABLE) == 0
        and _word(whole, MEM_HANDLER) == id(get_handler())
        and chr(_word(dtype, DESCR_BYTEORDER, ctypes.c_uint8)) == ">"
        and _word(dtype, DESCR_NUMBER, ctypes.c_int) == dtype.num
    )


def _scalars() -> bool:
    make = ctypes.PYFUNCTYPE(ctypes.py_object, ctypes.py_object, ctypes.c_ssize_t)
    for dtype in LONG.values():
        value = np.array(1).astype(dtype)[()]
        size = dtype.itemsize
        if type(value).__basicsize__ < SCALAR_VALUE + size:
            return False
        if ctypes.string_at(id(value) + SCALAR_VALUE, size) != value.tobytes():
            return False
        if dtype.kind == "b":
            continue  # two objects stand for all its values
        made = make(allocator(type(value)))(type(value), 0)
        ctypes.memmove(id(made) + SCALAR_VALUE, value.tobytes(), size)
        if type(made) is not type(value) or made.tobytes() != value.tobytes():
            return False
    return True


# in this order: each looks only at what the ones before it have made sure of
_CHECKS: tuple[tuple[str, Callable[[], bool]], ...] = (
    ("native code is written for Linux on x86-64", _platform),
    ("native code is written for CPython 3.11 and later", _interpreter),
    ("native code relies on the global interpreter lock, which this build of Python doesn't have", _lock),
    ("the fields of Python's objects lie elsewhere in this build", _objects),
    ("NumPy's table of C functions is another one", _numpy_table),
    ("the fields of NumPy's arrays lie elsewhere in this version", _arrays),
    ("the fields of NumPy's scalars lie elsewhere in this version", _scalars),
)
