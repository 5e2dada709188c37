"""What SML's learned margins earn, in each triplet (Li et al. 2020)."""

from __future__ import annotations

from typing import Literal, TypeAlias

from xorec.core.errors import OptionError

Scaling: TypeAlias = Literal["mean", "released"]


def sml_rewards(
    scaling: Scaling, *, lambda_: float, rho: float, gamma: float, batch: int
) -> tuple[float, float]:
    """(r_u, r_i): what the margins of a user and an item earn in each triplet.

    "mean": hinges and rewards are both means over triplets, so rho is the share of violations
    that both margins settle at. "released": the authors' code adds the hinges of a batch up but
    averages the rewards, gamma (mean m_u + mean n_i): the share is gamma / batch, a few percent.

    >>> sml_rewards("mean", lambda_=0.5, rho=0.2, gamma=10.0, batch=512)
    (0.2, 0.1)
    """
    if scaling not in ("mean", "released"):
        raise OptionError(f"there is no scaling {scaling!r}: the scalings are mean, released.")
    return (rho, lambda_ * rho) if scaling == "mean" else (gamma / batch, gamma / batch)
