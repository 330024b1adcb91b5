"""Keywords, methods and refusals of NumPy's functions on Tensors, and SciPy's functions that are known by name."""

import numpy as np
import pytest
import scipy.special
from recorded import check_eager, check_gradient, check_recorded, record

from numtape.tracer.numpy_api import FUNCTIONS, FUNCTIONS_BY_NAME, METHODS, UFUNCS, call_function
from numtape.tracer.ops import OPS
from numtape.tracer.tensor import Tensor, tensor
from numtape.tracer.values import has_traced

RNG = np.random.default_rng(8)
X = RNG.normal(size=(3, 4))


def in_place(f):
    def call(x):
        y = x * 1
        f(y)
        return y

    return call


METHOD_CALLS = {
    "sort": in_place(lambda y: y.sort(axis=0)),
    "partition": in_place(lambda y: y.partition(1, axis=0) or y.sort(axis=0)),
    "fill": in_place(lambda y: y.fill(2)),
    "put": in_place(lambda y: y.put([0, 2], [5.0, 6.0])),
    "argpartition": lambda x: np.take_along_axis(x, x.argpartition(0), axis=1)[:, 0],
    "astype": lambda x: x.astype("f4", casting="same_kind"),
    "clip": lambda x: (x.clip(0), x.clip(max=0.1), x.clip(-1, 1)),
    "conj": lambda x: (x.conj(), x.conjugate()),
    "copy": lambda x: x.copy(order="F"),
    "choose": lambda x: (x > 0).astype(int).choose([1.0, x]),
    "compress": lambda x: x.compress([True, False, True], axis=0),
    "diagonal": lambda x: x.diagonal(1),
    "dot": lambda x: x.dot(x.T),
    "flatten": lambda x: (x.flatten(), x.flatten("F")),
    "item": lambda x: (x.item(3), x.item(1, 2), x[:1, :1].item()),
    "tolist": lambda x: x.tolist(),
    "ravel": lambda x: (x.ravel(), x.ravel(order="F")),
    "reshape": lambda x: (x.reshape(4, 3), x.reshape((2, -1)), x.reshape(-1, order="F")),
    "repeat": lambda x: (x.repeat(2), x.repeat([1, 0, 2], axis=0)),
    "round": lambda x: x.round(1),
    "squeeze": lambda x: x[None].squeeze(0),
    "swapaxes": lambda x: x.swapaxes(0, 1),
    "take": lambda x: x.take([1, 1], axis=0, mode="clip"),
    "trace": lambda x: x.trace(),
    "transpose": lambda x: (x.transpose(), x.transpose(1, 0), x.transpose((1, 0)), x.transpose(None)),
    "searchsorted": lambda x: x[0].searchsorted(x[1]) * 0,
    "nonzero": lambda x: (x > 0).nonzero(),
    "argsort": lambda x: x.argsort(axis=None),
    "reductions": lambda x: (x.sum(1), x.prod(0), x.mean(), x.std(ddof=1), x.var(0), x.max(), x.min(1)),
    "truth": lambda x: (x.any(), (x > 0).all(axis=0, keepdims=True)),
    "positions": lambda x: (x.argmax(), x.argmin(axis=1), x.cumsum(1), x.cumprod(axis=0)),
}  # fmt: skip


@pytest.mark.parametrize("name", METHOD_CALLS)
def test_methods(name):
    f = METHOD_CALLS[name]
    check_eager(f, X)
    if name != "tolist":
        check_recorded(f, (X,), (X[:, ::-1].copy(),), (np.abs(X),))
    assert set(METHODS) >= {name} - {"reductions", "positions", "truth"}


UFUNC_CALLS = {
    "out": lambda x: np.multiply(x, 2, out=np.zeros_like(x)),
    "out by position": lambda x: np.multiply(x, 2, np.zeros_like(x)),
    "where": lambda x: np.log(x, out=np.ones_like(x), where=x > 0),
    "dtype": lambda x: np.add(x, 1, dtype=np.float32, casting="unsafe"),
    "casting": lambda x: np.add(x, 1, casting="same_kind"),
    "order": lambda x: np.add(x, 1, order="F", subok=False),
    "two results": lambda x: np.divmod(x, 0.5, out=(np.zeros_like(x), np.zeros_like(x))),
    "outer": lambda x: np.multiply.outer(x[0], x),
    "reduce": lambda x: np.add.reduce(x, axis=(0, 1), keepdims=True, initial=1.0, where=x > 0),
    "reduce dtype": lambda x: np.multiply.reduce(x, axis=0, dtype=np.float32),
    "reduce max": lambda x: np.maximum.reduce(x, axis=1, initial=0.0),
    "logaddexp.reduce": lambda x: np.logaddexp.reduce(x, axis=1),
    "accumulate": lambda x: np.add.accumulate(x, axis=1, dtype=np.float64),
    "signbit": lambda x: np.signbit(x * np.array(0.0)) if isinstance(x, np.ndarray) else np.signbit(x * 0.0),
    "fmin": lambda x: np.fmin(np.where(x > 0, np.nan, x), 0.1),
    "fabs": lambda x: np.fabs(x),
    "tensordot list": lambda x: np.tensordot(x, x, axes=[[1], [1]]),
}  # fmt: skip


@pytest.mark.parametrize("name", UFUNC_CALLS)
def test_ufunc_keywords_and_methods(name):
    check_eager(UFUNC_CALLS[name], X)
    check_eager(UFUNC_CALLS[name], X.astype(np.float32))


REFUSED = {
    "order": (lambda x: np.reshape(x, -1, order="A"), TypeError, "order='A' is not supported.*\n.*order='C'"),
    "pad mode": (lambda x: np.pad(x, 1, mode="linear_ramp"), TypeError, "mode='linear_ramp'"),
    "where without out": (lambda x: np.log(x, where=x > 0), TypeError, "where= without out="),
    "plain out": (lambda x: np.add(x, 1, out=np.zeros((3, 4))), TypeError, "pass a Tensor"),
    "raw factors": (lambda x: np.linalg.qr(x, "raw"), TypeError, "mode='raw'"),
    "weights": (lambda x: np.quantile(x, 0.5, weights=x), TypeError, "weights="),
    "nanmedian": (np.nanmedian, TypeError, "varying number of elements"),
    "reduceat": (lambda x: np.add.reduceat(x, [0, 1]), TypeError, "np.add.reduceat"),
    "maximum.accumulate": (lambda x: np.maximum.accumulate(x), TypeError, "np.add.accumulate"),
    "multiply.at": (lambda x: np.multiply.at(x, [0], 2.0), TypeError, "np.multiply.at"),
    "ufunc": (lambda x: np.ldexp(x, 2), TypeError, "the ufunc ldexp has no recorded form"),
    "copyto": (lambda x: np.copyto(np.zeros((3, 4)), x), TypeError, "plain ndarray"),
    "insert places": (lambda x: np.insert(x, np.argmax(x, axis=0), 1.0), TypeError, "traced positions"),
    "complex": (lambda x: x.astype(complex), TypeError, "[Cc]omplex"),
    "matmul scalar": (lambda x: np.matmul(x, 2.0), ValueError, "does not have enough dimensions"),
    "inner sizes": (lambda x: x @ x, ValueError, r"inner sizes differ: shapes \(3,4\) and \(3,4\)"),
    "reshape": (lambda x: x.reshape(5, -1), ValueError, r"cannot reshape array of size 12 into shape \(5,newaxis\)"),
    "axis": (lambda x: np.sum(x, axis=2), np.exceptions.AxisError, "axis 2 is out of bounds"),
    "einsum label": (lambda x: np.einsum("ij->k", x), ValueError, "never appeared in an input"),
    "einsum rank": (lambda x: np.einsum("ijk", x), ValueError, "too many subscripts"),
    "einsum sizes": (lambda x: np.einsum("ij,ij", x, x.T), ValueError, "index 'i' has sizes 3 and 4"),
    "concatenate": (lambda x: np.concatenate([x, x.T]), ValueError, "must match exactly"),
    "stack": (lambda x: np.stack([x, x.T]), ValueError, "same shape"),
    "split": (lambda x: np.split(x, 2), ValueError, "equal division"),
    "nested": (lambda x: np.max(x, where=x > 0), ValueError, "specify 'initial'"),
}  # fmt: skip


@pytest.mark.parametrize("name", REFUSED)
def test_what_is_refused_says_so(name):
    f, kind, text = REFUSED[name]
    with pytest.raises(kind, match=text):
        f(tensor(X))


def test_unknown_functions():
    t = tensor(X)
    # nothing records: the plain numbers are all there is
    np.testing.assert_array_equal(np.unique(t), np.unique(X))
    assert np.array_repr(t) == np.array_repr(X)
    with pytest.raises(TypeError, match="np.unique has no recorded form"):
        record(lambda x: np.unique(x), X)


def test_tables_hold_functions_and_no_row_twice():
    assert all(callable(f) and callable(h) for f, h in FUNCTIONS.items())
    assert not set(UFUNCS) & {name for name, row in OPS.items() if row.elementwise}


def by_name(name):
    """SciPy's function on plain arrays, the recorded one on Tensors."""
    function = getattr(scipy.special, name)

    def call(*args, **kwargs):
        return (
            call_function(function, args, kwargs)
            if has_traced([args, list(kwargs.values())])
            else function(*args, **kwargs)
        )

    return call


logsumexp, softmax, log_softmax = map(by_name, ("logsumexp", "softmax", "log_softmax"))
SPECIAL = {
    "logsumexp": lambda x: logsumexp(x),
    "logsumexp axis": lambda x: logsumexp(x, axis=1, keepdims=True),
    "logsumexp b": lambda x: logsumexp(x, axis=0, b=x * x),
    "logsumexp sign": lambda x: logsumexp(x, axis=1, b=-x, return_sign=True),
    "softmax": lambda x: softmax(x, axis=-1),
    "log_softmax": lambda x: log_softmax(x, axis=0),
    "xlogy": lambda x: scipy.special.xlogy(x * x, x * x + 1),
    "entr": lambda x: scipy.special.entr(x * x),
    "rel_entr": lambda x: scipy.special.rel_entr(x * x, x * x + 1),
    "expit": lambda x: (scipy.special.expit(x), scipy.special.log_expit(x)),
    "erf": lambda x: scipy.special.erf(x),
    "logit": lambda x: scipy.special.logit(1 / (1 + x * x) * 0.9),
}  # fmt: skip


@pytest.mark.parametrize("name", SPECIAL)
def test_special_functions(name):
    check_eager(SPECIAL[name], X)
    check_recorded(SPECIAL[name], (X,), (X[:2],), (X[:, :1],))
    check_gradient(SPECIAL[name], X)
    assert ("scipy.special", "logsumexp") in FUNCTIONS_BY_NAME


def test_logsumexp_at_infinities():
    inf = np.inf
    for row in ([inf, 1], [-inf, 1], [-inf, -inf], [inf, -inf], [1000.0, 1000.0], [-1000.0, -1001.0], [np.nan, 1]):
        check_eager(lambda x: logsumexp(x), np.array(row))
    check_eager(lambda x: logsumexp(x, b=[0.0, 1.0]), np.array([inf, 2.0]))


def test_stacked_lists():
    def f(x):
        return np.array([x[0, 0], 2, x[1, 1] * 3]) if isinstance(x, np.ndarray) else np.stack([x[0, 0], 2, x[1, 1] * 3])

    check_eager(f, X)
    check_gradient(f, X)
    np.testing.assert_array_equal(np.add(tensor(X), [[1, 2, 3, 4]]).numpy(), np.add(X, [[1, 2, 3, 4]]))
    assert isinstance(np.where([True, False, True, True], tensor(X), 0), Tensor)


def test_repeats_that_are_traced():
    x = np.arange(3.0)
    samples = [(x, np.array(r)) for r in ([1, 2, 0], [0, 0, 0], [3, 1, 1])]
    assert check_recorded(lambda x, r: np.repeat(x, r), *samples) == 1
    for x, r in samples:
        check_eager(lambda x, r: np.repeat(x, r), x, r)
    check_gradient(lambda x, r: np.repeat(x, r), x, np.array([2, 0, 1]))


def test_insert_and_delete():
    for f in (
        lambda x: np.insert(x, 1, 5.0, axis=0),
        lambda x: np.insert(x, [0, 2], [1.0, 2.0]),
        lambda x: np.insert(x, 1, x[0], axis=0),
        lambda x: np.insert(x, -1, x[:, 0], axis=1),
        lambda x: np.insert(x, slice(0, 2), 9.0, axis=1),
        lambda x: np.delete(x, 1, axis=0),
        lambda x: np.delete(x, [0, -1], axis=1),
        lambda x: np.delete(x, slice(None, None, 2)),
    ):
        check_eager(f, X)
        check_gradient(f, X)


def test_places():
    for f in (
        lambda x: np.ix_([0, 2], [1, 3]) and x[np.ix_([0, 2], [1, 3])],
        lambda x: np.tril_indices_from(x),
        lambda x: np.triu_indices_from(x, 1),
        lambda x: np.unravel_index(np.argmax(x), x.shape),
        lambda x: np.ravel_multi_index(np.nonzero(x > 0), x.shape),
        lambda x: np.apply_along_axis(lambda row: row * row.sum(), 0, x),
        lambda x: np.apply_along_axis(np.sum, 1, x),
        lambda x: np.apply_over_axes(np.sum, x, [0, 1]),
        lambda x: np.piecewise(x, [x < 0, x > 1], [lambda v: v * v, 2.0]),
        lambda x: np.astype(x, np.float32),
        lambda x: np.broadcast_shapes((1, 4), x.shape),
    ):
        check_eager(f, X)
