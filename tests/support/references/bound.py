"""The quadratic bound on the loss, as a function of one code: z'Az + c'z + constant.

Each term of the loss (the form "triplet") is l(t), and t is linear in any one code z of its
triplet: t = w.z + s. Jaakkola and Jordan's bound makes it quadratic,

    l(t) <= p(xi) (t^2 - xi^2) + (t - xi)/2 + l(xi),        equal where t = +-xi,

so one rule gives every A and c, with omega the weight of the term (lambda times that for y):

    A += omega p(xi) w w'        c += omega (2 p(xi) s + 1/2) w

xi is phi for the term x and eta for the term y. `training.discrete.bounds` has the fast twin
of `assemble`. Codes are +-1, of d bits; T is the number of triplets that hold the block.
"""

from __future__ import annotations

from typing import Literal, NamedTuple, TypeAlias

import numpy as np
import numpy.typing as npt

from tests.support.references.logistic import curvature
from tests.support.references.scale_invariant import Floats
from xorec.core.errors import OptionError
from xorec.training.loss import Margin, logistic_loss, role_tables

Role: TypeAlias = Literal["user", "positive", "negative"]
ROLES: tuple[Role, ...] = ("user", "positive", "negative")
"""The order of the roles in `training.loss.role_tables`."""


class Terms(NamedTuple):
    """x = w_x.z + s_x and y = w_y.z + s_y for T triplets: w (T, d), s (T,)."""

    w_x: Floats
    s_x: Floats
    w_y: Floats
    s_y: Floats


def upper_bound(t: npt.ArrayLike, xi: npt.ArrayLike) -> Floats:
    """p(xi)(t^2 - xi^2) + (t - xi)/2 + l(xi): at least l(t), and l(t) itself at t = +-xi."""
    t, xi = np.asarray(t, dtype=np.float64), np.asarray(xi, dtype=np.float64)
    return np.asarray(curvature(xi) * (t * t - xi * xi) + (t - xi) / 2 + logistic_loss(xi))


def terms(
    role: Role,
    p: npt.ArrayLike,
    q: npt.ArrayLike,
    *,
    temperature: float,
    gamma: float = 1.0,
    margin: Margin = "paper",
) -> Terms:
    """w and s of a block in `role`, from the other two codes p, q (T, d) of each triplet.

    p and q are (d_j, d_i) for a user, (d_j, b_u) for a positive, (b_u, d_i) for a negative.
    """
    if role not in ROLES:
        raise OptionError(f"there is no role {role!r}: the roles are {', '.join(ROLES)}.")
    p, q = np.asarray(p, dtype=np.float64), np.asarray(q, dtype=np.float64)
    tables = role_tables(p.shape[-1], temperature=temperature, gamma=gamma, margin=margin)
    of_x, of_y = tables[ROLES.index(role)]
    product = np.sum(p * q, axis=-1)
    return Terms(
        of_x[0] * p + of_x[1] * q,
        of_x[2] * product + of_x[3],
        of_y[0] * p + of_y[1] * q,
        of_y[2] * product + of_y[3],
    )


def assemble(
    block: Terms,
    phi: npt.ArrayLike,
    eta: npt.ArrayLike,
    *,
    lambda_: float = 1.0,
) -> tuple[Floats, Floats, float]:
    """(A, c, constant) with z'Az + c'z + constant = the bound on the block's triplets, for all z.

    phi and eta (T,). A is symmetric and positive semidefinite. An item's A, c and
    constant are the sums of those of its two roles.
    """
    size = block.w_x.shape[-1]
    A, c, constant = np.zeros((size, size)), np.zeros(size), 0.0
    for w, s, point, omega in (
        (block.w_x, block.s_x, phi, 1.0),
        (block.w_y, block.s_y, eta, lambda_),
    ):
        xi = np.asarray(point, dtype=np.float64)
        p = curvature(xi)
        A += (w * (omega * p)[:, None]).T @ w
        c += (omega * (2 * p * s + 0.5)) @ w
        constant += float(omega * upper_bound(s, xi).sum())
    return (A + A.T) / 2, c, constant
