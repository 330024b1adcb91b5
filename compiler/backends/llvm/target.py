"""This machine as LLVM knows it, and the one way in which text becomes object code."""

from __future__ import annotations

import hashlib
from functools import lru_cache
from typing import Any

EMITTED = 1  # the version of the code that we emit and of what it expects to be linked to


@lru_cache(1)
def machine() -> Any:
    """The target machine for this processor, with all that it can do."""
    import llvmlite.binding as llvm

    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    return llvm.Target.from_triple(llvm.get_process_triple()).create_target_machine(
        cpu=llvm.get_host_cpu_name(), features=features(), opt=2, reloc="pic", codemodel="small", jit=False
    )


@lru_cache(1)
def features() -> str:
    """What this processor can do, as LLVM spells it."""
    import llvmlite.binding as llvm

    return str(llvm.get_host_cpu_features().flatten())


@lru_cache(1)
def fingerprint() -> str:
    """All that object code depends on beside its text: versions, platform, processor."""
    import llvmlite
    import llvmlite.binding as llvm
    import numpy as np

    version = ".".join(map(str, llvm.llvm_version_info))
    parts = (llvmlite.__version__, version, np.__version__, llvm.get_process_triple(), llvm.get_host_cpu_name())
    return "\n".join((*parts, features(), str(EMITTED)))


def key_of(text: str, optimise: bool = True) -> str:
    """The name under which the object code of a text is kept."""
    return hashlib.sha256(f"{fingerprint()}\n{optimise}\n{text}".encode()).hexdigest()


@lru_cache(1)
def lanes() -> dict[str, tuple[int, ...]]:
    """The widths of the vector math, by dtype: for bodies with many values in flight, and twice that for others.

    Two registers of AVX-512 are 15 % faster than one (chain64 7.7 against 9.1 ms), four of AVX2 up to 40 % than two.
    """
    return {"f64": (8, 16), "f32": (16, 32)}


def object_code(text: str, optimise: bool = True) -> bytes:
    """Compile the text of a module; what is written as it should run already needs no passes over it."""
    import llvmlite.binding as llvm

    module = llvm.parse_assembly(f'target triple = "{llvm.get_process_triple()}"\n{text}')
    if not optimise:
        return bytes(machine().emit_object(module))
    options = llvm.create_pipeline_tuning_options(speed_level=1)  # higher levels take longer, for no faster kernels
    options.loop_vectorization = True
    options.slp_vectorization = False
    options.loop_unrolling = True
    builder = llvm.create_pass_builder(machine(), options)
    builder.getModulePassManager().run(module, builder)
    return bytes(machine().emit_object(module))
