"""Fusion: what ends up in one loop, what is stored, and what the kernels and the source of ten programs look like."""

import os
from pathlib import Path

import pytest
from programs import PROGRAMS, gradient, start

from numtape.compiler.backends.numba.source import RESERVED, source_of
from numtape.compiler.kernel import Alloc, If, Kernel, Load, Loop, View
from numtape.compiler.plan import program_of
from numtape.tracer.dims import atom
from numtape.tracer.ops import words as w

GOLDEN = Path(__file__).parent / "golden"
N, M = atom("x.0"), atom("x.1")


@pytest.mark.parametrize("name", PROGRAMS)
def test_golden(name):
    """UPDATE_GOLDEN=1 writes the files anew: read the difference before it is committed."""
    program = program_of(PROGRAMS[name](), RESERVED)
    text = f"{program}\n\n{source_of(program)}"
    path = GOLDEN / f"{name}.txt"
    if os.environ.get("UPDATE_GOLDEN"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(text)
    assert text == path.read_text()


def statements(program):
    todo, out = list(program.body), []
    while todo:
        item = todo.pop(0)
        out.append(item)
        if isinstance(item, Kernel | Loop | If):
            todo = [*item.body, *todo]
    return out


def count(program, kind):
    return sum(isinstance(item, kind) for item in statements(program))


def temporaries(program):
    """Buffers that are no results."""
    out = {o.value for o in program.outputs}
    for item in reversed(program.body):  # a result that is shown in another shape
        if isinstance(item, View) and item.buffer.name in out:
            out.add(item.source)
    return [i.buffer.name for i in program.body if isinstance(i, Alloc) and i.buffer.name not in out]


def test_value_and_gradient_share_one_loop():
    program = program_of(PROGRAMS["tanh_chain"]())
    assert count(program, Loop) == 1
    assert not temporaries(program)
    assert count(program, Load) == 3


def test_no_temporary_in_a_long_chain():
    b, (x, y) = start("long", x=(N,), y=(N,))
    z = x
    for _ in range(20):
        z = w.sin(z) * y + x
    program = program_of(gradient(b, w.sum_(z)))
    assert count(program, Loop) == 1
    assert not temporaries(program)


def test_bias_gradient_accumulates_over_kept_axes():
    b, (x, bias) = start("bias", x=(N, M), b=(M,))
    program = program_of(gradient(b, w.sum_(w.square(w.tanh(x + bias))), "b"))
    assert count(program, Loop) == 2  # one nest
    assert not temporaries(program)


def test_views_cost_no_memory():
    b, (x,) = start("views", x=(N, M))
    y = w.transpose(w.flip(w.expand_dims(x, (1,)), 0), (2, 1, 0))
    z = w.slice_axis(w.reshape(y, (M, N)), 0, 0, M)
    program = program_of(b.build([w.sum_(w.exp(z), (0,))]))
    assert not temporaries(program)


def test_cheap_values_are_computed_again_and_dear_ones_stored():
    def two_passes(function):
        b, (x,) = start("passes", x=(N,))
        y = function(x)
        return program_of(b.build([y * w.sum_(y)]))

    assert not temporaries(two_passes(lambda x: 2.0 * x + 1.0))
    assert len(temporaries(two_passes(w.exp))) == 1


def test_dear_value_of_an_inner_loop_is_computed_once():
    b, (x, y) = start("table", x=(N, M), y=(M,))
    program = program_of(b.build([x * w.exp(y)]))
    assert len(temporaries(program)) == 1
    assert count(program, Loop) == 3


def test_dear_value_read_at_two_places_is_computed_once():
    b, (x,) = start("shifted", x=(N,))
    e = w.exp(x)
    program = program_of(b.build([w.slice_axis(e, 0, 1, N - 1) - w.slice_axis(e, 0, 0, N - 1)]))
    assert len(temporaries(program)) == 1


def test_writes_reuse_the_buffer():
    b, (x,) = start("writes", x=(N,))
    y = w.zeros_like(x)
    for k in range(200):
        y = w.set_slice(y, w.slice_axis(x, 0, k, 1) + w.slice_axis(y, 0, k, 1), (k,), (1,))
    program = program_of(b.build([y]))
    assert count(program, Alloc) == 1
    assert count(program, Loop) == 0


def test_gradient_of_many_reads_is_one_buffer():
    b, (x,) = start("reads", x=(N,))
    total = b.const(0.0)
    for k in range(50):
        total = total + w.squeeze(w.slice_axis(x, 0, k, 1), (0,)) * float(k)
    program = program_of(gradient(b, total * total))
    assert count(program, Alloc) == 1
    assert count(program, Loop) == 1


def test_a_base_that_is_read_later_is_copied():
    b, (x,) = start("kept", x=(N,))
    y = w.exp(x)
    z = w.set_slice(y, w.slice_axis(x, 0, 0, 1), (0,), (1,))
    program = program_of(b.build([z, w.sum_(y * z)]))
    assert [i.source is not None for i in program.body if isinstance(i, Alloc)] == [False, True]
