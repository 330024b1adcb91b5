"""The entry of compiled programs as LLVM IR: one function that checks arguments, calls a core and wraps what it gave.

A call is described by words that lie in a bytes object (entry.py writes them): a head, a record for each input, a
record for each output, and tokens that say how the outputs are put together. So an entry costs no compilation.
"""

from __future__ import annotations

from . import capi
from .shorthand import expand

# the head, in words
HEAD = (
    "core", "inputs", "release", "in_bytes", "out_bytes", "scratch_bytes", "outputs_at", "outputs", "tokens_at",
    "tokens", "array_type",
)  # fmt: skip
RECORD = 40  # bytes: kind and size as two i32, then four words
ARRAY, SCALAR, FLOAT, INT, BOOL, NUMPY_BOOL = range(6)  # kinds

_TEXT = """
declare void @PyEval_RestoreThread(ptr)
declare ptr @PyEval_SaveThread()
declare ptr @PyBool_FromLong(i64)
declare ptr @PyCapsule_GetPointer(ptr, ptr)
declare ptr @PyFloat_FromDouble(double)
declare i64 @PyLong_AsLongLongAndOverflow(ptr, ptr)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare ptr @PyTuple_New(i64)
declare void @Py_DecRef(ptr)
declare void @Py_IncRef(ptr)
declare ptr @nt_PyArray_NewFromDescr(ptr, ptr, i32, ptr, ptr, ptr, i32, ptr)

@entry.handler = internal global ptr null

define void @nt_set_handler(ptr %capsule) nounwind {
  store ptr %capsule, ptr @entry.handler
  ret void
}

; The destructor of a capsule over an object.
define void @nt_release_kept(ptr %capsule) nounwind {
  %object = call ptr @PyCapsule_GetPointer(ptr %capsule, ptr null)
  call void @Py_DecRef(ptr %object)
  ret void
}

; Whether an array has the rank, the flags and the dtype of a record. A dtype that was unpickled is an object of its
; own: its number and byte order say whether it is the same.
define internal i1 @entry.fits(ptr %array, ptr %record, i32 %rank) nounwind {
entry:
  %axes = field i32 %array, $NDIM
  %flags = field i32 %array, $FLAGS
  %descr = field ptr %array, $DESCR
  %mask = field i32 %record, 24
  %set = and i32 %flags, %mask
  %wanted = field ptr %record, 16
  %has.rank = icmp eq i32 %axes, %rank
  %has.flags = icmp eq i32 %set, %mask
  %laid.out = and i1 %has.rank, %has.flags
  br i1 %laid.out, label %dtype, label %no
dtype:
  %same = icmp eq ptr %descr, %wanted
  br i1 %same, label %yes, label %other
other:
  %number = field i32 %descr, $DESCR_NUMBER
  %number.wanted = field i32 %wanted, $DESCR_NUMBER
  %order = field i8 %descr, $DESCR_BYTEORDER
  %order.wanted = field i8 %wanted, $DESCR_BYTEORDER
  %same.number = icmp eq i32 %number, %number.wanted
  %same.order = icmp eq i8 %order, %order.wanted
  %equal = and i1 %same.number, %same.order
  ret i1 %equal
yes:
  ret i1 true
no:
  ret i1 false
}

define internal void @entry.copy(ptr %to, ptr %from, i32 %size) nounwind {
entry:
  switch i32 %size, label %eight [i32 4, label %four  i32 2, label %two  i32 1, label %one]
eight:
  %v8 = load i64, ptr %from
  store i64 %v8, ptr %to
  ret void
four:
  %v4 = load i32, ptr %from
  store i32 %v4, ptr %to
  ret void
two:
  %v2 = load i16, ptr %from
  store i16 %v2, ptr %to
  ret void
one:
  %v1 = load i8, ptr %from
  store i8 %v1, ptr %to
  ret void
}

; An array that owns the memory a slot points to; the slot is cleared then. Null with an exception set on failure.
define internal ptr @entry.wrap(ptr %slot, ptr %type, ptr %descr, i32 %rank) nounwind {
entry:
  call void @Py_IncRef(ptr %descr) ; the call below takes a reference over, also when it fails
  %data = load ptr, ptr %slot
  %lengths = getelementptr i8, ptr %slot, i64 8
  %array = call ptr @nt_PyArray_NewFromDescr(ptr %type, ptr %descr, i32 %rank, ptr %lengths, ptr null, ptr %data,
                                             i32 $MADE, ptr null)
  %failed = icmp eq ptr %array, null
  br i1 %failed, label %exit, label %own
own:
  %flags = field i32 %array, $FLAGS
  %flags.own = or i32 %flags, $OWNDATA
  put i32 %flags.own, %array, $FLAGS
  %handler = load ptr, ptr @entry.handler
  call void @Py_IncRef(ptr %handler)
  put ptr %handler, %array, $MEM_HANDLER
  store ptr null, ptr %slot
  br label %exit
exit:
  ret ptr %array
}

; A METH_FASTCALL function. `self` is a tuple: the fallback, an int64 array that counts, the words of the call.
define ptr @nt_enter(ptr %self, ptr %args, i64 %nargs) nounwind {
entry:
  %overflow = alloca i32
  %fallback = field ptr %self, $ITEM0
  %counters = field ptr %self, $ITEM1
  %holder = field ptr %self, $ITEM2
  %head = getelementptr i8, ptr %holder, i64 $BYTES_DATA
  %inputs = field i64 %head, $inputs
  %counted = icmp eq i64 %nargs, %inputs
  br i1 %counted, label %room, label %slow
slow:
  %answer = call ptr @PyObject_Vectorcall(ptr %fallback, ptr %args, i64 %nargs, ptr null)
  ret ptr %answer

room:
  %scratch = field i64 %head, $scratch_bytes
  %in = alloca i8, i64 %scratch, align 16
  %in.bytes = field i64 %head, $in_bytes
  %out = getelementptr i8, ptr %in, i64 %in.bytes
  %records = getelementptr i8, ptr %head, i64 $INPUTS_AT
  br label %argument
argument:
  %i = phi i64 [0, %room], [%i.next, %taken]
  %slot = phi ptr [%in, %room], [%slot.next, %taken]
  %record = phi ptr [%records, %room], [%record.next, %taken]
  %work = phi i64 [0, %room], [%work.next, %taken]
  %more = icmp ult i64 %i, %nargs
  br i1 %more, label %take, label %run
take:
  %object.at = getelementptr ptr, ptr %args, i64 %i
  %object = load ptr, ptr %object.at
  %kind = field i32 %record, 0
  %size = field i32 %record, 4
  %type = field ptr %object, $TYPE
  %type.wanted = field ptr %record, 8
  %exact = icmp eq ptr %type, %type.wanted
  br i1 %exact, label %which, label %inexact
which:
  switch i32 %kind, label %array [i32 $SCALAR, label %zero.rank  i32 $FLOAT, label %float  i32 $INT, label %int
                                  i32 $BOOL, label %bool]
inexact:
  %may.be.scalar = icmp eq i32 %kind, $SCALAR
  %type.scalar = field ptr %record, 32
  %is.scalar = icmp eq ptr %type, %type.scalar
  %unpack = and i1 %may.be.scalar, %is.scalar
  br i1 %unpack, label %scalar, label %slow
array:
  %fits = call i1 @entry.fits(ptr %object, ptr %record, i32 %size)
  br i1 %fits, label %shape, label %slow
shape:
  %rank = zext i32 %size to i64
  %data = field ptr %object, $DATA
  store ptr %data, ptr %slot
  %lengths = field ptr %object, $LENGTHS
  br label %axis
axis:
  %k = phi i64 [0, %shape], [%k.next, %axis]
  %elements = phi i64 [1, %shape], [%elements.next, %axis]
  %length.at = getelementptr i64, ptr %lengths, i64 %k
  %length = load i64, ptr %length.at
  %elements.next = mul i64 %elements, %length
  %k.next = add i64 %k, 1
  %length.to = getelementptr i64, ptr %slot, i64 %k.next
  store i64 %length, ptr %length.to
  %axes = icmp ult i64 %k.next, %rank
  br i1 %axes, label %axis, label %taken
zero.rank:
  %fits.zero = call i1 @entry.fits(ptr %object, ptr %record, i32 0)
  br i1 %fits.zero, label %point, label %slow
point:
  %value.at = field ptr %object, $DATA
  call void @entry.copy(ptr %slot, ptr %value.at, i32 %size)
  br label %taken
scalar:
  %inside = getelementptr i8, ptr %object, i64 $SCALAR_VALUE
  call void @entry.copy(ptr %slot, ptr %inside, i32 %size)
  br label %taken
float:
  %bits = field i64 %object, $FLOAT_VALUE
  store i64 %bits, ptr %slot
  br label %taken
int:
  %number = call i64 @PyLong_AsLongLongAndOverflow(ptr %object, ptr %overflow)
  store i64 %number, ptr %slot
  %over = load i32, ptr %overflow
  %inside.range = icmp eq i32 %over, 0
  br i1 %inside.range, label %taken, label %slow
bool:
  %true = field ptr %record, 16
  %is.true = icmp eq ptr %object, %true
  %truth = zext i1 %is.true to i8
  store i8 %truth, ptr %slot
  br label %taken
taken:
  %used = phi i64 [%k.next, %axis], [0, %point], [0, %scalar], [0, %float], [0, %int], [0, %bool]
  %done.now = phi i64 [%elements.next, %axis], [1, %point], [1, %scalar], [1, %float], [1, %int], [1, %bool]
  %used.next = add i64 %used, 1
  %slot.next = getelementptr i64, ptr %slot, i64 %used.next
  %record.next = getelementptr i8, ptr %record, i64 $RECORD
  %work.next = add i64 %work, %done.now
  %i.next = add i64 %i, 1
  br label %argument

run:
  %core = field ptr %head, $core
  %enough = field i64 %head, $release
  %large = icmp ugt i64 %work, %enough
  br i1 %large, label %away, label %here
away:
  %thread = call ptr @PyEval_SaveThread()
  %status.away = call i32 %core(ptr %in, ptr %out)
  call void @PyEval_RestoreThread(ptr %thread)
  br label %ran
here:
  %status.here = call i32 %core(ptr %in, ptr %out)
  br label %ran
ran:
  %status = phi i32 [%status.away, %away], [%status.here, %here]
  %good = icmp eq i32 %status, 0
  br i1 %good, label %give, label %slow

give:
  %counts = field ptr %counters, $DATA
  %hits = field i64 %counts, 0
  %hits.next = add i64 %hits, 1
  put i64 %hits.next, %counts, 0
  %array.type = field ptr %head, $array_type
  %out.bytes = field i64 %head, $out_bytes
  %stack = getelementptr i8, ptr %out, i64 %out.bytes
  %outputs.at = field i64 %head, $outputs_at
  %outputs = getelementptr i8, ptr %head, i64 %outputs.at
  %tokens.at = field i64 %head, $tokens_at
  %tokens = getelementptr i8, ptr %head, i64 %tokens.at
  %token.count = field i64 %head, $tokens
  br label %token
token:
  %j = phi i64 [0, %give], [%j.next, %push], [%j.next, %tuple.made]
  %top = phi ptr [%stack, %give], [%top.push, %push], [%top.tuple, %tuple.made]
  %tokens.left = icmp ult i64 %j, %token.count
  br i1 %tokens.left, label %next, label %ready
next:
  %j.next = add i64 %j, 1
  %what.at = getelementptr i64, ptr %tokens, i64 %j
  %what = load i64, ptr %what.at
  %is.tuple = icmp slt i64 %what, 0
  br i1 %is.tuple, label %tuple, label %value
value:
  %place = mul i64 %what, $RECORD
  %gives = getelementptr i8, ptr %outputs, i64 %place
  %as = field i32 %gives, 0
  %width = field i32 %gives, 4
  %from.at = field i64 %gives, 8
  %from = getelementptr i8, ptr %out, i64 %from.at
  %first = field ptr %gives, 16
  %second = field ptr %gives, 24
  switch i32 %as, label %make.array [i32 $SCALAR, label %make.scalar  i32 $NUMPY_BOOL, label %make.truth
                                     i32 $FLOAT, label %make.float  i32 $INT, label %make.int
                                     i32 $BOOL, label %make.bool]
make.array:
  %new.array = call ptr @entry.wrap(ptr %from, ptr %array.type, ptr %first, i32 %width)
  br label %made
make.scalar:
  %new.scalar = call ptr %second(ptr %first, i64 0)
  %no.scalar = icmp eq ptr %new.scalar, null
  br i1 %no.scalar, label %failed, label %fill
fill:
  %fill.at = getelementptr i8, ptr %new.scalar, i64 $SCALAR_VALUE
  call void @entry.copy(ptr %fill.at, ptr %from, i32 %width)
  br label %made
make.truth:
  %byte = load i8, ptr %from
  %holds = icmp ne i8 %byte, 0
  %numpy.bool = select i1 %holds, ptr %second, ptr %first
  call void @Py_IncRef(ptr %numpy.bool)
  br label %made
make.float:
  %double = load double, ptr %from
  %new.float = call ptr @PyFloat_FromDouble(double %double)
  br label %made
make.int:
  %long = load i64, ptr %from
  %new.int = call ptr @PyLong_FromLongLong(i64 %long)
  br label %made
make.bool:
  %bool.byte = load i8, ptr %from
  %bool.long = zext i8 %bool.byte to i64
  %new.bool = call ptr @PyBool_FromLong(i64 %bool.long)
  br label %made
made:
  %object.made = phi ptr [%new.array, %make.array], [%new.scalar, %fill], [%numpy.bool, %make.truth],
                         [%new.float, %make.float], [%new.int, %make.int], [%new.bool, %make.bool]
  %nothing = icmp eq ptr %object.made, null
  br i1 %nothing, label %failed, label %push
push:
  store ptr %object.made, ptr %top
  %top.push = getelementptr ptr, ptr %top, i64 1
  br label %token
tuple:
  %items = xor i64 %what, -1 ; the token of a tuple of n is -n - 1
  %new.tuple = call ptr @PyTuple_New(i64 %items)
  %no.tuple = icmp eq ptr %new.tuple, null
  br i1 %no.tuple, label %failed, label %move
move:
  %back = sub i64 0, %items
  %under = getelementptr ptr, ptr %top, i64 %back
  %items.to = getelementptr i8, ptr %new.tuple, i64 $ITEM0
  br label %item
item:
  %m = phi i64 [0, %move], [%m.next, %item.move]
  %items.left = icmp ult i64 %m, %items
  br i1 %items.left, label %item.move, label %tuple.made
item.move:
  %item.at = getelementptr ptr, ptr %under, i64 %m
  %item.object = load ptr, ptr %item.at
  %item.to = getelementptr ptr, ptr %items.to, i64 %m
  store ptr %item.object, ptr %item.to
  %m.next = add i64 %m, 1
  br label %item
tuple.made:
  store ptr %new.tuple, ptr %under
  %top.tuple = getelementptr ptr, ptr %under, i64 1
  br label %token
ready:
  %result = load ptr, ptr %stack
  ret ptr %result

failed: ; an exception is set: drop the objects made, then the memory that no array owns yet
  %output.count = field i64 %head, $outputs
  br label %drop
drop:
  %d = phi ptr [%stack, %failed], [%d.next, %dropping]
  %objects.left = icmp ult ptr %d, %top
  br i1 %objects.left, label %dropping, label %free
dropping:
  %dropped = load ptr, ptr %d
  call void @Py_DecRef(ptr %dropped)
  %d.next = getelementptr ptr, ptr %d, i64 1
  br label %drop
free:
  %f = phi i64 [0, %drop], [%f.next, %freed]
  %buffers.left = icmp ult i64 %f, %output.count
  br i1 %buffers.left, label %freeing, label %gone
freeing:
  %f.next = add i64 %f, 1
  %f.place = mul i64 %f, $RECORD
  %f.record = getelementptr i8, ptr %outputs, i64 %f.place
  %f.kind = field i32 %f.record, 0
  %f.array = icmp eq i32 %f.kind, $ARRAY
  br i1 %f.array, label %freeing.array, label %freed
freeing.array:
  %f.at = field i64 %f.record, 8
  %f.slot = getelementptr i8, ptr %out, i64 %f.at
  %f.data = load ptr, ptr %f.slot
  call void @nt_free(ptr %f.data, i64 0)
  br label %freed
freed:
  br label %free
gone:
  ret ptr null
}
"""


def entry_text() -> str:
    """The entry as LLVM IR; it refers to functions of CPython and NumPy that `capi.symbols` finds, and to nt_free."""
    names = ("TYPE", "FLOAT_VALUE", "BYTES_DATA", "SCALAR_VALUE", "DATA", "NDIM", "LENGTHS", "DESCR", "FLAGS",
             "MEM_HANDLER", "DESCR_BYTEORDER", "DESCR_NUMBER", "OWNDATA")  # fmt: skip
    fields = {name: getattr(capi, name) for name in names}
    kinds = {"ARRAY": ARRAY, "SCALAR": SCALAR, "FLOAT": FLOAT, "INT": INT, "BOOL": BOOL, "NUMPY_BOOL": NUMPY_BOOL}
    items = {f"ITEM{i}": capi.TUPLE_ITEMS + 8 * i for i in range(3)}
    head = {name: 8 * i for i, name in enumerate(HEAD)}
    made = capi.C_CONTIGUOUS | capi.ALIGNED | capi.WRITEABLE
    return expand(_TEXT, **fields, **kinds, **items, **head, RECORD=RECORD, INPUTS_AT=8 * len(HEAD), MADE=made)
