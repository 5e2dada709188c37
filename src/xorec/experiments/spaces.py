"""The search spaces of `xorec tune`: which settings of a model move, and how far, as data.

`dimensions`, `bits` and `epochs` stay out: they are bought, not found. A command line fixes them.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import asdict, dataclass
from typing import Any

from xorec.errors import OptionError
from xorec.models import MODELS


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

_POPULARITY = Choice((0.0, 0.5))
_FORM = Choice(("npair", "triplet"))

SPACES: dict[str, Space] = {
    "popularity": {},
    "item-knn": {"neighbours": Int(10, 500, log=True), "shrink": Float(0.0, 50.0)},
    "als": {
        "reg": Float(1e-3, 3e-2, log=True),
        "unobserved": Float(2e-3, 0.5, log=True),
        "reg_exponent": Choice((0.5, 1.0)),
    },
    "ease": {"reg": Float(20.0, 2000.0, log=True)},
    "bpr": {
        "learning_rate": Float(0.03, 0.15, log=True),
        "reg": Float(0.002, 0.04, log=True),
        "negatives": Int(4, 16, log=True),
        "alpha": _POPULARITY,
    },
    "cml": {
        "learning_rate": Float(0.3, 2.0, log=True),
        "margin": Float(0.3, 1.9),
        "negatives": Choice((5, 10, 20, 50)),
        "rank_weight": Choice((False, True)),
        "covariance": Choice((0.0, 1.0, 10.0)),
        "alpha": _POPULARITY,
    },
    "sml": {
        "learning_rate": Float(0.3, 2.0, log=True),
        "lambda_": Float(0.01, 1.0, log=True),
        "rho": Float(0.1, 0.9),
        "negatives": Int(2, 40, log=True),
        "alpha": _POPULARITY,
    },
    "lightgcn": {
        "learning_rate": Float(5e-3, 5e-2, log=True),
        "reg": Float(1e-5, 1e-2, log=True),
        "layers": Int(1, 3),
        "negatives": Choice((4, 8, 16)),
        "alpha": _POPULARITY,
    },
    "cpr": {
        "learning_rate": Float(2e-3, 3e-2, log=True),
        "reg": Float(1e-2, 1.0, log=True),
        "cycle": Int(2, 4),
        "ratio": Float(1.0, 6.0, log=True),
        "oversampling": Float(1.0, 6.0, log=True),
    },
    "siml": {
        "form": _FORM,
        "norms": Choice(("sphere", "ball")),
        "lambda_": Float(1.0, 4.0, log=True),
        "temperature": Float(2.4, 7.0, log=True),
        "negatives": Choice((20, 50)),
    },
    "siml-gcn": {
        "form": _FORM,
        "smoothing": Float(0.1, 1.0, log=True),
        "lambda_": Float(1.0, 4.0, log=True),
        "temperature": Float(2.4, 4.5, log=True),
    },
    "signs": {"turn": Choice(("itq", "random")), "centre": Choice((False, True))},
    "lightrec": {
        "learning_rate": Float(1e-3, 1e-2, log=True),
        "distill": Float(10.0, 1000.0, log=True),
        "popularity": Float(1.0, 2.0),
        "temperature": Float(0.3, 2.0, log=True),
    },
    "dcf": {
        "negative_target": Float(-0.6, -0.15),
        "start_reg": Float(0.02, 0.06, log=True),
        "negatives": Choice((5, 10)),
    },
    "cccf": {
        "negative_target": Float(-0.6, -0.15),
        "start_reg": Float(0.02, 0.06, log=True),
        "negatives": Choice((5, 10)),
        "bandwidth": Float(2.0, 5.0, log=True),
    },
    "dsiml": {
        "temperature": Float(2.5, 6.0, log=True),
        "softness": Float(0.5, 2.0),
        "learning_rate": Float(0.5, 8.0, log=True),
        "teach": Choice((2.0, 4.0, 8.0)),
    },
    "dpr": {
        "target": Float(0.8, 2.2, log=True),
        "alpha": Float(2e-7, 2e-5, log=True),
        "beta": Float(1e-6, 1e-4, log=True),
    },
    "drmf": {
        "temperature": Float(1.5, 4.0, log=True),
        "pace": Float(0.7, 1.5, log=True),
        "start_epochs": Choice((10, 20)),
    },
    "phd": {
        "negative_target": Float(0.1, 0.5),
        "learning_rate": Float(5.0, 16.0, log=True),
        "alpha": Float(0.3, 0.8),
    },
}
"""Settings that move, by model. A model that is registered and not here has not been thought of."""


def space_of(model: str, fixed: Collection[str] = ()) -> Space:
    """What moves of `model` when the settings `fixed` do not; complains if nothing does."""
    if model not in SPACES:
        tuned = ", ".join(name for name in MODELS if SPACES.get(name))
        raise OptionError(f"{model} has no search space: xorec tune knows {tuned}.")
    space = {name: one for name, one in SPACES[model].items() if name not in fixed}
    if not SPACES[model]:
        raise OptionError(f"{model} has nothing to tune: fit it as it is.")
    if not space:
        raise OptionError(
            f"every setting of {model} that could move is fixed: leave one of "
            f"{', '.join(SPACES[model])} free."
        )
    return space


def as_json(space: Space) -> dict[str, Any]:
    """The space as plain lists and numbers, to tell one from another."""
    return {
        name: {"kind": type(one).__name__.lower(), **_plain(asdict(one))}
        for name, one in space.items()
    }


def _plain(facts: dict[str, Any]) -> dict[str, Any]:
    return {name: list(v) if isinstance(v, tuple) else v for name, v in facts.items()}
