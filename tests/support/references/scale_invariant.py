"""The loss of SIML and DSIML over triplets (user, positive, negative): values and gradients.

`gamma` is tan(beta), the root: every formula has gamma^2. Vectors have P pairs of user and
positive, each with K negatives: b (P, D), d_pos (P, D), d_neg (P, K, D); any leading shape in
place of P will do, none included. Two spaces, with dot products divided by `square_norm`:

    "codes"   entries +-1,   square_norm = D     c_uj = b_u.d_j / D
    "sphere"  unit vectors,  square_norm = 1     c_uj = b_u.d_j

    x_k = (c_uj - c_ui) / 2                                                      pairwise part
    y_k = tau (2 gamma^2 (c_uj + c_ij) - (1 + gamma^2) c_ui + offset)            scale part
    L   = sum over pairs and k of l(x_k) + lambda * (sum_k l(y_k), or log(1 + sum_k e^y_k))

offset = 0 for margin "paper", 1 - 3 gamma^2 for "geometric". tau = D on codes is the paper.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Required, TypeAlias, TypedDict, Unpack

import numpy as np
import numpy.typing as npt

from tests.support.references.logistic import sigmoid
from xorec.core.errors import OptionError
from xorec.training.loss import Margin, logistic_loss, margin_offset

Floats: TypeAlias = npt.NDArray[np.float64]
Form: TypeAlias = Literal["triplet", "npair"]
Space: TypeAlias = Literal["sphere", "codes"]


class LossSettings(TypedDict, total=False):
    """The keywords of the loss; `temperature` has no default."""

    temperature: Required[float]
    gamma: float
    lambda_: float
    margin: Margin
    form: Form
    space: Space


@dataclass(frozen=True)
class _Loss:
    temperature: float
    gamma: float = 1.0
    lambda_: float = 1.0
    margin: Margin = "paper"
    form: Form = "triplet"
    space: Space = "sphere"

    def parts(
        self, b: npt.ArrayLike, d_pos: npt.ArrayLike, d_neg: npt.ArrayLike
    ) -> tuple[Floats, Floats]:
        """x and y of each triplet."""
        temperature, gamma, margin = self.temperature, self.gamma, self.margin
        scale = {"temperature": temperature, "gamma": gamma}
        x = pairwise_part(b, d_pos, d_neg, space=self.space)
        return x, scale_part(b, d_pos, d_neg, **scale, margin=margin, space=self.space)


def hinge(b: npt.ArrayLike, d_pos: npt.ArrayLike, d_neg: npt.ArrayLike, *, gamma: float) -> Floats:
    """h = |b_u - d_i|^2 / 4 - gamma^2 |d_j - (b_u + d_i)/2|^2, of each triplet: (P, K).

    It is at most 0 where the angle keeps its margin, tan(alpha) <= gamma. For rows of one norm
    2h = square_norm (y / tau) at margin "geometric".
    """
    user, positive, negative = _rows(b, d_pos, d_neg)
    near = np.sum((user - positive) ** 2, axis=-1) / 4
    middle = (user + positive) / 2
    far = np.sum((negative - middle[..., None, :]) ** 2, axis=-1)
    return np.asarray(near[..., None] - gamma**2 * far)


def pairwise_part(
    b: npt.ArrayLike, d_pos: npt.ArrayLike, d_neg: npt.ArrayLike, *, space: Space = "sphere"
) -> Floats:
    """x of each triplet, (P, K): in [-1, 1] for codes and unit vectors."""
    user, positive, negative = _rows(b, d_pos, d_neg)
    difference = _dots(user, negative) - np.sum(user * positive, axis=-1)[..., None]
    return np.asarray(difference / (2 * square_norm(user.shape[-1], space)))


def scale_part(
    b: npt.ArrayLike,
    d_pos: npt.ArrayLike,
    d_neg: npt.ArrayLike,
    *,
    temperature: float,
    gamma: float = 1.0,
    margin: Margin = "paper",
    space: Space = "sphere",
) -> Floats:
    """y of each triplet, (P, K), with temperature and margin."""
    user, positive, negative = _rows(b, d_pos, d_neg)
    g = gamma**2
    apart = _dots(user, negative) + _dots(positive, negative)
    together = np.sum(user * positive, axis=-1)[..., None]
    plain = (2 * g * apart - (1 + g) * together) / square_norm(user.shape[-1], space)
    return np.asarray(temperature * (plain + margin_offset(gamma, margin)))


def siml_values(
    b: npt.ArrayLike,
    d_pos: npt.ArrayLike,
    d_neg: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    **settings: Unpack[LossSettings],
) -> Floats:
    """The loss of each pair with its K negatives: (P,). The sum is the loss.

    weights (P, K), at least 0, count triplets: omega_k l(x_k) + lambda omega_k l(y_k); in the
    form "npair" they stand inside the log, log(1 + sum_k omega_k e^y_k). A triplet of weight 0
    might as well not be there, in either form.
    """
    loss = _Loss(**settings)
    x, y = loss.parts(b, d_pos, d_neg)
    omega = _weights(weights, y)
    pairwise = np.sum(omega * logistic_loss(x), axis=-1)
    if _is_npair(loss.form):
        scale = np.logaddexp(0, np.logaddexp.reduce(y + _log(omega), axis=-1))
    else:
        scale = np.sum(omega * logistic_loss(y), axis=-1)
    return np.asarray(pairwise + loss.lambda_ * scale)


def siml_loss(
    b: npt.ArrayLike,
    d_pos: npt.ArrayLike,
    d_neg: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    **settings: Unpack[LossSettings],
) -> float:
    """L = sum over the pairs of `siml_values`."""
    return float(np.sum(siml_values(b, d_pos, d_neg, weights=weights, **settings)))


def siml_slopes(
    x: Floats, y: Floats, *, form: Form = "triplet", weights: npt.ArrayLike | None = None
) -> tuple[Floats, Floats]:
    """(v, w), each (P, K): the slopes of the two parts in x and in y, before lambda.

    v_k = sigma(x_k). w_k = sigma(y_k) per triplet, e^y_k / (1 + sum_l e^y_l) for "npair".
    """
    omega = _weights(weights, y)
    pull = omega * sigmoid(x)
    if not _is_npair(form):
        return pull, omega * sigmoid(y)
    logits = y + _log(omega)
    whole = np.logaddexp(0, np.logaddexp.reduce(logits, axis=-1))
    return pull, np.exp(logits - whole[..., None])


def siml_gradients(
    b: npt.ArrayLike,
    d_pos: npt.ArrayLike,
    d_neg: npt.ArrayLike,
    *,
    weights: npt.ArrayLike | None = None,
    **settings: Unpack[LossSettings],
) -> tuple[Floats, Floats, Floats]:
    """(g_u, g_i, g_j): the gradient of the loss in b (P, D), d_pos (P, D) and d_neg (P, K, D).

    With v, w of `siml_slopes`, tau the temperature, g = gamma^2, on the sphere:
        u:   sum_k  lambda tau w_k (2g d_j - (1+g) d_i)  +  v_k (d_j - d_i) / 2
        i:   sum_k  lambda tau w_k (2g d_j - (1+g) b_u)  -  v_k b_u / 2
        j_k: lambda tau w_k 2g (b_u + d_i)  +  v_k b_u / 2
    and 1/D of that for codes. Euclidean: the move back to the sphere is the trainer's.
    """
    loss, (user, positive, negative) = _Loss(**settings), _rows(b, d_pos, d_neg)
    x, y = loss.parts(user, positive, negative)
    v, w = siml_slopes(x, y, form=loss.form, weights=weights)
    g, norm = loss.gamma**2, square_norm(user.shape[-1], loss.space)
    v = v / (2 * norm)
    w = loss.lambda_ * loss.temperature / norm * w
    pairwise, scale = v.sum(axis=-1)[..., None], w.sum(axis=-1)[..., None]
    pulled = np.einsum("...k,...kd->...d", w, negative)
    g_u = np.einsum("...k,...kd->...d", v, negative) - pairwise * positive
    g_u += 2 * g * pulled - (1 + g) * scale * positive
    g_i = 2 * g * pulled - ((1 + g) * scale + pairwise) * user
    g_j = 2 * g * w[..., None] * (user + positive)[..., None, :] + v[..., None] * user[..., None, :]
    return g_u, g_i, g_j


def square_norm(size: int, space: Space) -> float:
    """|b|^2 of a row of D = `size` entries: D for codes, 1 on the sphere."""
    if space not in ("sphere", "codes"):
        raise OptionError(f"there is no space {space!r}: the spaces are sphere, codes.")
    return float(size) if space == "codes" else 1.0


def _is_npair(form: Form) -> bool:
    if form not in ("triplet", "npair"):
        raise OptionError(f"there is no form {form!r}: the forms are triplet, npair.")
    return form == "npair"


def _rows(
    b: npt.ArrayLike, d_pos: npt.ArrayLike, d_neg: npt.ArrayLike
) -> tuple[Floats, Floats, Floats]:
    user, positive, negative = (np.asarray(rows, dtype=np.float64) for rows in (b, d_pos, d_neg))
    wanted = (*user.shape[:-1], *negative.shape[-2:-1], *user.shape[-1:])
    if user.shape != positive.shape or negative.shape != wanted:
        raise ValueError(
            f"users {user.shape}, positives {positive.shape}, negatives {negative.shape}: "
            "the shapes must be (P, D), (P, D), (P, K, D)."
        )
    return user, positive, negative


def _dots(rows: Floats, negative: Floats) -> Floats:
    return np.asarray(np.einsum("...d,...kd->...k", rows, negative))


def _weights(weights: npt.ArrayLike | None, like: Floats) -> Floats:
    if weights is None:
        return np.ones_like(like)
    omega = np.broadcast_to(np.asarray(weights, dtype=np.float64), like.shape)
    if not np.all(omega >= 0):
        raise OptionError("a weight of a triplet is negative or not a number.")
    return omega


def _log(omega: Floats) -> Floats:
    """log(omega), with -inf and no warning at 0."""
    return np.log(omega, out=np.full_like(omega, -np.inf), where=omega > 0)
