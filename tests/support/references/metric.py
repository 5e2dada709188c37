"""The losses of CML and SML over triplets (user, positive, negative): values and gradients.

D is a squared Euclidean distance. Rows have P pairs of user and positive, each with K negatives:
b (P, D), d_pos (P, D), d_neg (P, K, D).

CML (Hsieh et al. 2017), of each pair, with j* the nearest of its negatives:
    w [margin + D_ui - D_uj*]_+,    w = log(1 + n_items V / K),    V = how many of the K negatives
    come nearer than the margin allows. w estimates the rank of i and counts as a constant.
    Beside it, over all rows of users and items, the squares of their covariances.

SML (Li et al. 2020), of each triplet, with margins m_u and n_i that are learned:
    [D_ui - D_uj + m_u]_+  +  lambda [D_ui - D_ij + n_i]_+  -  r_u m_u  -  r_i n_i
    r_u, r_i: what a margin earns (`SMLConfig.rewards`). m_u stands still where the
    share r_u of the user's triplets violate it, n_i where the share r_i / lambda of the item's do.
"""

from __future__ import annotations

from typing import TypeAlias

import numpy as np
import numpy.typing as npt

Floats: TypeAlias = npt.NDArray[np.float64]


def rank_weights(
    b: npt.ArrayLike, d_pos: npt.ArrayLike, d_neg: npt.ArrayLike, *, margin: float, n_items: int
) -> Floats:
    """w of each pair, (P,): log(1 + n_items * share of its negatives inside the margin)."""
    near, far = _distances(b, d_pos), _distances(np.asarray(b)[:, None], d_neg)
    share = np.mean(margin + near[:, None] - far > 0, axis=1)
    return np.asarray(np.log1p(n_items * share))


def cml_values(
    b: npt.ArrayLike,
    d_pos: npt.ArrayLike,
    d_neg: npt.ArrayLike,
    *,
    margin: float,
    n_items: int,
    rank_weight: bool = True,
) -> Floats:
    """The loss of each pair with its K negatives: (P,)."""
    nearest = _distances(np.asarray(b)[:, None], d_neg).min(axis=1)
    hinge = np.maximum(0, margin + _distances(b, d_pos) - nearest)
    if rank_weight:
        hinge *= rank_weights(b, d_pos, d_neg, margin=margin, n_items=n_items)
    return np.asarray(hinge)


def cml_gradients(
    b: npt.ArrayLike,
    d_pos: npt.ArrayLike,
    d_neg: npt.ArrayLike,
    *,
    margin: float,
    n_items: int,
    rank_weight: bool = True,
) -> tuple[Floats, Floats, Floats]:
    """(g_u, g_i, g_j) in b (P, D), d_pos (P, D) and d_neg (P, K, D): w is held fixed.

    u: 2w (d_j* - d_i)    i: 2w (d_i - b_u)    j*: 2w (b_u - d_j*)    where the hinge is active.
    """
    user, positive, negative = (np.asarray(rows, dtype=np.float64) for rows in (b, d_pos, d_neg))
    far, pairs = _distances(user[:, None], negative), np.arange(len(user))
    hardest = far.argmin(axis=1)
    weight = 2.0 * (margin + _distances(user, positive) - far[pairs, hardest] > 0)
    if rank_weight:
        weight *= rank_weights(user, positive, negative, margin=margin, n_items=n_items)
    chosen, weight = negative[pairs, hardest], weight[:, None]
    of_negatives = np.zeros_like(negative)
    of_negatives[pairs, hardest] = weight * (user - chosen)
    return weight * (chosen - positive), weight * (positive - user), of_negatives


def covariance_penalty(rows: npt.ArrayLike) -> float:
    """sum over a != b of C_ab^2, C = X'X / N the covariance of the N rows."""
    return float(np.sum(_off_diagonal(_centred(rows)) ** 2))


def covariance_gradient(rows: npt.ArrayLike) -> Floats:
    """The gradient of the penalty in the rows, (N, D): 4/N X C without C's diagonal."""
    centred = _centred(rows)
    return 4 / len(centred) * centred @ _off_diagonal(centred)


def sml_values(
    b: npt.ArrayLike,
    d_pos: npt.ArrayLike,
    d_neg: npt.ArrayLike,
    user_margins: npt.ArrayLike,
    item_margins: npt.ArrayLike,
    *,
    lambda_: float,
    rewards: tuple[float, float],
) -> Floats:
    """The loss of each pair, summed over its K negatives: (P,). Margins are those of the pairs."""
    of_user, of_item = _hinges(b, d_pos, d_neg, user_margins, item_margins)
    both = np.maximum(0, of_user) + lambda_ * np.maximum(0, of_item)
    earned = rewards[0] * np.asarray(user_margins) + rewards[1] * np.asarray(item_margins)
    return np.asarray(both.sum(axis=1) - both.shape[1] * earned)


def sml_gradients(
    b: npt.ArrayLike,
    d_pos: npt.ArrayLike,
    d_neg: npt.ArrayLike,
    user_margins: npt.ArrayLike,
    item_margins: npt.ArrayLike,
    *,
    lambda_: float,
    rewards: tuple[float, float],
) -> tuple[Floats, Floats, Floats, Floats, Floats]:
    """(g_u, g_i, g_j, g_m, g_n): in the rows as for CML, and in the margins, each (P,).

    With x_k = 1 and y_k = lambda where the user's and the item's hinge are active:
        u:   2 sum_k  x_k (d_j - d_i) + y_k (b_u - d_i)
        i:   2 sum_k  x_k (d_i - b_u) + y_k (d_j - b_u)
        j_k: 2 x_k (b_u - d_j) + 2 y_k (d_i - d_j)
        m_u: sum_k x_k - r_u        n_i: sum_k y_k - r_i
    """
    of_user, of_item = _hinges(b, d_pos, d_neg, user_margins, item_margins)
    user, positive, negative = (np.asarray(rows, dtype=np.float64) for rows in (b, d_pos, d_neg))
    x, y = 1.0 * (of_user > 0), lambda_ * (of_item > 0)
    u, i, p, q = user[:, None], positive[:, None], x[..., None], y[..., None]
    return (
        np.asarray(2 * np.sum(p * (negative - i) + q * (u - i), axis=1)),
        np.asarray(2 * np.sum(p * (i - u) + q * (negative - u), axis=1)),
        np.asarray(2 * p * (u - negative) + 2 * q * (i - negative)),
        np.asarray(np.sum(x - rewards[0], axis=1)),
        np.asarray(np.sum(y - rewards[1], axis=1)),
    )


def _hinges(
    b: npt.ArrayLike,
    d_pos: npt.ArrayLike,
    d_neg: npt.ArrayLike,
    user_margins: npt.ArrayLike,
    item_margins: npt.ArrayLike,
) -> tuple[Floats, Floats]:
    """D_ui - D_uj + m_u and D_ui - D_ij + n_i of each triplet, (P, K)."""
    near = _distances(b, d_pos)[:, None]
    from_user = _distances(np.asarray(b)[:, None], d_neg)
    from_item = _distances(np.asarray(d_pos)[:, None], d_neg)
    of_user = near - from_user + np.asarray(user_margins)[:, None]
    return of_user, near - from_item + np.asarray(item_margins)[:, None]


def _distances(left: npt.ArrayLike, right: npt.ArrayLike) -> Floats:
    difference = np.asarray(left, dtype=np.float64) - np.asarray(right, dtype=np.float64)
    return np.asarray(np.sum(difference**2, axis=-1))


def _centred(rows: npt.ArrayLike) -> Floats:
    points = np.asarray(rows, dtype=np.float64)
    return np.asarray(points - points.mean(axis=0))


def _off_diagonal(centred: Floats) -> Floats:
    covariance = centred.T @ centred / len(centred)
    np.fill_diagonal(covariance, 0)
    return covariance
