"""An int that was marked as static."""

import numpy as np

import numtape as nt

marked = nt.jit(lambda x, k: x**k, static="k")
marked(np.ones(3), 2)
marked(np.ones(3), 3)  # retrace: STATIC_VALUE of k, 2 → 3; Each value is traced once
plain = nt.jit(lambda x, k: x**k)
plain(np.ones(3), 2)
plain(np.ones(3), 3)
