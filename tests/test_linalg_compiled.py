"""Linear algebra in compiled functions, transforms and tapes; what is known of matrices at their kinks."""

import numpy as np
import pytest
import scipy.linalg as sl
from numpy.testing import assert_allclose, assert_array_equal
from recorded import record
from test_linalg import ANY, SQUARE, differences, matrix, normal, positive, signless

import numtape as nt
from numtape.compiler.gradient import value_and_grad, vjp
from numtape.tracer.graph import live_nodes

# each test makes a function of its own, on the same lines
pytestmark = pytest.mark.filterwarnings("ignore::numtape.RetraceWarning")
A = np.array
I2 = np.eye(2)

# -- compiled, differentiated ------------------------------------------------------------------------------------------

FUNCTIONS = SQUARE | ANY


def total(function):
    """A smooth number made of all that a function returns."""

    def summed(x):
        parts = function(x)
        return sum(np.sum(np.sin(p * 1.3 + 0.4)) for p in (parts if isinstance(parts, tuple) else (parts,)))

    return summed


@pytest.mark.parametrize("name", FUNCTIONS)
def test_compiled(name):
    """A function that was compiled for one length serves the others; so does its gradient."""
    f = total(FUNCTIONS[name])
    value, gradient = nt.jit(f), nt.grad(f)
    for shape in ((3, 3), (2, 2), (4, 4)):
        x = matrix(shape, 5)
        assert_allclose(value(x), f(x), rtol=1e-9)
        assert_allclose(gradient(x), differences(f, x)[0], rtol=2e-5, atol=2e-6)
        assert value.stats.traces == gradient.stats.traces == 1
    for shape in ((3, 3), (4, 4)):
        x = matrix(shape, 5)
        single = gradient(x.astype(np.float32))
        assert single.dtype == np.float32
        assert_allclose(single, gradient(x), rtol=2e-2, atol=2e-2)


@pytest.mark.parametrize("name", FUNCTIONS)
def test_by_tape(name):
    f = total(FUNCTIONS[name])
    x = matrix((3, 3), 5)
    t = nt.tensor(x)
    with nt.GradientTape() as tape:
        tape.watch(t)
        y = f(t)
    found = tape.gradient(y, t)
    if name.startswith(("rank", "matrix_rank")):
        assert found is None
    else:
        assert_allclose(found.numpy(), nt.grad(f)(x), rtol=1e-9, atol=1e-10)


SECOND = {
    "solve": lambda x: np.sum(np.sin(np.linalg.solve(x, x[:, 0]))),
    "det": lambda x: np.linalg.det(x),
    "slogdet": lambda x: np.linalg.slogdet(x)[1],
    "inv": lambda x: np.sum(np.linalg.inv(x) ** 2),
    "cholesky": lambda x: np.sum(np.linalg.cholesky(positive(x)) ** 3),
    "eigh": lambda x: np.sum(np.sin(signless(np.linalg.eigh(positive(x))[1]))),
    "eigvalsh": lambda x: np.sum(np.sin(np.linalg.eigvalsh(positive(x)))),
    "svd": lambda x: np.sum(np.sin(np.linalg.svd(x)[1])),
    "qr": lambda x: np.sum(np.sin(np.linalg.qr(x)[0])),
    "pinv": lambda x: np.sum(np.sin(np.linalg.pinv(x[:, :2]))),
    "lstsq": lambda x: np.sum(np.sin(np.linalg.lstsq(x[:, :2], x[:, 2])[0])),
    "norm nuc": lambda x: np.linalg.norm(x, "nuc"),
    "expm": lambda x: np.sum(np.sin(sl.expm(x * 0.3))),
}  # fmt: skip


@pytest.mark.parametrize("name", SECOND)
def test_second_order(name):
    """The Hessian is symmetric, and the differences of the gradient."""
    f, x = SECOND[name], matrix((3, 3), 2)
    gradient = nt.grad(f)
    found = nt.hessian(nt.jit(f))(x)
    assert_allclose(found, np.transpose(found, (2, 3, 0, 1)), rtol=1e-8, atol=1e-8)
    for place in np.ndindex(3, 3):
        step = np.zeros((3, 3))
        step[place] = 1e-6
        want = (gradient(x + step) - gradient(x - step)) / 2e-6
        assert_allclose(found[place], want, rtol=1e-5, atol=1e-6 * max(1, np.abs(found).max()))


def test_jacobians():
    a, b = matrix((3, 3)), normal(3)
    for mode in ("forward", "reverse"):
        to_a, to_b = nt.jacobian(nt.jit(lambda a, b: np.linalg.solve(a, b)), (0, 1), mode=mode)(a, b)
        inverse, x = np.linalg.inv(a), np.linalg.solve(a, b)
        assert_allclose(to_b, inverse, rtol=1e-10)
        assert_allclose(to_a, -np.einsum("ij,k->ijk", inverse, x), rtol=1e-10)


def test_jacobians_with_kernels():
    a, b = matrix((3, 3)), normal(3)
    assert_allclose(nt.jacobian(lambda b: np.linalg.solve(a, b))(b), np.linalg.inv(a), rtol=1e-10)


def test_forward_and_reverse_agree():
    x, step, weight = matrix((3, 3)), normal(3, 3, seed=1), normal(3, seed=2)

    def f(x):
        return np.linalg.solve(x, np.linalg.eigvalsh(x @ x.T))

    _, pushed = nt.jvp(f, (x,), (step,))
    _, pull = nt.vjp(f, x)
    pulled = pull(weight)
    assert_allclose(np.sum(pushed * weight), np.sum((pulled[0] if isinstance(pulled, tuple) else pulled) * step))


def test_one_factorization_serves_values_and_derivatives():
    def f(a, b):
        return np.sum(np.linalg.solve(a, b) ** 2) + np.linalg.slogdet(a)[1] + np.sum(np.linalg.inv(a) @ b)

    first = value_and_grad(record(f, matrix((3, 3)), normal(3)), [0])
    second = vjp(first, [0], outputs=[1])
    for graph, solved in ((first, 2), (second, 3)):
        live = live_nodes(graph)
        nodes = [node for node, needed in zip(graph.nodes, live, strict=True) if needed]
        assert [node.op for node in nodes].count("lu") == 1
        assert sum(node.op == "solve" for node in nodes) >= solved
        assert all(len(node.args) == 5 for node in nodes if node.op == "solve")
        assert all(len(node.args) == 4 for node in nodes if node.op == "inv")


def test_a_cholesky_factor_is_solved_with_again():
    def f(a, b):
        return np.sum(sl.cho_solve((np.linalg.cholesky(a), True), b))

    graph = value_and_grad(record(lambda a: np.sum(np.linalg.cholesky(a)), positive(matrix((3, 3)))), [0])
    ops = [node.op for node in graph.nodes]
    assert ops.count("cholesky") == 1 and ops.count("solve_triangular") == 2 and "inv" not in ops
    a, b = positive(matrix((3, 3))), normal(3)
    assert_allclose(nt.jit(f)(a, b), np.sum(np.linalg.solve(a, b)))


def test_compiled_code_lies_between_the_factorizations():
    f = nt.jit(lambda a, b: np.sum(np.exp(np.linalg.solve(np.sin(a) + 3 * a, np.tanh(b)))))
    a, b = matrix((3, 3)), normal(3)
    want = np.sum(np.exp(np.linalg.solve(np.sin(a) + 3 * a, np.tanh(b))))
    assert_allclose(f(a, b), want, rtol=1e-12)
    assert_allclose(f(np.asfortranarray(a), b), want, rtol=1e-12)
    assert f.stats.traces == 1


# -- known results -----------------------------------------------------------------------------------------------------

S = A([[4.0, 1.0], [1.0, 3.0]])
KNOWN = {
    "LA01": (lambda a: np.sum(np.linalg.inv(a)), A([[2.0, 1], [0, 4]]), A([[-0.1875, -0.125], [-0.046875, -0.03125]])),
    "LA02": (
        lambda a: np.sum(np.linalg.solve(a, A([1.0, 2.0]))), A([[2.0, 1], [0, 4]]),
        A([[-0.125, -0.25], [-0.03125, -0.0625]]),
    ),
    "LA04": (lambda a: np.linalg.det(a), np.zeros((3, 3)), np.zeros((3, 3))),
    "LA04 1 x 1": (lambda a: np.linalg.det(a), A([[0.0]]), A([[1.0]])),
    "LA05": (lambda a: np.log(np.abs(np.linalg.det(a))), A([[2.0, 1], [0, -4]]), A([[0.5, 0], [0.125, -0.25]])),
    "LA05 slogdet": (lambda a: np.linalg.slogdet(a)[1], A([[2.0, 1], [0, -4]]), A([[0.5, 0], [0.125, -0.25]])),
    "LA07": (lambda a: np.sum(np.linalg.eigvalsh(a) ** 2), S, 2 * S),
    "LA08": (lambda a: np.sum(np.linalg.eigvals(a)), I2, I2),
    "equal eigenvalues": (lambda a: np.sum(np.linalg.eigvalsh(a) ** 2), I2, 2 * I2),
    "equal eigenvalues of eigh": (lambda a: np.sum(np.linalg.eigh(a)[0] ** 3), 2 * np.eye(3), 12 * np.eye(3)),
    "projector on equal eigenvalues": (
        lambda a: np.sum((lambda v: v @ v.T)(np.linalg.eigh(a)[1]) ** 2), 2 * np.eye(3), np.zeros((3, 3)),
    ),
    "jax#8732": (lambda a: np.sum(np.linalg.svd(a)[1]), I2, I2),
    "equal singular values": (lambda a: np.sum(np.linalg.svd(a, compute_uv=False) ** 2), I2, 2 * I2),
    "spectral norm of equals": (lambda a: np.linalg.norm(a, 2), I2, I2 / 2),
    "det of rank 1": (lambda a: np.linalg.det(a), np.ones((2, 2)), A([[1.0, -1], [-1, 1]])),
    "solve of a masked one": (
        lambda a: np.where(a[0, 0] > 9, np.linalg.slogdet(a)[1], 1.0), np.zeros((2, 2)), np.zeros((2, 2)),
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", KNOWN)
def test_known_gradients(name):
    f, x, want = KNOWN[name]
    assert_allclose(nt.grad(f)(x), want, atol=1e-12)
    t = nt.tensor(x)
    with nt.GradientTape() as tape:
        tape.watch(t)
        y = f(t)
    assert_allclose(tape.gradient(y, t), want, atol=1e-12)


def test_eigenvalues_that_rounding_parts_are_equal():
    """Gaps of the size of rounding would blow up in what doesn't depend on the basis."""
    q = np.linalg.qr(normal(4, 4))[0]
    a = (q * [2.0, 2.0, 2.0, 5.0]) @ q.T
    a = (a + a.T) / 2

    def f(a):
        v = np.linalg.eigh(a)[1][:, :3]
        return np.sum((v @ v.T) * A([1.0, 2, 3, 4]))  # the projector on the equal ones

    gradient = nt.grad(f)(a)
    step = normal(4, 4, seed=3)
    step = step + step.T
    want = (f(a + 1e-5 * step) - f(a - 1e-5 * step)) / 2e-5
    assert_allclose(np.sum(gradient * step), want, rtol=1e-6)


def test_second_derivatives_at_equal_eigenvalues_are_nan_not_wrong():
    for f in (lambda a: np.sum(np.linalg.eigvalsh(a) ** 2), lambda a: np.sum(np.linalg.svdvals(a) ** 2)):
        found = nt.hessian(nt.jit(f))(I2)
        assert_allclose([found[0, 0, 0, 0], found[1, 1, 1, 1], found[0, 0, 1, 1]], [2, 2, 0], atol=1e-12)
        assert np.isnan(found[0, 1, 0, 1])


def test_third_derivatives_of_a_determinant():
    def f(t):
        return np.linalg.det(np.array([[t, 1.0, 0.0], [1.0, t * t, 1.0], [0.0, 2.0, t + 1.0]]))

    # t^4 + t^3 - 3 t - 1
    third = nt.grad(nt.grad(nt.grad(f)))
    assert_allclose(third(1.5), 24 * 1.5 + 6)


# -- errors ------------------------------------------------------------------------------------------------------------

ERRORS = {
    "solve": (lambda a: np.linalg.solve(a, np.ones(2)), np.ones((2, 2)), "Singular matrix"),
    "inv": (lambda a: np.linalg.inv(a), np.zeros((2, 2)), "Singular matrix"),
    "cholesky": (lambda a: np.linalg.cholesky(a), -I2, "not positive definite"),
    "triangular": (lambda a: sl.solve_triangular(a, np.ones(2)), A([[1.0, 1], [0, 0]]), "singular matrix.*diagonal 1"),
}  # fmt: skip


@pytest.mark.parametrize("name", ERRORS)
def test_linalg_errors(name):
    """NumPy's errors come at each call, those of a compiled function included."""
    f, bad, text = ERRORS[name]
    with pytest.raises(np.linalg.LinAlgError, match=text):
        nt.jit(f)(bad)
    compiled = nt.jit(f)
    compiled(2 * I2)
    for _ in range(2):
        with pytest.raises(np.linalg.LinAlgError, match=text):
            compiled(bad)
    assert_allclose(compiled(2 * I2), f(2 * I2))


def test_shapes_are_refused():
    for f, x, text in (
        (lambda a: np.linalg.inv(a), np.ones((2, 3)), "must be square"),
        (lambda a: np.linalg.det(a), np.ones(3), "1-dimensional array given"),
        (
            lambda a: np.linalg.solve(a, np.ones((4, 1))),
            np.eye(3),
            "solve: the matrix has 3 rows, the right side has shape",
        ),
        (lambda a: np.linalg.cond(a), np.ones((0, 0)), "not defined on empty"),
        (lambda a: sl.solve_banded((1, 1), a, np.ones(2)), np.ones((2, 2)), r"l\+u\+1 \(3\)"),
        (lambda a: np.linalg.eigh(a, "X"), I2, "UPLO"),
        (lambda a: sl.solve_triangular(a, np.ones(2), trans=3), I2, "trans"),
        (lambda a: sl.solve(a, np.ones(2), assume_a="banded"), I2, "assume_a='banded'"),
        (lambda a: sl.eigh(a, subset_by_index=[0, 0]), I2, "subset_by_index="),
        (lambda a: sl.qr(a, pivoting=True), I2, "pivoting=True"),
    ):
        with pytest.raises((ValueError, TypeError), match=text):
            nt.jit(f)(x)


def test_complex_eigenvalues():
    f = nt.jit(lambda a: np.linalg.eigvals(a))
    assert_array_equal(np.sort(f(np.diag([2.0, 1.0]))), [1, 2])
    for _ in range(2):
        with pytest.raises(TypeError, match="complex eigenvalues"):
            f(A([[0.0, -1], [1, 0]]))


def test_results_have_names():
    for f in (
        lambda a: np.linalg.slogdet(a).logabsdet, lambda a: np.linalg.eigh(a).eigenvectors,
        lambda a: np.linalg.qr(a).R, lambda a: np.linalg.svd(a).Vh, lambda a: np.linalg.eig(a).eigenvalues,
    ):  # fmt: skip
        assert_allclose(nt.jit(f)(S), f(S))
    assert type(nt.jit(lambda a: np.linalg.svd(a))(S)).__name__ == "SVDResult"
