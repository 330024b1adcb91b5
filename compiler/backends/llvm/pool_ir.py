"""The pool of memory as LLVM IR: allocation, the pool of freed blocks with its lock, and NumPy's handler functions."""

from __future__ import annotations

from .shorthand import expand

ALIGNMENT = 64
POOLED = 1 << 16  # bytes from which a block is kept
HUGE = 2 << 20  # a huge page: what takes one is mapped on its own, at such a boundary
KEPT = 64  # blocks that the pool holds at most
STATE = ("blocks", "bytes", "limit", "hits", "misses", "evicted", "bypassed")  # in this order in @pool.state

_TEXT = """
declare ptr @malloc(i64)
declare void @free(ptr)
declare ptr @mmap(ptr, i64, i32, i32, i32, i64)
declare i32 @munmap(ptr, i64)
declare i32 @madvise(ptr, i64, i32)
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memmove.p0.p0.i64(ptr, ptr, i64, i1)
declare void @llvm.memset.p0.i64(ptr, i8, i64, i1)
declare void @llvm.x86.sse2.pause()
declare i64 @llvm.ctlz.i64(i64, i1)
declare i64 @llvm.umin.i64(i64, i64)
declare {i64, i1} @llvm.umul.with.overflow.i64(i64, i64)

@pool.lock = internal global i32 0, align 64
@pool.state = internal global [8 x i64] zeroinitializer, align 64
@pool.data = internal global [$KEPT x ptr] zeroinitializer
@pool.capacity = internal global [$KEPT x i64] zeroinitializer
@pool.handler.name = internal constant [12 x i8] c"mem_handler\\00"
@pool.handler = internal constant {[127 x i8], i8, ptr, ptr, ptr, ptr, ptr} {
  [127 x i8] c"numtape$ZEROS", i8 1, ptr null,
  ptr @handler.malloc, ptr @handler.calloc, ptr @handler.realloc, ptr @handler.free}

; Whether the lock was had. Nobody waits for long: who doesn't get it does without the pool, so a holder that the
; system has put to sleep holds up nobody, and one that a fork has left behind blocks nobody.
define internal i1 @pool.enter() nounwind {
entry:
  br label %look
look:
  %turn = phi i32 [0, %entry], [%next, %wait]
  %taken = load atomic i32, ptr @pool.lock monotonic, align 4
  %looks.free = icmp eq i32 %taken, 0
  br i1 %looks.free, label %try, label %wait
try:
  %before = atomicrmw xchg ptr @pool.lock, i32 1 acquire
  %free = icmp eq i32 %before, 0
  br i1 %free, label %yes, label %wait
wait:
  call void @llvm.x86.sse2.pause()
  %next = add i32 %turn, 1
  %more = icmp ult i32 %next, 1000
  br i1 %more, label %look, label %no
yes:
  ret i1 true
no:
  %bypassed.at = getelementptr i64, ptr @pool.state, i64 6
  %bypassed = atomicrmw add ptr %bypassed.at, i64 1 monotonic
  ret i1 false
}

define internal void @pool.leave() nounwind {
  store atomic i32 0, ptr @pool.lock release, align 4
  ret void
}

; Take block `i` out of the pool, whose lock is held; those after it move up.
define internal ptr @pool.remove(i64 %i) nounwind {
  %data.at = getelementptr ptr, ptr @pool.data, i64 %i
  %capacity.at = getelementptr i64, ptr @pool.capacity, i64 %i
  %data = load ptr, ptr %data.at
  %capacity = load i64, ptr %capacity.at
  %count = field i64 @pool.state, 0
  %left = sub i64 %count, 1
  %after = sub i64 %left, %i
  %moved = shl i64 %after, 3
  %data.next = getelementptr ptr, ptr %data.at, i64 1
  %capacity.next = getelementptr i64, ptr %capacity.at, i64 1
  call void @llvm.memmove.p0.p0.i64(ptr %data.at, ptr %data.next, i64 %moved, i1 false)
  call void @llvm.memmove.p0.p0.i64(ptr %capacity.at, ptr %capacity.next, i64 %moved, i1 false)
  put i64 %left, @pool.state, 0
  %bytes = field i64 @pool.state, 8
  %bytes.left = sub i64 %bytes, %capacity
  put i64 %bytes.left, @pool.state, 8
  ret ptr %data
}

; A block of this capacity that was freed, the newest one; null where there is none.
define internal ptr @pool.take(i64 %capacity) nounwind {
entry:
  %entered = call i1 @pool.enter()
  br i1 %entered, label %count, label %no
count:
  %blocks = field i64 @pool.state, 0
  br label %next
next:
  %end = phi i64 [%blocks, %count], [%i, %look]
  %some = icmp ne i64 %end, 0
  br i1 %some, label %look, label %miss
look:
  %i = sub i64 %end, 1
  %at = getelementptr i64, ptr @pool.capacity, i64 %i
  %held = load i64, ptr %at
  %fits = icmp eq i64 %held, %capacity
  br i1 %fits, label %hit, label %next
hit:
  %data = call ptr @pool.remove(i64 %i)
  call void @pool.note(i64 3)
  call void @pool.leave()
  ret ptr %data
miss:
  call void @pool.note(i64 4)
  call void @pool.leave()
  br label %no
no:
  ret ptr null
}

define internal void @pool.note(i64 %what) nounwind {
  %at = getelementptr i64, ptr @pool.state, i64 %what
  %count = load i64, ptr %at
  %more = add i64 %count, 1
  store i64 %more, ptr %at
  ret void
}

; Lay out a block in memory that begins at `raw`: its data, at a boundary with room for the header before it.
define internal ptr @block.place(ptr %raw, i64 %boundary, i64 %capacity) nounwind {
  %start = ptrtoint ptr %raw to i64
  %first = add i64 %start, 16
  %past = add i64 %boundary, -1
  %over = add i64 %first, %past
  %mask = sub i64 0, %boundary
  %aligned = and i64 %over, %mask
  %shift = sub i64 %aligned, %start
  %data = getelementptr i8, ptr %raw, i64 %shift
  put ptr %raw, %data, -16
  put i64 %capacity, %data, -8
  ret ptr %data
}

define internal ptr @block.malloc(i64 %capacity) nounwind {
entry:
  %whole = add i64 %capacity, $ALIGNMENT
  %raw = call ptr @malloc(i64 %whole)
  %failed = icmp eq ptr %raw, null
  br i1 %failed, label %no, label %yes
yes:
  %data = call ptr @block.place(ptr %raw, i64 $ALIGNMENT, i64 %capacity)
  ret ptr %data
no:
  ret ptr null
}

define internal ptr @block.map(i64 %capacity) nounwind {
entry:
  %whole = add i64 %capacity, $HUGE
  %raw = call ptr @mmap(ptr null, i64 %whole, i32 3, i32 34, i32 -1, i64 0) ; readable, writable; private, anonymous
  %failed = icmp eq ptr %raw, inttoptr (i64 -1 to ptr)
  br i1 %failed, label %no, label %yes
yes:
  %data = call ptr @block.place(ptr %raw, i64 $HUGE, i64 %capacity)
  %huge = and i64 %capacity, -$HUGE ; the end takes ordinary pages: no more than is asked for
  %ignored = call i32 @madvise(ptr %data, i64 %huge, i32 14) ; MADV_HUGEPAGE; a system without them says no
  ret ptr %data
no:
  ret ptr null
}

define internal void @block.release(ptr %data) nounwind {
entry:
  %raw = field ptr %data, -16
  %capacity = field i64 %data, -8
  %mapped = icmp uge i64 %capacity, $HUGE
  br i1 %mapped, label %unmap, label %give
unmap:
  %whole = add i64 %capacity, $HUGE
  %ignored = call i32 @munmap(ptr %raw, i64 %whole)
  ret void
give:
  call void @free(ptr %raw)
  ret void
}

; Memory for `n` bytes, 64-byte aligned; null on failure. Large sizes are rounded up, to eight in each power of two, so
; that blocks fit again when lengths vary; what is rounded up is never touched.
define ptr @nt_alloc(i64 %n) nounwind {
entry:
  %small = icmp ult i64 %n, $POOLED
  br i1 %small, label %little, label %check
little:
  %block = call ptr @block.malloc(i64 %n)
  ret ptr %block
check:
  %sane = icmp ult i64 %n, 70368744177664 ; 2**46; negative ones are above
  br i1 %sane, label %large, label %no
large:
  %zeros = call i64 @llvm.ctlz.i64(i64 %n, i1 true)
  %shift = sub i64 60, %zeros
  %step = shl i64 1, %shift
  %past = add i64 %step, -1
  %over = add i64 %n, %past
  %mask = sub i64 0, %step
  %capacity = and i64 %over, %mask
  %kept = call ptr @pool.take(i64 %capacity)
  %found = icmp ne ptr %kept, null
  br i1 %found, label %reuse, label %fresh
reuse:
  ret ptr %kept
fresh:
  %huge = icmp uge i64 %capacity, $HUGE
  br i1 %huge, label %map, label %medium
map:
  %mapped = call ptr @block.map(i64 %capacity)
  ret ptr %mapped
medium:
  %given = call ptr @block.malloc(i64 %capacity)
  ret ptr %given
no:
  ret ptr null
}

; Free a block of nt_alloc, or nothing. The block knows its size; the second argument is for readers.
define void @nt_free(ptr %data, i64 %n) nounwind {
entry:
  %evicted = alloca [$KEPT x ptr]
  %nothing = icmp eq ptr %data, null
  br i1 %nothing, label %done, label %what
what:
  %capacity = field i64 %data, -8
  %small = icmp ult i64 %capacity, $POOLED
  br i1 %small, label %release, label %fits
fits:
  %limit = field i64 @pool.state, 16
  %too.large = icmp ugt i64 %capacity, %limit
  br i1 %too.large, label %release, label %enter
enter:
  %entered = call i1 @pool.enter()
  br i1 %entered, label %room, label %release
release:
  call void @block.release(ptr %data)
  ret void
room: ; the oldest blocks go until it fits
  %out = phi i64 [0, %enter], [%out.next, %evict]
  %blocks = field i64 @pool.state, 0
  %bytes = field i64 @pool.state, 8
  %bytes.next = add i64 %bytes, %capacity
  %full = icmp uge i64 %blocks, $KEPT
  %heavy = icmp ugt i64 %bytes.next, %limit
  %some = icmp ne i64 %blocks, 0
  %heavy.some = and i1 %heavy, %some
  %no.room = or i1 %full, %heavy.some
  br i1 %no.room, label %evict, label %keep
evict:
  %old = call ptr @pool.remove(i64 0)
  call void @pool.note(i64 5)
  %old.at = getelementptr ptr, ptr %evicted, i64 %out
  store ptr %old, ptr %old.at
  %out.next = add i64 %out, 1
  br label %room
keep:
  %data.at = getelementptr ptr, ptr @pool.data, i64 %blocks
  store ptr %data, ptr %data.at
  %capacity.at = getelementptr i64, ptr @pool.capacity, i64 %blocks
  store i64 %capacity, ptr %capacity.at
  %blocks.next = add i64 %blocks, 1
  put i64 %blocks.next, @pool.state, 0
  put i64 %bytes.next, @pool.state, 8
  call void @pool.leave()
  br label %outside
outside: ; the system calls come after the lock is given back
  %i = phi i64 [0, %keep], [%i.next, %drop]
  %more = icmp ult i64 %i, %out
  br i1 %more, label %drop, label %done
drop:
  %dropped.at = getelementptr ptr, ptr %evicted, i64 %i
  %dropped = load ptr, ptr %dropped.at
  call void @block.release(ptr %dropped)
  %i.next = add i64 %i, 1
  br label %outside
done:
  ret void
}

; Free the newest block that the pool holds: 1, or 0 where there is none, or -1 where the lock wasn't to be had.
define i32 @nt_pool_drop() nounwind {
entry:
  %entered = call i1 @pool.enter()
  br i1 %entered, label %look, label %busy
look:
  %blocks = field i64 @pool.state, 0
  %some = icmp ne i64 %blocks, 0
  br i1 %some, label %drop, label %empty
drop:
  %last = sub i64 %blocks, 1
  %data = call ptr @pool.remove(i64 %last)
  call void @pool.leave()
  call void @block.release(ptr %data)
  ret i32 1
empty:
  call void @pool.leave()
  ret i32 0
busy:
  ret i32 -1
}

; In the child of a fork: a thread that isn't there any more may have been at work on the pool. What it then held stays
; unused.
define void @nt_pool_forked() nounwind {
entry:
  %held = load atomic i32, ptr @pool.lock acquire, align 4
  %torn = icmp ne i32 %held, 0
  br i1 %torn, label %forget, label %done
forget:
  put i64 0, @pool.state, 0
  put i64 0, @pool.state, 8
  call void @pool.leave()
  br label %done
done:
  ret void
}

define ptr @nt_pool_state() nounwind {
  ret ptr @pool.state
}
define ptr @nt_pool_handler() nounwind {
  ret ptr @pool.handler
}
define ptr @nt_pool_handler_name() nounwind {
  ret ptr @pool.handler.name
}
define ptr @nt_pool_lock() nounwind {
  ret ptr @pool.lock
}

define internal ptr @handler.malloc(ptr %context, i64 %n) nounwind {
  %data = call ptr @nt_alloc(i64 %n)
  ret ptr %data
}

define internal ptr @handler.calloc(ptr %context, i64 %count, i64 %each) nounwind {
entry:
  %product = call {i64, i1} @llvm.umul.with.overflow.i64(i64 %count, i64 %each)
  %n = extractvalue {i64, i1} %product, 0
  %overflow = extractvalue {i64, i1} %product, 1
  br i1 %overflow, label %no, label %get
get:
  %data = call ptr @nt_alloc(i64 %n)
  %failed = icmp eq ptr %data, null
  br i1 %failed, label %no, label %clear
clear:
  call void @llvm.memset.p0.i64(ptr %data, i8 0, i64 %n, i1 false)
  ret ptr %data
no:
  ret ptr null
}

define internal ptr @handler.realloc(ptr %context, ptr %data, i64 %n) nounwind {
entry:
  %fresh = call ptr @nt_alloc(i64 %n)
  %none = icmp eq ptr %data, null
  %failed = icmp eq ptr %fresh, null
  %done = or i1 %none, %failed
  br i1 %done, label %exit, label %copy
copy:
  %capacity = field i64 %data, -8
  %least = call i64 @llvm.umin.i64(i64 %capacity, i64 %n)
  call void @llvm.memcpy.p0.p0.i64(ptr %fresh, ptr %data, i64 %least, i1 false)
  call void @nt_free(ptr %data, i64 %capacity)
  br label %exit
exit:
  ret ptr %fresh
}

define internal void @handler.free(ptr %context, ptr %data, i64 %n) nounwind {
  call void @nt_free(ptr %data, i64 %n)
  ret void
}
"""


def pool_text() -> str:
    """The pool as LLVM IR; it refers to functions of the C library alone."""
    zeros = "\\00" * (127 - len("numtape"))
    return expand(_TEXT, KEPT=KEPT, HUGE=HUGE, POOLED=POOLED, ALIGNMENT=ALIGNMENT, ZEROS=zeros)
