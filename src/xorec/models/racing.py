"""A race between settings: a few epochs on a validation part say which of them a fit takes.

All candidates learn from the same pairs. After each round the better half goes on from where it
stands, by NDCG@20 of at most 5,000 validation users (successive halving); a tie is won by the one
that is named first. The answer hangs on the seed and the data alone, not on threads; nor on clocks,
unless the fit has to end at a moment (options.until): then a race that takes more than a quarter of
the time is broken off, so that the winner has time to learn.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.compiling import clock
from xorec.core.errors import DataError
from xorec.core.options import RunOptions
from xorec.core.progress import SILENT
from xorec.core.rng import hash_integers
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.data.split import hold_out
from xorec.models.triplet_model import TripletModel
from xorec.representations.base import Representation
from xorec.training.epochs import validation_sample

ROUNDS = (1, 2, 4)
"""Epochs that a candidate has behind it after each round."""
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
            now = clock()
            self._late = now + _TIME_SHARE * (options.until - now)

    @classmethod
    def of(
        cls, train: Interactions, validation: Interactions | None, options: RunOptions
    ) -> RaceTrack | None:
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
        return self._late is not None and clock() >= self._late

    def value(self, representation: Representation) -> float:
        """NDCG@20."""
        from xorec.evaluation.protocol import evaluate

        quiet = replace(self.options, progress=SILENT)
        return evaluate(representation, self.train, self.judged_on, ks=(20,), options=quiet)[
            "ndcg@20"
        ]


class Racer:
    """A candidate on its way."""

    def __init__(self, model: TripletModel[Any], track: RaceTrack, pool: ThreadPool) -> None:
        self.model, self.value, self._done = model, 0.0, 0
        self._arrays = model._start(track.train, track.options.seed)
        self._run_epoch = model.run_epoch(track.train, track.options.seed, pool)

    def advance(self, epochs: int) -> None:
        """Learn until `epochs` are done."""
        for epoch in range(self._done, epochs):
            self._run_epoch(epoch, self._arrays)
        self._done = epochs

    @property
    def learned(self) -> Representation:
        """What it has learned so far."""
        return self.model._represent(self._arrays)


def race(
    models: Sequence[TripletModel[Any]],
    track: RaceTrack,
    judge: Callable[[Representation], float],
) -> Racer:
    """The winner, as it stands after the last round (or when the race was broken off).

    judge: the larger, the better.
    """
    name, total = models[0].name, _epochs(len(models))
    with (
        track.options.thread_pool() as pool,
        track.options.progress.task(f"{name}: settings", total) as task,
    ):
        racers = [Racer(model, track, pool) for model in models]
        before = 0
        for epochs in ROUNDS:
            racers = racers[: _reaching(len(racers), before)]
            for racer in racers:
                racer.advance(epochs)
                racer.value = judge(racer.learned)
                task.advance(epochs - before)
                if track.is_late():
                    break
            racers = sorted(racers, key=lambda racer: -racer.value)  # stable: the first named wins
            if track.is_late():
                break
            before = epochs
    return racers[0]


def _reaching(racers: int, before: int) -> int:
    """How many go on after `before` epochs: all from the start, then half of them, but two."""
    return racers if before == 0 else min(racers, max(2, -(-racers // 2)))


def _epochs(racers: int) -> int:
    """The epochs of all rounds together."""
    total, before = 0, 0
    for epochs in ROUNDS:
        racers = _reaching(racers, before)
        total += racers * (epochs - before)
        before = epochs
    return total


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
