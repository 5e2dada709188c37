"""The two terms of a triplet's loss, as functions of one of its codes.

Each term of the loss (the form "triplet") is l(t), and t is linear in any one code z of its
triplet: t = w.z + s. Here are the numbers that make w and s; `bound_kernels` makes of them the
quadratic bound on the loss of a user or an item, z'Az + c'z + constant.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from xorec.training.losses.scale_invariant import Margin, margin_offset


def role_tables(
    bits: int, *, temperature: float, gamma: float = 1.0, margin: Margin = "paper"
) -> npt.NDArray[np.float64]:
    """The numbers that make w and s in each role, (3, 2, 4): role, term (x, y), coefficient.

    A triplet has two codes beside the block z. Call them p and q:

        user:      z = b_u,  p = d_j,  q = d_i
        positive:  z = d_i,  p = d_j,  q = b_u
        negative:  z = d_j,  p = b_u,  q = d_i

    Then t = t0 z.p + t1 z.q + t2 p.q + t3: w = t0 p + t1 q and s = t2 p.q + t3. The margin is in
    t3, the temperature in all of y's.
    """
    half, tau = 1 / (2 * bits), temperature / bits
    near, far = tau * (1 + gamma**2), tau * 2 * gamma**2
    offset = temperature * margin_offset(gamma, margin)
    return np.array(
        [
            [[half, -half, 0, 0], [far, -near, far, offset]],
            [[0, -half, half, 0], [far, -near, far, offset]],
            [[half, 0, -half, 0], [far, far, -near, offset]],
        ]
    )
