"""Named tuples and dataclasses made anew, with None and texts in them."""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

import numtape as nt


class Pair(NamedTuple):
    a: object
    b: object


@dataclass
class Config:
    w: np.ndarray
    name: str
    rest: object = None


@nt.jit
def used(pair, config):
    return pair.a * config.w + pair.b[0] if config.name == "first" and config.rest is None else pair.a


for n in (2, 1, 4):
    found = used(Pair(np.ones(n), [2.0]), Config(np.full(n, 3.0), "fir" + "st"))
    np.testing.assert_array_equal(found, np.full(n, 5.0))
