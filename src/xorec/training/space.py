"""Search spaces: which settings of a model move when it is tuned, and how far, as data.

A model declares its own as `space`. `dimensions`, `bits` and `epochs` stay out: they are bought,
not found.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Float:
    """A number from `low` to `high`; `log`: each factor is as likely as the next."""

    low: float
    high: float
    log: bool = False

    def at(self, share: float) -> float:
        """The value at this share of the way, 0 <= share < 1."""
        if self.log:
            return self.rounded(float(self.low * (self.high / self.low) ** share))
        return self.rounded(self.low + (self.high - self.low) * share)

    def rounded(self, value: float) -> float:
        """Four digits, so that a trial is what its row of the table says."""
        return min(self.high, max(self.low, float(f"{value:.4g}")))

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int | float) and self.low <= value <= self.high


@dataclass(frozen=True)
class Int:
    """A whole number from `low` to `high`."""

    low: int
    high: int
    log: bool = False

    def at(self, share: float) -> int:
        """The value at this share of the way, 0 <= share < 1."""
        if self.log:
            return min(self.high, int(self.low * ((self.high + 1) / self.low) ** share))
        return self.low + int((self.high + 1 - self.low) * share)

    def rounded(self, value: int) -> int:
        """As it is."""
        return int(value)

    def __contains__(self, value: object) -> bool:
        return isinstance(value, int) and self.low <= value <= self.high


@dataclass(frozen=True)
class Choice:
    """One of a few values."""

    values: tuple[Any, ...]

    def at(self, share: float) -> Any:
        """The value at this share of the way, 0 <= share < 1."""
        return self.values[int(len(self.values) * share)]

    def rounded(self, value: Any) -> Any:
        """As it is."""
        return value

    def __contains__(self, value: object) -> bool:
        return value in self.values


Range = Float | Int | Choice
Space = dict[str, Range]

POPULARITY = Choice((0.0, 0.5))
"""Of `alpha`: uniform negatives, or by the root of their popularity."""
