"""What is shared by all who minimise SIML's loss: its margin (docs/method.md has the formulas)."""

from __future__ import annotations

from typing import Literal, TypeAlias

from xorec.core.errors import OptionError

Margin: TypeAlias = Literal["paper", "geometric"]


def margin_offset(gamma: float, margin: Margin) -> float:
    """What the margin adds to y / tau: nothing, or the constant of the hinge, 1 - 3 gamma^2.

    >>> margin_offset(1.0, "paper"), margin_offset(1.0, "geometric")
    (0.0, -2.0)
    """
    if margin not in ("paper", "geometric"):
        raise OptionError(f"there is no margin {margin!r}: the margins are paper, geometric.")
    return 1 - 3 * gamma**2 if margin == "geometric" else 0.0
