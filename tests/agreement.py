"""How closely a compiled graph has to agree with the interpreter."""

import numpy as np

from numtape.tracer.evaluate import GuardFailed, evaluate, evaluate_node

SUMS = ("sum", "matmul", "scatter_add", "prod", "cumsum")


def interpret(graph, inputs):
    """What the interpreter gives; the exception where NumPy raises, or a guard doesn't hold."""
    with np.errstate(all="ignore"):
        try:
            return evaluate(graph, inputs)
        except (GuardFailed, IndexError, ValueError, ZeroDivisionError) as error:
            return error


def assert_refused(status, error):
    """The status of a compiled graph where the interpreter raises."""
    if isinstance(error, GuardFailed):
        assert status == error.index + 1
    else:
        assert status < 0, f"status {status}, and the interpreter raises {error!r}"


def assert_close(got, want, tolerance, scale=None, what=""):
    """Equal dtype, shape and kind of value; floats to within a tolerance relative to the larger of value and scale."""
    assert type(got) is type(want), f"{what}: {type(got).__name__} instead of {type(want).__name__}"
    got, want = np.asarray(got), np.asarray(want)
    assert got.dtype == want.dtype, f"{what}: {got.dtype} instead of {want.dtype}"
    assert got.shape == want.shape, f"{what}: shape {got.shape} instead of {want.shape}"
    if want.dtype.kind != "f":
        np.testing.assert_array_equal(got, want, err_msg=what)
        return
    with np.errstate(all="ignore"):
        room = np.maximum(np.abs(want), 0 if scale is None else scale)
        same = (got == want) | (np.isnan(got) & np.isnan(want)) | (np.abs(got - want) <= tolerance(room))
        # a sum that overflows on the way does so in one order of its terms, and not in another
        same |= ~np.isfinite(room) if scale is not None else False
    assert same.all(), f"{what}: {got[~same][:3]} instead of {want[~same][:3]}"


def ulps(number):
    def tolerance(room):
        return number * np.spacing(room)

    return tolerance


def relative(bound):
    def tolerance(room):
        return bound * np.maximum(room, 1e-3)

    return tolerance


def assert_each_node_agrees(graph, inputs, outputs):
    """Compare each node that is an output with what NumPy makes of the compiled values of its arguments: to 4 ulp."""
    values = dict(zip(graph.outputs, outputs, strict=True)) | dict(enumerate(inputs))
    sizes = {}
    for name, value in zip(graph.names, inputs, strict=True):
        sizes |= {f"{name}.{axis}": size for axis, size in enumerate(np.shape(value))}
    with np.errstate(all="ignore"):
        for index in range(len(graph.names), len(graph.nodes)):
            node = graph.nodes[index]
            args = [values[a] for a in node.args]
            want = evaluate_node(node, args, sizes)
            if index not in graph.outputs:
                values[index] = want
                continue
            scale = None
            if node.op in SUMS:  # errors are relative to what is added up
                positive = [np.abs(a) if np.asarray(a).dtype.kind == "f" else a for a in args]
                scale = np.abs(evaluate_node(node, positive, dict(sizes)))
            assert_close(values[index], want, ulps(4), scale, f"%{index} = {node.op}")
