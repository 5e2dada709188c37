"""What bounds a race: its budget, in minutes or trials, and its target, the best within a limit."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from xorec.core.errors import OptionError
from xorec.core.kernels import compiling
from xorec.selection.race.trial import RaceTrial

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
        """A minute for each 200,000 pairs, from 45 seconds to 30 minutes."""
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


ENOUGH = 0.997
"""Of the best value: less is a difference that another validation part may turn round."""
NEAR_LEAST = 1.5
"""Times the least: microseconds are noisy."""
_LIMITS = {"bytes": "bytes an item", "us": "microseconds a query"}


@dataclass(frozen=True)
class Target:
    """limit: "bytes" or "us", at most `most`; "": the best lists, whatever they take.

    >>> Target.parse("bytes=16")
    Target(limit='bytes', most=16.0)
    """

    limit: str = ""
    most: float = float("inf")

    @classmethod
    def parse(cls, text: str) -> Target:
        """What a person wrote: ndcg, bytes=16 or us=50."""
        name, equals, value = str(text).partition("=")
        if name == "ndcg" and not equals:
            return cls()
        try:
            most = float(value)
        except ValueError:
            most = 0.0
        if name not in _LIMITS or not 0 < most < float("inf"):
            raise OptionError(f"the target {text!r} is not known: give ndcg, bytes=16 or us=50.")
        return cls(name, most)

    def __str__(self) -> str:
        if not self.limit:
            return "the best lists"
        return f"the best lists in at most {self.most:g} {_LIMITS[self.limit]}"

    def used(self, trial: RaceTrial) -> float:
        """What a trial takes of what is limited."""
        return {"bytes": trial.bytes_per_item, "us": trial.us_per_query}.get(self.limit, 0.0)

    def fits(self, trial: RaceTrial) -> bool:
        """Whether a trial stays within the limit."""
        return self.used(trial) <= self.most

    def best(self, trials: Sequence[RaceTrial]) -> RaceTrial:
        """The best that fits; where none does, the best of those that take about the least.

        Of those that validation cannot tell from the best, the one of fewest bytes; of as many
        bytes, the better one.
        """
        fitting = [trial for trial in trials if self.fits(trial)]
        if fitting:
            enough = ENOUGH * max(trial.value for trial in fitting)
            near = [trial for trial in fitting if trial.value >= enough]
            return min(near, key=lambda trial: (trial.bytes_per_item, -trial.value))
        most = NEAR_LEAST * min(map(self.used, trials))
        return max((one for one in trials if self.used(one) <= most), key=lambda one: one.value)
