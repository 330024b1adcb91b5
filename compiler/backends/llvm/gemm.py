"""Products of two matrices: loops where they are small or of integers, else the BLAS that is loaded already."""

from __future__ import annotations

SMALL = 1_000  # multiply-adds up to which loops beat a call of BLAS

HEAD = """define {linkage}void @{name}(i1 %ta, i1 %tb, i64 %m, i64 %n, i64 %k, {matrices}) {{
entry:
  %a.row = select i1 %ta, i64 1, i64 %k
  %a.step = select i1 %ta, i64 %m, i64 1
  %b.row = select i1 %tb, i64 1, i64 %n
  %b.step = select i1 %tb, i64 %k, i64 1
"""
LOOPS = """  br label %i.head
i.head:
  %i = phi i64 [0, %{before}], [%i.next, %i.end]
  %i.go = icmp slt i64 %i, %m
  br i1 %i.go, label %i.body, label %done
i.body:
  %c.row = mul i64 %i, %n
  %c.at = getelementptr {kind}, ptr %c, i64 %c.row
  %a.start = mul i64 %i, %a.row
  br label %z.head
z.head:
  %z = phi i64 [0, %i.body], [%z.next, %z.body]
  %z.go = icmp slt i64 %z, %n
  br i1 %z.go, label %z.body, label %l.head
z.body:
  %z.at = getelementptr {kind}, ptr %c.at, i64 %z
  store {kind} {zero}, ptr %z.at
  %z.next = add i64 %z, 1
  br label %z.head
l.head:
  %l = phi i64 [0, %z.head], [%l.next, %l.end]
  %l.go = icmp slt i64 %l, %k
  br i1 %l.go, label %l.body, label %i.end
l.body:
  %a.off = mul i64 %l, %a.step
  %a.place = add i64 %a.start, %a.off
  %a.at = getelementptr {kind}, ptr %a, i64 %a.place
  %x = load {kind}, ptr %a.at
  %b.start = mul i64 %l, %b.row
  br label %j.head
j.head:
  %j = phi i64 [0, %l.body], [%j.next, %j.body]
  %j.go = icmp slt i64 %j, %n
  br i1 %j.go, label %j.body, label %l.end
j.body:
  %b.off = mul i64 %j, %b.step
  %b.place = add i64 %b.start, %b.off
  %b.at = getelementptr {kind}, ptr %b, i64 %b.place
  %y = load {kind}, ptr %b.at
  %o.at = getelementptr {kind}, ptr %c.at, i64 %j
  %o = load {kind}, ptr %o.at
  %p = {mul} {kind} %x, %y
  %q = {add} {kind} %o, %p
  store {kind} %q, ptr %o.at
  %j.next = add i64 %j, 1
  br label %j.head
l.end:
  %l.next = add i64 %l, 1
  br label %l.head
i.end:
  %i.next = add i64 %i, 1
  br label %i.head
done:
  ret void
}}
"""
MATRICES = "ptr noalias readonly %a, ptr noalias readonly %b, ptr noalias %c"
GIVEN = "ptb pta pn pm pk one b pldb a plda zero c pn"  # of a BLAS call, by reference
# C = A B of rows is C' = B' A' of columns, which is what Fortran takes
FORTRAN = """  %mn = mul i64 %m, %n
  %work = mul i64 %mn, %k
  %small = icmp sle i64 %work, {small}
  br i1 %small, label %loops, label %blas
blas:
  %lda = select i1 %ta, i64 %m, i64 %k
  %ldb = select i1 %tb, i64 %k, i64 %n
  %tta = select i1 %ta, i8 84, i8 78
  %ttb = select i1 %tb, i8 84, i8 78
  %pta = alloca i8
  %ptb = alloca i8
  store i8 %tta, ptr %pta
  store i8 %ttb, ptr %ptb
{integers}
  %one = alloca {kind}
  %zero = alloca {kind}
  store {kind} 1.0, ptr %one
  store {kind} 0.0, ptr %zero
  call void @nt_blas_{letter}gemm({given}, i64 1, i64 1)
  ret void
loops:
"""


def gemm_text(name: str, kind: str, letter: str) -> str:
    """A product of integers, or of bools (`letter` "b"), where it is true if any term is."""
    mul, add = ("and", "or") if letter == "b" else ("mul", "add")
    body = LOOPS.format(before="entry", kind=kind, zero="0", mul=mul, add=add)
    return HEAD.format(linkage="internal ", name=name, matrices=MATRICES) + body


def blas_text(integer: str) -> str:
    """``nt_gemm_f64`` and ``nt_gemm_f32`` over a Fortran BLAS whose integers are "i64" or "i32"; "" is no BLAS."""
    parts = []
    for name, kind, letter in (("f64", "double", "d"), ("f32", "float", "s")):
        text = HEAD.format(linkage="", name=f"nt_gemm_{name}", matrices=MATRICES)
        if integer:
            pointers = []
            for number in ("m", "n", "k", "lda", "ldb"):
                value = f"%{number}"
                if integer == "i32":
                    pointers.append(f"  %{number}.32 = trunc i64 %{number} to i32")
                    value = f"%{number}.32"
                pointers += [f"  %p{number} = alloca {integer}", f"  store {integer} {value}, ptr %p{number}"]
            given = ", ".join(f"ptr %{word}" for word in GIVEN.split())
            text += FORTRAN.format(small=SMALL, kind=kind, letter=letter, integers="\n".join(pointers), given=given)
        before = "loops" if integer else "entry"
        parts.append(text + LOOPS.format(before=before, kind=kind, zero="0.0", mul="fmul", add="fadd"))
        if integer:
            pointers_list = ", ".join(["ptr"] * 13)
            parts.append(f"declare void @nt_blas_{letter}gemm({pointers_list}, i64, i64)")
    return "\n".join(parts)
