"""What a gradient tape does, case by case: recording, stop_recording, stop_gradient, persistence."""

import numpy as np
import pytest
from near import near

import numtape as nt

# -- the tape -----------------------------------------------------------------------------------------------------


def test_tp01_square(run):
    def f(x):
        with nt.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y, x)

    near(run(f, 3.0 * np.ones(())), 6.0)


def test_tp02_never_watched_is_none():
    x = nt.tensor(3.0)
    with nt.GradientTape() as tape:
        y = x * x
    assert tape.gradient(y, x) is None


def test_tp04_only_after_watch_counts(run):
    def f(x):
        with nt.GradientTape() as tape:
            y = x * x
            tape.watch(x)
            z = x**3
        return tape.gradient([y, z], x)

    near(run(f, np.float64(3.0)), 27.0)


def test_tp05_target_is_source(run):
    def f(x, y):
        with nt.GradientTape(persistent=True) as tape:
            tape.watch([x, y])
            z = y * y
        return tape.gradient(x, x), tape.gradient([x, x], x), tape.gradient([x, y, z], [x, y])

    one, two, pair = run(f, np.float64(3.0), np.float64(5.0))
    near(one, 1.0), near(two, 2.0), near(pair[0], 1.0), near(pair[1], 11.0)


def test_tp07_tp08_output_gradients(run):
    def f(x, y):
        with nt.GradientTape(persistent=True) as tape:
            tape.watch(x)
            square, product = x * x, x * y
        return (
            tape.gradient(square, x, output_gradients=2.0),
            tape.gradient([product, x], x, output_gradients=[1.0, 2.0]),
        )

    twelve, four = run(f, np.float64(3.0), np.float64(2.0))
    near(twelve, 12.0), near(four, 4.0)


def test_output_gradient_of_another_shape_is_refused():
    x = nt.tensor([1.0, 2.0])
    with nt.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    with pytest.raises(nt.ShapeError, match=r"\(2,\).*\(3,\)"):
        tape.gradient(y, x, output_gradients=np.ones(3))


def test_tp10_structure_of_sources():
    x, y = nt.tensor(2.0), nt.tensor(3.0)
    with nt.GradientTape(persistent=True) as tape:
        tape.watch({"a": x, "b": [y]})
        z = x * y
    assert isinstance(tape.gradient(z, (x, y)), tuple)
    assert isinstance(tape.gradient(z, [x, y]), list)
    found = tape.gradient(z, [{"a": x}, [y]])
    near(found[0]["a"], 3.0), near(found[1][0], 2.0)


def test_tp11_same_source_twice(run):
    def f(x):
        with nt.GradientTape() as tape:
            tape.watch(x)
            y = x * x
        return tape.gradient(y, [x, x])

    a, b = run(f, np.float64(3.0))
    near(a, 6.0), near(b, 6.0)


def test_tp13_intermediate_source(run):
    def f(x):
        with nt.GradientTape() as tape:
            tape.watch(x)
            y = x**2
            z = y**2
        return tape.gradient(z, [x, y])

    a, b = run(f, np.float64(3.0))
    near(a, 108.0), near(b, 18.0)


def test_tp14_identity_not_value_decides(run):
    def f(a, b):
        with nt.GradientTape() as tape:
            tape.watch(a)
            y = a + b
        return tape.gradient(y, a)

    near(run(f, np.float64(3.0), np.float64(3.0)), 1.0)


@pytest.mark.parametrize("method", ["gradient", "jacobian", "batch_jacobian"])
def test_tp16_second_gradient(method):
    x = nt.tensor([[1.0], [2.0]])
    with nt.GradientTape() as tape:
        tape.watch(x)
        y = x * x
    tape.gradient(y, x)
    with pytest.raises(RuntimeError, match="persistent"):
        getattr(tape, method)(y, x)


def test_tp16_a_target_never_recorded_is_none():
    x = nt.tensor(2.0)
    with nt.GradientTape() as tape:
        tape.watch(x)
        with tape.stop_recording():
            inner = x * x
        outer = x * x
    near(tape.gradient(outer, x), 4.0)
    assert tape.gradient(inner, x) is None


@pytest.mark.parametrize("persistent", [False, True])
def test_tp17_gradient_inside_the_block(persistent):
    x = nt.tensor(3.0)
    with nt.GradientTape(persistent=persistent) as tape:
        tape.watch(x)
        near(tape.gradient(x * x, x), 6.0)


def test_tp19_entered_twice():
    with nt.GradientTape() as tape, pytest.raises(ValueError, match="twice"):
        tape.__enter__()


def test_tape_can_be_entered_again():
    x, tape = nt.tensor(3.0), nt.GradientTape(persistent=True)
    with tape:
        tape.watch(x)
        y = x * x
    with tape:
        z = y * x
    near(tape.gradient(z, x), 27.0)


def test_tp20_reset():
    v = nt.Variable(1.0)
    with nt.GradientTape() as tape:
        loss = v * v
        tape.reset()
        assert tape.watched_variables() == ()
        loss = loss + v * v
    near(tape.gradient(loss, v), 2.0)


def test_tp22_watched_variables_after_use():
    v, w = nt.Variable(1.0), nt.Variable(2.0)
    with nt.GradientTape() as outer:
        outer_use = w * w
        with nt.GradientTape() as tape:
            y = v * v
        tape.gradient(y, v)
    assert tape.watched_variables() == (v,) or [t is v for t in tape.watched_variables()] == [True]
    assert [t is w or t is v for t in outer.watched_variables()] == [True, True]
    del outer_use


def test_tp23_unconnected():
    x, y = nt.tensor(np.ones(2, np.float32)), nt.tensor(3.0)
    with nt.GradientTape(persistent=True) as tape:
        tape.watch([x, y])
        z = y * y
    assert tape.gradient(z, x) is None
    zero = tape.gradient(z, x, unconnected_gradients="zero")
    near(zero, [0.0, 0.0])
    assert zero.dtype == np.float32
    with pytest.raises(ValueError, match="nonsense"):
        tape.gradient(z, x, unconnected_gradients="nonsense")


def test_tp25_interleaved():
    x = nt.tensor(2.0)
    a, b = nt.GradientTape(), nt.GradientTape()
    a.__enter__(), b.__enter__()
    a.watch(x), b.watch(x)
    y = x * x
    a.__exit__(None, None, None)
    z = y * x
    b.__exit__(None, None, None)
    assert a.gradient(z, x) is None
    near(b.gradient(z, x), 12.0)


# -- stop_recording -----------------------------------------------------------------------------------------------


def test_sr01_sr02():
    v, x = nt.Variable(3.0), nt.tensor(1.0)
    with nt.GradientTape(persistent=True) as tape:
        tape.watch(x)
        with tape.stop_recording():
            y = v * v
        x2 = 2 * x
        with tape.stop_recording():
            quiet = x2 * x2
        z = x2 * x2
    assert tape.gradient(y, v) is None
    near(tape.gradient(z, x2), 4.0)
    assert tape.gradient(quiet, x2) is None


def test_sr04_read_while_stopped_is_not_watched():
    v = nt.Variable(3.0)
    with nt.GradientTape() as tape, tape.stop_recording():
        v * v
    assert tape.watched_variables() == ()


def test_sr05_exception_leaves_the_block():
    v = nt.Variable(1.0)
    with nt.GradientTape() as tape:
        try:
            with tape.stop_recording():
                raise KeyError("x")
        except KeyError:
            pass
        z = 5 * v
    near(tape.gradient(z, v), 5.0)


def test_sr07_outer_goes_on():
    x = nt.tensor(2.0)
    with nt.GradientTape() as outer:
        outer.watch(x)
        with nt.GradientTape() as inner:
            inner.watch(x)
            with inner.stop_recording():
                y = x**3
    assert inner.gradient(y, x) is None
    near(outer.gradient(y, x), 12.0)


def test_sr08_gradient_taken_while_stopped():
    x = nt.tensor(2.0)
    with nt.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x**2
        with tape.stop_recording():
            d = tape.gradient(y, x)
        z = d * x
    near(tape.gradient(z, x), 4.0)


def test_stop_recording_on_an_inactive_tape():
    with pytest.raises(RuntimeError, match="not recording"), nt.GradientTape().stop_recording():
        pass


# -- stop_gradient ------------------------------------------------------------------------------------------------


def test_sg01(run):
    def f(x):
        with nt.GradientTape() as tape:
            tape.watch(x)
            y = x * nt.stop_gradient(x)
        return tape.gradient(y, x)

    near(run(f, np.float64(3.0)), 3.0)


def test_sg02():
    x = nt.tensor(3.0)
    with nt.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = nt.stop_gradient(x * x)
    assert tape.gradient(y, x) is None
    near(tape.gradient(y, x, unconnected_gradients="zero"), 0.0)


def test_sg04(run):
    def f(x):
        with nt.GradientTape() as outer:
            outer.watch(x)
            with nt.GradientTape() as inner:
                inner.watch(x)
                y = x**3
            z = nt.stop_gradient(inner.gradient(y, x)) * x
        return outer.gradient(z, x)

    near(run(f, np.float64(3.0)), 27.0)


def test_sg05_straight_through(run):
    def f(x):
        with nt.GradientTape() as tape:
            tape.watch(x)
            y = x + nt.stop_gradient(np.round(x) - x)
        return y, tape.gradient(y, x)

    y, g = run(f, np.array([1.2, 2.7]))
    near(y, [1.0, 3.0]), near(g, [1.0, 1.0])


def test_sg07_jitted_stop():
    h = nt.jit(lambda k: nt.stop_gradient(k**2))
    x = nt.tensor(3.0)
    with nt.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = h(x + 2)
    near(tape.gradient(y, x, unconnected_gradients="zero"), 0.0)
    assert tape.gradient(y, x) is None


def test_sg08_argmax_has_no_gradient():
    x = nt.tensor([1.0, 3.0, 2.0])
    with nt.GradientTape() as tape:
        tape.watch(x)
        y = nt.stop_gradient(np.argmax(x))
    assert tape.gradient(y, x) is None


def test_stop_gradient_takes_arrays_and_trees():
    tree = nt.stop_gradient({"a": np.ones(2), "b": nt.tensor(1.0)})
    near(tree["a"], [1.0, 1.0])


# -- persistent tapes -----------------------------------------------------------------------------------------------


def test_pe01():
    x = nt.tensor(3.0)
    with nt.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x**2
        z = y**2
    for target, source, want in [(z, x, 108.0), (y, x, 6.0), (z, y, 18.0), (z, x, 108.0)]:
        near(tape.gradient(target, source), want)


def test_pe02_gradients_inside_are_recorded():
    x = nt.tensor(3.0)
    with nt.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x**3
        first = tape.gradient(y, x)
        second = tape.gradient(first, x)
        third = tape.gradient(second, x)
    near(first, 27.0), near(second, 18.0), near(third, 6.0)


def test_pe04_all_methods_on_one_tape():
    x = nt.tensor(np.ones((2, 2)))
    with nt.GradientTape(persistent=True) as tape:
        tape.watch(x)
        y = x * x
    assert tape.gradient(y, x).shape == (2, 2)
    assert tape.jacobian(y, x).shape == (2, 2, 2, 2)
    assert tape.batch_jacobian(y, x).shape == (2, 2, 2)


def test_pe05_inner_flows_to_outer():
    x = nt.tensor(3.0)
    with nt.GradientTape(persistent=True) as outer:
        outer.watch(x)
        with nt.GradientTape() as inner:
            inner.watch(x)
            z = 2 * x**2
    near(outer.gradient(z, x), 12.0)
