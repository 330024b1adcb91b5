"""`stop_gradient`: the identity that no derivative passes through."""

from __future__ import annotations

from typing import Any

import numpy as np
import optree

from .values import emit, is_traced


def stop_gradient(x: Any) -> Any:
    """Return `x` as a constant to every derivative.

    Parameters
    ----------
    x : array, Tensor, number or tree of them
        Arrays and numbers come back as they are: they carry no derivatives.

    Examples
    --------
    >>> import numpy as np
    >>> import numtape as nt
    >>> nt.grad(lambda x: np.sum(x * nt.stop_gradient(x)))(np.array([3.0]))
    array([3.])
    """
    if is_traced(x):
        return emit("stop_gradient", x)
    if isinstance(x, np.ndarray | np.generic | int | float):
        return x
    return optree.tree_map(lambda leaf: emit("stop_gradient", leaf) if is_traced(leaf) else leaf, x)
