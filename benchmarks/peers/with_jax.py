"""JAX with float64, the programs with `jax.numpy`; arrays on the device, or NumPy's in and out."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax.scipy import special

from . import Function, Peer


class Jax(Peer):
    packages = ("jax", "jaxlib")
    names = {"np": jnp, "erf": special.erf, "logsumexp": special.logsumexp}  # noqa: RUF012

    def differentiate(self, f: Function, wrt: tuple[int, ...], args: tuple[Any, ...]) -> Function:
        compiled = jax.jit(jax.value_and_grad(f, wrt) if wrt else f)
        return lambda *args: jax.block_until_ready(compiled(*args))

    def native(self, data: tuple[Any, ...]) -> tuple[Any, ...]:
        return tuple(jnp.asarray(x) for x in data)


class JaxOnNumPy(Jax):
    def differentiate(self, f: Function, wrt: tuple[int, ...], args: tuple[Any, ...]) -> Function:
        compiled = jax.jit(jax.value_and_grad(f, wrt) if wrt else f)

        def call(*args: Any) -> Any:
            return jax.tree.map(np.asarray, compiled(*args))

        return call

    def native(self, data: tuple[Any, ...]) -> tuple[Any, ...]:
        return data
