"""Functions of libraries that are loaded already: NumPy's sorts, and the BLAS that NumPy or SciPy carries."""

from __future__ import annotations

import ctypes
from functools import lru_cache
from pathlib import Path

import numpy as np

GET_FUNCTIONS = 365  # _PyDataType_GetArrFuncs in NumPy 2's table of C functions
SORT, ARGSORT = 33, 36  # where PyArray_ArrFuncs has quicksort, heapsort, stable sort; and the same of positions
STABLE = 2
DTYPES = "bool int8 int16 int32 int64 uint8 uint16 uint32 uint64 float32 float64"


@lru_cache(1)
def sorts() -> dict[str, int]:
    """``nt_sort_DTYPE(ptr, n, null)`` and ``nt_argsort_DTYPE(ptr, places, n, null)``, NumPy's own, tried out here."""
    from numpy._core import _multiarray_umath  # type: ignore[attr-defined]

    get = ctypes.pythonapi.PyCapsule_GetPointer
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    table = ctypes.cast(get(_multiarray_umath._ARRAY_API, None), ctypes.POINTER(ctypes.c_void_p))
    functions_of = ctypes.PYFUNCTYPE(ctypes.c_void_p, ctypes.py_object)(table[GET_FUNCTIONS] or 0)
    out: dict[str, int] = {}
    for name in DTYPES.split():
        functions = ctypes.cast(functions_of(np.dtype(name)) or 0, ctypes.POINTER(ctypes.c_void_p))
        out[f"nt_sort_{name}"] = functions[SORT] or 0
        out[f"nt_argsort_{name}"] = functions[ARGSORT + STABLE] or 0
    _try_out(out)
    return out


def _try_out(addresses: dict[str, int]) -> None:
    """Sort three numbers with each: a table laid out in another way is noticed before anything depends on it."""
    for name in DTYPES.split():
        values = np.array([3, 1, 2]).astype(name)
        places = np.arange(3)
        expected = np.argsort(values, kind="stable")
        order = ctypes.CFUNCTYPE(ctypes.c_int, *[ctypes.c_void_p] * 2, ctypes.c_int64, ctypes.c_void_p)
        sort = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_int64, ctypes.c_void_p)
        failed = order(addresses[f"nt_argsort_{name}"])(values.ctypes.data, places.ctypes.data, 3, None)
        failed |= sort(addresses[f"nt_sort_{name}"])(values.ctypes.data, 3, None)
        if failed or not np.array_equal(places, expected) or not (values[:-1] <= values[1:]).all():
            raise RuntimeError(f"NumPy {np.__version__} keeps its sort of {name} elsewhere than NumPy 2.0 to 2.4 did")


@lru_cache(1)
def blas() -> tuple[str, dict[str, int]]:
    """The integers of a Fortran BLAS, "i64" or "i32", and the addresses of nt_blas_dgemm and nt_blas_sgemm.

    That of NumPy's own wheel comes first, since it is in memory already; then SciPy's.
    """
    found = _of_numpy()
    return ("i64", found) if found else ("i32", _of_scipy())


def _of_numpy() -> dict[str, int]:
    folder = Path(np.__file__).parent.with_name("numpy.libs")
    for path in sorted(folder.glob("libscipy_openblas64_*")):
        library = ctypes.CDLL(str(path))
        try:
            return {f"nt_blas_{letter}gemm": _address(getattr(library, f"scipy_{letter}gemm_64_")) for letter in "ds"}
        except AttributeError:
            continue  # a build with other names: SciPy's has those that are promised
    return {}


def _of_scipy() -> dict[str, int]:
    from scipy.linalg import cython_blas

    get, name_of = ctypes.pythonapi.PyCapsule_GetPointer, ctypes.pythonapi.PyCapsule_GetName
    get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    name_of.restype, name_of.argtypes = ctypes.c_char_p, [ctypes.py_object]
    out = {}
    for letter in "ds":
        capsule = cython_blas.__pyx_capi__[f"{letter}gemm"]
        out[f"nt_blas_{letter}gemm"] = get(capsule, name_of(capsule))
    return out


def _address(function: object) -> int:
    return ctypes.cast(function, ctypes.c_void_p).value or 0  # type: ignore[arg-type]
