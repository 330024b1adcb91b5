"""Compiled methods on new objects: with slots, frozen, with properties, inherited, and ones that ask who they are."""

from dataclasses import dataclass

import numpy as np

import numtape as nt


class Slotted:
    __slots__ = ("k", "w")

    def __init__(self, k):
        self.k, self.w = k, np.full(2, k)

    @nt.jit
    def value(self, x):
        return x * self.w * self.k


@dataclass(frozen=True)
class Frozen:
    k: float

    @property
    def twice(self):
        return self.k * 2

    @nt.jit
    def value(self, x):
        return x * self.twice


class Base:
    def __init__(self, k):
        self.k = k

    @nt.jit
    def value(self, x):
        return self.act(x) * self.k

    @nt.jit
    def apart(self, other, x):
        return x * 0 if self is other else x * (self.k - other.k)


class Derived(Base):
    def act(self, x):
        return x + self.k


x = np.ones(2)
for k in (1.0, 2.0, 3.0):
    for made, want in ((Slotted(k), k * k), (Frozen(k), 2 * k), (Derived(k), (1 + k) * k)):
        np.testing.assert_array_equal(made.value(x), np.full(2, want))
one, two = Base(1.0), Base(3.0)
assert one.apart(two, x)[0] == -2.0 and two.apart(one, x)[0] == 2.0
assert one.apart(one, x)[0] == 0.0  # retrace: STATIC_VALUE
assert two.apart(two, x)[0] == 0.0 and two.apart(one, x)[0] == 2.0
