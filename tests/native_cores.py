"""What the tests of the native entry and of its memory share: the runtime, loaded, and cores written by hand."""

import ctypes
from functools import lru_cache

import llvmlite.binding as llvm
import numpy as np

from numtape.compiler.backends.llvm import capi, entry
from numtape.compiler.kernel import Input, OutputValue

LLVM = {"float64": "double", "float32": "float", "int64": "i64", "int32": "i32", "int8": "i8", "bool": "i8"}

MAP = """
define i32 @NAME(ptr %in, ptr %out) {
entry:
  %x = load ptr, ptr %in
  br label %axis
axis:
  %k = phi i64 [1, %entry], [%k.next, %copy]
  %n = phi i64 [1, %entry], [%n.next, %copy]
  %more = icmp ule i64 %k, RANK
  br i1 %more, label %copy, label %get
copy:
  %from = getelementptr i64, ptr %in, i64 %k
  %length = load i64, ptr %from
  %to = getelementptr i64, ptr %out, i64 %k
  store i64 %length, ptr %to
  %n.next = mul i64 %n, %length
  %k.next = add i64 %k, 1
  br label %axis
get:
  %bytes = mul i64 %n, SIZE
  %y = call ptr @nt_alloc(i64 %bytes)
  store ptr %y, ptr %out
  %no = icmp eq ptr %y, null
  br i1 %no, label %memory, label %loop
loop:
  %i = phi i64 [0, %get], [%i.next, %body]
  %again = icmp ult i64 %i, %n
  br i1 %again, label %body, label %done
body:
  %p = getelementptr TYPE, ptr %x, i64 %i
  %v = load TYPE, ptr %p
  %w = OP TYPE %v, %v
  %q = getelementptr TYPE, ptr %y, i64 %i
  store TYPE %w, ptr %q
  %i.next = add i64 %i, 1
  br label %loop
done:
  ret i32 0
memory:
  ret i32 -4
}
"""

CORES = """
declare ptr @nt_alloc(i64)
declare void @nt_free(ptr, i64)

; ~i64 -> nothing; the status is the number
define i32 @status(ptr %in, ptr %out) {
  %s = load i32, ptr %in
  ret i32 %s
}

; one slot, as it is
define i32 @echo(ptr %in, ptr %out) {
  %v = load i64, ptr %in
  store i64 %v, ptr %out
  ret i32 0
}

; f64[n] -> f64[], f64[n]: the sum of the first and the last, twice the array
define i32 @value_and_array(ptr %in, ptr %out) {
  %x = load ptr, ptr %in
  %n.at = getelementptr i64, ptr %in, i64 1
  %n = load i64, ptr %n.at
  %last.index = sub i64 %n, 1
  %last.at = getelementptr double, ptr %x, i64 %last.index
  %first = load double, ptr %x
  %last = load double, ptr %last.at
  %sum = fadd double %first, %last
  store double %sum, ptr %out
  %array = getelementptr i64, ptr %out, i64 1
  %status = call i32 @float64_1(ptr %in, ptr %array)
  ret i32 %status
}

; f64[n] -> f64[n], f64[n], f64[n]
define i32 @three(ptr %in, ptr %out) {
  %second = getelementptr i64, ptr %out, i64 2
  %third = getelementptr i64, ptr %out, i64 4
  %a = call i32 @float64_1(ptr %in, ptr %out)
  %b = call i32 @float64_1(ptr %in, ptr %second)
  %c = call i32 @float64_1(ptr %in, ptr %third)
  ret i32 0
}

; i64[n] -> nothing; waits until the first element isn't 0 any more, or gives up with status 7
define i32 @await(ptr %in, ptr %out) {
entry:
  %x = load ptr, ptr %in
  %limit.at = getelementptr i64, ptr %x, i64 1
  %limit = load i64, ptr %limit.at
  br label %loop
loop:
  %i = phi i64 [0, %entry], [%next, %again]
  %v = load volatile i64, ptr %x
  %there = icmp ne i64 %v, 0
  br i1 %there, label %yes, label %again
again:
  %next = add i64 %i, 1
  %more = icmp ult i64 %next, %limit
  br i1 %more, label %loop, label %no
yes:
  ret i32 0
no:
  ret i32 7
}

; `turns` times: a block of some size, filled with `mark`, looked at again, freed; the number of bytes that changed
define i64 @hammer(i64 %mark, i64 %turns) {
entry:
  %held = alloca [4 x ptr]
  %sizes = alloca [4 x i64]
  call void @llvm.memset.p0.i64(ptr %held, i8 0, i64 32, i1 false)
  %byte = trunc i64 %mark to i8
  br label %turn
turn:
  %t = phi i64 [0, %entry], [%t.next, %checked]
  %seed = phi i64 [%mark, %entry], [%seed.next, %checked]
  %bad = phi i64 [0, %entry], [%bad.now, %checked]
  %seed.mul = mul i64 %seed, 6364136223846793005
  %seed.next = add i64 %seed.mul, 1442695040888963407
  %high = lshr i64 %seed.next, 60
  %some = add i64 %high, 7
  %size = shl i64 %some, 13
  %which = and i64 %t, 3
  %at = getelementptr ptr, ptr %held, i64 %which
  %size.at = getelementptr i64, ptr %sizes, i64 %which
  %old = load ptr, ptr %at
  %new = call ptr @nt_alloc(i64 %size)
  call void @llvm.memset.p0.i64(ptr %new, i8 %byte, i64 %size, i1 false)
  store ptr %new, ptr %at
  %old.size = load i64, ptr %size.at
  store i64 %size, ptr %size.at
  %none = icmp eq ptr %old, null
  br i1 %none, label %checked, label %check
check:
  %i = phi i64 [0, %turn], [%i.next, %check]
  %found = phi i64 [%bad, %turn], [%found.next, %check]
  %p = getelementptr i8, ptr %old, i64 %i
  %v = load volatile i8, ptr %p
  %differs = icmp ne i8 %v, %byte
  %one = zext i1 %differs to i64
  %found.next = add i64 %found, %one
  %i.next = add i64 %i, 512
  %more = icmp ult i64 %i.next, %old.size
  br i1 %more, label %check, label %free
free:
  call void @nt_free(ptr %old, i64 %old.size)
  br label %checked
checked:
  %bad.now = phi i64 [%bad, %turn], [%found.next, %free]
  %t.next = add i64 %t, 1
  %left = icmp ult i64 %t.next, %turns
  br i1 %left, label %turn, label %done
done:
  br label %last
last:
  %k = phi i64 [0, %done], [%k.next, %last]
  %rest.at = getelementptr ptr, ptr %held, i64 %k
  %rest = load ptr, ptr %rest.at
  call void @nt_free(ptr %rest, i64 0)
  %k.next = add i64 %k, 1
  %k.more = icmp ult i64 %k.next, 4
  br i1 %k.more, label %last, label %end
end:
  ret i64 %bad.now
}
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
"""


def map_text(name, rank):
    """A core that adds an array to itself (`or` of bools): NAME_RANK."""
    op = "or" if name == "bool" else "fadd" if name.startswith("f") else "add"
    text = MAP.replace("NAME", f"{name}_{rank}").replace("RANK", str(rank)).replace("OP", op)
    return text.replace("SIZE", str(np.dtype(name).itemsize)).replace("TYPE", LLVM[name])


def load(text):
    """An engine that holds the code of a module."""
    llvm.initialize_native_target()
    llvm.initialize_native_asmprinter()
    features = llvm.get_host_cpu_features().flatten()
    target = llvm.Target.from_default_triple()
    machine = target.create_target_machine(cpu=llvm.get_host_cpu_name(), features=features, opt=2, jit=True)
    module = llvm.parse_assembly(text)
    module.verify()
    builder = llvm.create_pass_builder(machine, llvm.create_pipeline_tuning_options(2))
    builder.getModulePassManager().run(module, builder)
    engine = llvm.create_mcjit_compiler(llvm.parse_assembly(""), machine)
    engine.add_object_file(llvm.ObjectFileRef.from_data(machine.emit_object(module)))
    engine.finalize_object()
    return engine


def register(symbols):
    for name, address in symbols.items():
        llvm.add_symbol(name, address)


def new_runtime(**replaced):
    """The runtime, the engine of the cores, its own engine; `replaced` are addresses for those of capi.symbols."""
    register(capi.symbols() | replaced)
    engine = load(entry.runtime_text())
    made = entry.Runtime(engine.get_function_address, engine)
    register(made.symbols)
    maps = "".join(map_text(name, rank) for name in LLVM for rank in (1, 2, 3))
    cores = load(CORES + maps)
    register(capi.symbols())
    return made, cores, engine


@lru_cache(1)
def shared():
    return new_runtime()


def runtime():
    return shared()[0]


def address(core):
    return shared()[1].get_function_address(core)


def taken(*kinds):
    """Inputs from texts such as "float64[2]" and "~int64"."""
    return [Input(f"x{i}", np.dtype(name), rank, weak) for i, (name, rank, weak) in enumerate(map(_parse, kinds))]


def given(*kinds):
    return [OutputValue(f"y{i}", np.dtype(name), rank, weak) for i, (name, rank, weak) in enumerate(map(_parse, kinds))]


def _parse(text):
    name, _, rank = text.lstrip("~").rstrip("]").partition("[")
    return name, int(rank or 0), text.startswith("~")


class Slow:
    """A fallback that remembers what it was called with."""

    def __init__(self):
        self.calls = []

    def __call__(self, *args):
        self.calls.append(args)
        return self


def function(core, inputs, outputs, result=0, fallback=None, counters=None, **options):
    """A function over one of the cores, by the texts of what it takes and gives."""
    counters = np.zeros(1, np.int64) if counters is None else counters
    fallback = Slow() if fallback is None else fallback
    core = core if isinstance(core, int) else address(core)
    return runtime().builtin(core, taken(*inputs), given(*outputs), result, fallback, counters, "f", **options)


def doubling(name="float64", rank=1, **options):
    return function(f"{name}_{rank}", [f"{name}[{rank}]"], [f"{name}[{rank}]"], **options)


def resident():
    """Bytes of this process that lie in memory."""
    import resource

    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


def handler_name(array):
    return np._core.multiarray.get_handler_name(array)


def c_function(name, result, *kinds, engine=None):
    at = runtime().symbols[name] if engine is None else engine.get_function_address(name)
    return ctypes.CFUNCTYPE(result, *kinds)(at)


def number_at(engine, name):
    """The number that a function of an engine points to, to read and to write."""
    pointer = ctypes.CFUNCTYPE(ctypes.c_void_p)(engine.get_function_address(name))()
    return ctypes.c_int64.from_address(pointer)
