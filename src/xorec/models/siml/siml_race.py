"""A race of short fits chooses the settings of SIML that are left to the data (`auto`).

No value is right everywhere: with negatives by the root of popularity NDCG rises by a fifth on
dense data whose popular items crowd the lists and falls on other data; sparse data like a steep
loss with many negatives, dense data a soft one. A few epochs tell (docs/tuning.md).

All candidates learn from the same pairs. After each round the better half goes on from where it
stands, by NDCG@20 of at most 5,000 validation users (successive halving); a tie is won by the one
that is named first. The answer hangs on the seed and the data alone, not on threads; nor on clocks,
unless the fit has to end at a moment (options.until): then a race that takes more than a quarter of
the time is broken off, so that the winner has time to learn.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xorec.core.errors import DataError
from xorec.core.files import write_text
from xorec.core.kernels import compiling
from xorec.core.options import RunOptions
from xorec.core.rng import hash_integers
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.data.split import hold_out
from xorec.models.base import Part
from xorec.models.siml.siml import DEFAULTS, SIML, popularity_bias
from xorec.models.triplet_model import TripletModel
from xorec.representations.base import Representation
from xorec.representations.vectors import Vectors
from xorec.training.config import AUTO
from xorec.training.epochs import fingerprint, validation_ndcg, validation_sample

if TYPE_CHECKING:
    from xorec.models.siml.siml import SIMLConfig


ROUNDS = (1, 1, 2)
"""Epochs of each round."""
SHARE = 0.1
"""Of the pairs, cut off to judge by where there is no validation part."""
_PAIRS = 1_500_000
"""Where there are more, some of the users race for all."""
_TIME_SHARE = 0.25
"""Of the time that a fit has, where it has to end at a moment."""
_FEWEST = 100
"""Users to judge by: with fewer, chance would decide."""


class RaceTrack:
    """What candidates learn from and what they are judged on."""

    def __init__(self, train: Interactions, judged_on: Interactions, options: RunOptions) -> None:
        self.train, self.options = train, options
        self.judged_on = validation_sample(judged_on, options.seed)
        self._late: float | None = None
        if options.until is not None:
            now = compiling.now()
            self._late = now + _TIME_SHARE * (options.until - now)

    @classmethod
    def of(cls, train: Interactions, validation: Part, options: RunOptions) -> RaceTrack | None:
        """The parts of a race; None where there are too few users to judge by.

        Without a validation part a tenth of the pairs is cut off: the latest, where there are
        times, else by chance.
        """
        if validation is None:
            try:
                parts = hold_out(train, SHARE, options.seed)
            except DataError:  # too few pairs
                return None
            train, validation = parts.train, parts.test
        if np.count_nonzero(validation.user_counts) < _FEWEST:
            return None
        return cls(*_some_users(train, validation, options.seed), options)

    def is_late(self) -> bool:
        """Whether the race has taken its share of the time."""
        return self._late is not None and compiling.now() >= self._late

    def value(self, representation: Representation) -> float:
        """NDCG@20."""
        return validation_ndcg(representation, self.train, self.judged_on, self.options)


class Racer:
    """A candidate on its way."""

    def __init__(self, model: TripletModel[Any], track: RaceTrack, pool: ThreadPool) -> None:
        self.model, self.value, self._done = model, 0.0, 0
        self._arrays = model._start(track.train, track.options.seed)
        self._run_epoch = model.run_epoch(track.train, track.options.seed, pool)

    def advance(self, epochs: int) -> None:
        """Learn for so many epochs more."""
        for epoch in range(self._done, self._done + epochs):
            self._run_epoch(epoch, self._arrays)
        self._done += epochs

    @property
    def learned(self) -> Representation:
        """What it has learned so far."""
        return self.model._represent(self._arrays)


def race(
    models: Sequence[TripletModel[Any]], track: RaceTrack, judge: Callable[[Representation], float]
) -> Racer:
    """The winner by `judge`, as it stands after the last round (or when the race is broken off)."""
    name, most = models[0].name, len(models)
    counts = [min(most, max(2, -(-most // 2**at))) for at in range(len(ROUNDS))]
    rounds = list(zip(counts, ROUNDS, strict=True))
    total = sum(count * epochs for count, epochs in rounds)
    with (
        track.options.thread_pool() as pool,
        track.options.progress.task(f"{name}: settings", total) as task,
    ):
        racers = [Racer(model, track, pool) for model in models]
        for count, epochs in rounds:
            racers = racers[:count]
            for racer in racers:
                racer.advance(epochs)
                racer.value = judge(racer.learned)
                task.advance(epochs)
                if track.is_late():
                    break
            racers = sorted(racers, key=lambda racer: -racer.value)  # stable: the first named wins
            if track.is_late():
                break
    return racers[0]


def _some_users(
    train: Interactions, validation: Interactions, seed: int
) -> tuple[Interactions, Interactions]:
    """The pairs of as many users as there is time for, by a seeded hash of their rows."""
    if train.n_pairs <= _PAIRS:
        return train, validation
    users = np.argsort(hash_integers(np.arange(train.n_users), seed), kind="stable")
    rows = np.sort(users[np.cumsum(train.user_counts[users]) <= _PAIRS])
    return _of_users(train, rows), _of_users(validation, rows)


def _of_users(data: Interactions, rows: npt.NDArray[np.integer]) -> Interactions:
    """The pairs of these users, who have no rows but theirs; all items."""
    keep = np.zeros(data.n_users, dtype=np.bool_)
    keep[rows] = True
    pairs = data.select(keep[data.user_rows])
    indptr = np.concatenate([[0], np.cumsum(data.user_counts[rows])])
    return replace(pairs, users=data.users.select(rows), indptr=indptr)


WEIGHTS = (0.0, 0.02, 0.05, 0.1, 0.15, 0.2, 0.3)
"""Weights of popularity that are tried."""
CANDIDATES: tuple[dict[str, Any], ...] = (
    {},
    {"alpha": 0.75},
    {"alpha": 1.0},
    {"alpha": 0.0, "temperature": 4.0},
    {"alpha": 0.75, "temperature": 3.5, "negatives": 60},
    {"alpha": 0.75, "temperature": 5.0, "negatives": 60},
)
"""Settings that race, in the place of `DEFAULTS`."""


def settle(
    config: SIMLConfig,
    train: Interactions,
    validation: Part,
    options: RunOptions,
    name: str = "siml",
) -> SIMLConfig:
    """The settings with the winner's in the place of `auto`; says which they are, and whose."""
    key = fingerprint(SIML(**config.model_dump()), train, validation, options)
    found = _read(options, key)
    if found is None:
        found = _race(config, train, validation, options, name)
        _write(options, key, found)
    return config.model_copy(update=found)


def _race(
    config: SIMLConfig, train: Interactions, validation: Part, options: RunOptions, name: str
) -> dict[str, Any]:
    left = [one for one in DEFAULTS if getattr(config, one) == AUTO]
    track = RaceTrack.of(train, validation, options)
    if track is None:
        return {one: DEFAULTS[one] for one in left}
    models = [SIML(**settings) for settings in candidates(config)]
    by_weight = "popularity" in left
    judge = (lambda found: best_weight(found, track)[1]) if by_weight else track.value
    winner = race(models, track, judge)
    chosen: dict[str, Any] = winner.model.config.model_dump(include=set(left))
    if by_weight:
        chosen["popularity"] = best_weight(winner.learned, track)[0]
    words = ", ".join(f"{one} {chosen[one]}" for one in left)
    tried = "the best of a short race" if len(models) > 1 else "the best that was tried"
    options.progress.note(f"{name}: {words} ({tried}, NDCG@20 {winner.value:.4f}).")
    return chosen


def candidates(config: SIMLConfig) -> list[dict[str, Any]]:
    """The settings of all that race: what is given stays, no two are the same."""
    plain = config.resolved().model_dump()
    if config.popularity == AUTO:
        plain["popularity"] = 0.0  # of all weights each is judged with the one that suits it
    found: list[dict[str, Any]] = []
    for candidate in CANDIDATES:
        free = {name: v for name, v in candidate.items() if getattr(config, name) == AUTO}
        if {**plain, **free} not in found:
            found.append({**plain, **free})
    return found


def best_weight(learned: Any, track: RaceTrack) -> tuple[float, float]:
    """The weight of popularity that these vectors want, the first of `WEIGHTS` after which NDCG@20
    no longer rises, and that NDCG@20."""
    users, items = learned.user_vectors, learned.item_vectors
    best, value = WEIGHTS[0], -1.0
    for weight in WEIGHTS:
        found = track.value(Vectors(users, items, popularity_bias(track.train, weight)))
        if found <= value:
            break
        best, value = weight, found
    return best, value


def _read(options: RunOptions, key: str) -> dict[str, Any] | None:
    """What a race of this very run has found before it was stopped."""
    path = options.for_stage("settings").checkpoint
    if path is None or not options.resume or not path.exists():
        return None
    kept = json.loads(path.read_text(encoding="utf-8"))
    return dict(kept["settings"]) if kept["run"] == key else None


def _write(options: RunOptions, key: str, settings: dict[str, Any]) -> None:
    path = options.for_stage("settings").checkpoint
    if path is not None:
        write_text(path, json.dumps({"run": key, "settings": settings}))
