"""LightRec's distillation: quantised items are held to what the vectors of the start said.

1/2 sum_i w_i mean_u (u.q_i - u0.v_i)^2 over all users and items, sum w = 1. Its gradients only need
matrices of D x D, so none of the users is left out.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from xorec.models.hashing.lightrec_encoder import Array


@dataclass(frozen=True, eq=False)
class Teacher:
    """The vectors of the start: users U0 (n, D), items V (m, D); weights w (m,) of the items."""

    users: Array
    items: Array
    weights: Array

    def gradients(self, users: Array, items: Array) -> tuple[float, Array, Array]:
        """The value, and its gradients at users and items."""
        U0, V, U, Q, w = self.users, self.items, users, items, self.weights[:, None]
        n = U.dtype.type(len(U))
        target = V @ (U0.T @ U / n)
        at_items = Q @ (U.T @ U / n) - target
        at_users = (U @ (Q.T @ (w * Q)) - U0 @ (V.T @ (w * Q))) / n
        error = np.sum(w * (Q * (at_items - target) + V * (V @ (U0.T @ U0 / n))))
        return float(error) / 2, at_users, w * at_items
