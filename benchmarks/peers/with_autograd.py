"""autograd: the programs with `autograd.numpy`, traced anew in each call."""

from __future__ import annotations

from typing import Any

import autograd
import autograd.numpy as anp

from ..workloads import program
from . import Function, Peer


class Autograd(Peer):
    packages = ("autograd",)

    def program(self, name: str, file: str = "programs") -> Function:
        names = {"np": anp}
        if file == "programs_scipy":  # importing it imports SciPy, which the other programs need not wait for
            from autograd.scipy import special

            names |= {"erf": special.erf, "logsumexp": special.logsumexp}
        return program(name, file, **names)

    def differentiate(self, f: Function, wrt: tuple[int, ...], args: tuple[Any, ...]) -> Function:
        return autograd.value_and_grad(f, wrt) if wrt else f
