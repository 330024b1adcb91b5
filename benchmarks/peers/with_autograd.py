"""autograd: the programs with `autograd.numpy`, traced anew in each call."""

from __future__ import annotations

from typing import Any

import autograd
import autograd.numpy as anp
import autograd.scipy.special as special

from . import Function, Peer


class Autograd(Peer):
    packages = ("autograd",)
    names = {"np": anp, "erf": special.erf, "logsumexp": special.logsumexp}  # noqa: RUF012

    def differentiate(self, f: Function, wrt: tuple[int, ...], args: tuple[Any, ...]) -> Function:
        return autograd.value_and_grad(f, wrt) if wrt else f
