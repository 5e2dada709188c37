"""Budget: how long a race may take, in minutes or, for the same result every time, in trials."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from xorec.core.errors import OptionError
from xorec.core.kernels import compiling

PAIRS_A_MINUTE = 200_000
"""What the default budget is made for."""
CLOSING_SHARE = 0.7
"""Of the minutes, after which nothing new begins but a blend: the last fit is to come."""
_LEAST, _MOST = 0.75, 30.0


@dataclass(frozen=True)
class Budget:
    """minutes, with the last fit but without compiling kernels; or trials, whatever they take."""

    minutes: float | None = None
    trials: int | None = None
    clock: Callable[[], float] = compiling.now
    began: float = field(default=0.0)

    def __post_init__(self) -> None:
        if self.minutes is not None and not 0 < self.minutes < float("inf"):
            raise OptionError(f"budget is {self.minutes}: give minutes above 0.")
        if self.trials is not None and self.trials < 1:
            raise OptionError(f"trials is {self.trials}: give 1 or more.")
        object.__setattr__(self, "began", self.clock())

    @classmethod
    def for_pairs(cls, pairs: int) -> Budget:
        """The minutes for so many pairs: one for each 200,000, from 45 seconds to 30 minutes."""
        return cls(minutes=min(_MOST, max(_LEAST, pairs / PAIRS_A_MINUTE)))

    def __str__(self) -> str:
        if self.trials is not None:
            return f"{self.trials} trials"
        return f"{self.minutes:.3g} minutes, the last fit too"

    def spent(self, trials: int) -> float:
        """The share that is gone after so many trials; 1 and more: all of it."""
        if self.trials is not None:
            return trials / self.trials
        return (self.clock() - self.began) / (60 * (self.minutes or _LEAST))

    def is_closing(self, trials: int) -> bool:
        """Whether after so many trials the next should be the last blend."""
        if self.trials is not None:
            return trials >= self.trials - 1
        return self.spent(trials) >= CLOSING_SHARE

    def until(self, share: float) -> float | None:
        """When this share of it will be gone, by the clock; None where only trials count."""
        if self.trials is not None:
            return None
        return self.began + share * 60 * (self.minutes or _LEAST)
