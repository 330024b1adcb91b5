"""Eight threads make the first call of one function, each with its own length."""

from concurrent.futures import ThreadPoolExecutor

import numpy as np

import numtape as nt

slope = nt.grad(lambda x, k: np.sum(np.sin(x) * k))


def work(n):
    x = np.linspace(0, 1, n)
    return np.allclose(slope(x, n), np.cos(x) * n)


with ThreadPoolExecutor(8) as pool:
    assert all(pool.map(work, range(2, 40)))
