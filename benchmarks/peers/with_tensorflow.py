"""tf.function over the programs, with TensorFlow's functions under NumPy's names; gradients by a tape inside."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import tensorflow as tf

from . import Function, Peer, counted

tf.config.threading.set_intra_op_parallelism_threads(1)
tf.config.threading.set_inter_op_parallelism_threads(1)

NAMES = SimpleNamespace(
    **{name: getattr(tf, name) for name in ("exp", "sin", "tanh", "sqrt", "maximum")},
    log=tf.math.log,
    log1p=tf.math.log1p,
    sum=tf.reduce_sum,
    mean=tf.reduce_mean,
    max=tf.reduce_max,
    dot=tf.linalg.matvec,  # the only use in the programs
    logaddexp=lambda zero, x: tf.math.softplus(x),  # the only use in the programs
    concatenate=lambda parts: tf.concat(parts, 0),
    zeros=lambda n: tf.zeros(n, tf.float64),
)


class TensorFlow(Peer):
    packages = ("tensorflow",)
    growing_ways = ("", "reduce_retracing")
    xla = False
    names = {  # noqa: RUF012
        "np": NAMES,
        "erf": tf.math.erf,
        "logsumexp": tf.reduce_logsumexp,
        "picked": lambda scores, labels: tf.gather(scores, labels, batch_dims=1),
    }

    def differentiate(
        self, f: Function, wrt: tuple[int, ...], args: tuple[Any, ...], reduce_retracing: bool = False
    ) -> Function:
        def both(*args: Any) -> Any:
            watched = [args[i] for i in wrt]
            with tf.GradientTape() as tape:
                tape.watch(watched)
                value = f(*args)
            return value, tuple(tf.convert_to_tensor(g) for g in tape.gradient(value, watched))

        options = {"autograph": False, "jit_compile": self.xla or None, "reduce_retracing": reduce_retracing}
        return tf.function(both if wrt else f, **options)

    def native(self, data: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(tf.convert_to_tensor(x) for x in data)

    def versions(self) -> dict[str, str]:
        return {"tensorflow": tf.__version__}  # the package may also be tensorflow-cpu

    def growing(self, way: str) -> tuple[Function, Callable[[], int]]:
        f, traces = counted(self.program("moving_average"))
        return self.differentiate(f, (0,), (), reduce_retracing=bool(way)), traces


class WithXLA(TensorFlow):
    xla = True
