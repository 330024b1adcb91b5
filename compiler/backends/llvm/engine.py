"""Object code in memory: compiled or taken from the store, linked to vector math and libraries, and loaded."""

from __future__ import annotations

import threading
from collections.abc import Iterable
from functools import lru_cache
from typing import Any, Protocol

from . import capi, vmath
from .entry import Runtime, runtime_text
from .gemm import blas_text
from .libraries import blas, sorts
from .module import Module, Wanted
from .target import key_of, lanes, object_code
from .vmath import pairs


class ObjectStore(Protocol):
    """Where object code is kept between processes."""

    def get(self, key: str) -> bytes | None: ...
    def put(self, key: str, data: bytes) -> None: ...


RUNTIME = (
    "nt_alloc", "nt_free", "nt_enter", "nt_release_kept", "nt_set_handler", "nt_pool_drop", "nt_pool_forked",
    "nt_pool_state", "nt_pool_handler", "nt_pool_handler_name",
)  # fmt: skip


class Loaded:
    """A piece of object code in memory, with the addresses of what it exports. It lives as long as this object."""

    def __init__(self, tracker: Any, addresses: dict[str, int], found: bool) -> None:
        self.tracker, self.addresses, self.found = tracker, addresses, found


class Engine:
    """The linker of this process. `store` is asked for object code first, and given what had to be compiled."""

    def __init__(self) -> None:
        import llvmlite.binding as llvm

        from .target import machine

        machine()
        self._jit = llvm.create_lljit_compiler(machine())
        self._lock = threading.RLock()
        self._number = 0
        self._kept: dict[Any, Loaded] = {}
        self._runtime: Runtime | None = None
        self.store: ObjectStore | None = None

    def load(self, text: str, exports: Iterable[str], imports: dict[str, int], optimise: bool = True) -> Loaded:
        """Load a module's text: from the store where its object code is there, else compiled now."""
        import llvmlite.binding as llvm

        key = key_of(text, optimise)
        data = self.store.get(key) if self.store is not None else None
        found = data is not None
        if data is None:
            data = object_code(text, optimise)
            if self.store is not None:
                self.store.put(key, data)
        with self._lock:
            self._number += 1
            builder = llvm.JITLibraryBuilder().add_object_img(data).add_current_process()
            for name, address in imports.items():
                builder.import_symbol(name, address)
            names = list(exports)
            for name in names:
                builder.export_symbol(name)
            tracker = builder.link(self._jit, f"numtape{self._number}")
        return Loaded(tracker, {name: tracker[name] for name in names}, found)

    def kept(self, key: Any, text: Any, exports: Iterable[str], imports: dict[str, int]) -> Loaded:
        """A module that stays for the life of the process; `text()` writes it."""
        with self._lock:
            if key not in self._kept:
                self._kept[key] = self.load(text(), exports, imports, optimise=key == "gemm")
            return self._kept[key]

    def math(self, wanted: Iterable[Wanted]) -> dict[str, int]:
        """The addresses of vector math: each function is a module of its own, compiled when it is first asked for."""
        out: dict[str, int] = {}
        for name, short in wanted:
            symbol = vmath.symbol if name != pairs.NAME else lambda _, dtype, n: pairs.pair_symbol(dtype, n)
            exports = [symbol(name, short, n) for n in (1, *lanes()[short])]

            def text(name: str = name, short: str = short) -> str:
                if name == pairs.NAME:
                    return pairs.pair_text(short, lanes()[short])
                return vmath.module_text([(name, short)], lanes(), "external")

            out |= self.kept(("math", name, short), text, exports, {}).addresses
        return out

    @property
    def runtime(self) -> Runtime:
        """Memory and the entry, which all programs share."""
        if self._runtime is None:
            loaded = self.kept("runtime", runtime_text, RUNTIME, capi.symbols())
            with self._lock:
                if self._runtime is None:  # memory that one pool hands out must not go back to another
                    self._runtime = Runtime(loaded.addresses.__getitem__, loaded)
        return self._runtime

    def load_module(self, text: str, module: Module, exports: Iterable[str]) -> Loaded:
        """Load a program, linked to all that it declares."""
        imports = self.math(module.wanted) | self.runtime.symbols
        declared = "\n".join(module.externals)
        if "@nt_gemm_" in declared:
            integer, addresses = blas()
            names = ("nt_gemm_f64", "nt_gemm_f32")
            imports |= self.kept("gemm", lambda: blas_text(integer), names, addresses).addresses
        if "sort_" in declared:
            imports |= {name: address for name, address in sorts().items() if f"@{name}(" in declared}
        return self.load(text, exports, imports)


@lru_cache(1)
def engine() -> Engine:
    """The engine of this process, made when it is first needed."""
    return Engine()
