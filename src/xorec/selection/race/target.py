"""Target: what a race is after: the best lists, or the best within bytes or microseconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from xorec.core.errors import OptionError
from xorec.selection.race.trial import Trial

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

    def fits(self, trial: Trial) -> bool:
        """Whether a trial stays within the limit."""
        used = {"": 0.0, "bytes": trial.bytes_per_item, "us": trial.us_per_query}
        return used[self.limit] <= self.most

    def best(self, trials: Sequence[Trial]) -> Trial:
        """The best that fits; where none does, the best of those that take about the least.

        Of those that validation cannot tell from the best, the one of fewest bytes; of as many
        bytes, the better one.
        """
        fitting = [trial for trial in trials if self.fits(trial)]
        if fitting:
            enough = ENOUGH * max(trial.value for trial in fitting)
            near = [trial for trial in fitting if trial.value >= enough]
            return min(near, key=lambda trial: (trial.bytes_per_item, -trial.value))
        least = min(_used(trial, self.limit) for trial in trials)
        near = [trial for trial in trials if _used(trial, self.limit) <= NEAR_LEAST * least]
        return max(near, key=lambda trial: trial.value)


def _used(trial: Trial, limit: str) -> float:
    return trial.bytes_per_item if limit == "bytes" else trial.us_per_query
