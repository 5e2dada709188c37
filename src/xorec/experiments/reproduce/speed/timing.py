"""The clock of rq3: rounds in which every side recommends once, and the rows they make."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.progress import Task
from xorec.experiments.reproduce.speed.data import SpeedData
from xorec.experiments.reproduce.speed.sides import FLOATS, Side

FEWEST = 64
"""Users that are timed even when they take longer than the budget."""
FIRST = 256
"""Users of the first trial."""
SHORTEST = 0.05
"""Seconds of a turn, at least: a shorter one is repeated."""

Clock = Callable[[], float]


@dataclass(eq=False)
class Turns:
    """A side and how long it took: seconds for the `users` that were measured, round by round."""

    side: Side
    users: int = 0
    seconds: list[float] = field(default_factory=list)

    @property
    def us(self) -> npt.NDArray[np.float64]:
        """Microseconds a user of each round."""
        return np.array(self.seconds) / self.users * 1e6


def measure(
    sides: Sequence[Side],
    data: SpeedData,
    rounds: int,
    budget: float,
    task: Task,
    clock: Clock = time.perf_counter,
) -> list[Turns]:
    """`rounds` rounds, each in an order of its own, so that all share the machine's moods.

    A side that would take more than `budget` seconds for all users has fewer, evenly spaced.
    Every turn begins with some users off the clock.
    """
    turns = []
    for side in sides:
        turns.append(Turns(side, users_within(side, data, budget, clock)))
        task.advance(method=side.method)
    for number in range(rounds):
        for at in np.random.default_rng(number).permutation(len(turns)):
            one = turns[at]
            one.side.request(data, data.spread(max(1, one.users // 10)))()
            work = one.side.request(data, data.spread(one.users))
            one.seconds.append(seconds_of(work, clock))
            task.advance(method=one.side.method)
    return turns


def users_within(side: Side, data: SpeedData, budget: float, clock: Clock) -> int:
    """How many users fit into `budget` seconds: trials of more and more, then a rule of three."""
    users = min(FIRST, data.n_users)
    side.request(data, data.spread(users))()
    while True:
        seconds = max(seconds_of(side.request(data, data.spread(users)), clock), 1e-9)
        if seconds >= budget / 10 or users == data.n_users:
            break
        users = min(data.n_users, 4 * users)
    return int(min(data.n_users, max(FEWEST, users * budget / seconds)))


def seconds_of(work: Callable[[], Any], clock: Clock = time.perf_counter) -> float:
    """Seconds of one call; the mean of several where a call is short."""
    began, calls = clock(), 0
    while True:
        work()
        calls += 1
        seconds = clock() - began
        if seconds >= SHORTEST:
            return seconds / calls


def rows_of(
    turns: Sequence[Turns], data: SpeedData, threads: int, facts: dict[str, Any]
) -> list[dict[str, Any]]:
    """One flat row a side.

    seconds: for all users, the median of the rounds; spread: half of what lies between the
    quartiles. users_measured: those who were timed; fewer than `users`, and `seconds` is scaled up.
    ratio_to: the time of the float side over this one's; ratio_spread: of the rounds' ratios.
    bytes: of what is searched; code_bytes: of the bare codes.
    """
    floats = next(one for one in turns if one.side.method == FLOATS)
    everybody = data.n_users / 1e6
    rows = []
    for one in turns:
        us = float(np.median(one.us))
        rows.append(
            {
                **facts,
                "users": data.n_users,
                "items": data.n_items,
                "bits": data.bits,
                "dimensions": data.item_vectors.shape[1],
                "seen": float(np.mean(np.diff(data.seen[0]))),
                "method": one.side.method,
                "threads": threads,
                "seconds": us * everybody,
                "spread": half_spread(one.us) * everybody,
                "us_per_user": us,
                "users_measured": one.users,
                "rounds": len(one.seconds),
                "ratio_to": float(np.median(floats.us)) / us,
                "ratio_spread": half_spread(floats.us / one.us),
                "bytes": one.side.bytes,
                "code_bytes": data.n_items * -(-data.bits // 8),
                "build_seconds": one.side.build_seconds,
                "how": one.side.how,
            }
        )
    return rows


def half_spread(values: npt.NDArray[np.float64]) -> float:
    """Half of the distance between the quartiles."""
    low, high = np.percentile(values, [25, 75])
    return float(high - low) / 2
