"""The neighbour-preserving layout: items that are alike lie together, whatever the global axes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from xorec.core.options import RunOptions
from xorec.core.threads import ThreadPool
from xorec.recommender.layout.neighbour_graph import NeighbourGraph
from xorec.recommender.layout.neighbour_kernels import Step, move

_ROUNDS = 200
_PAIRS, _STRANGERS = 8, 3
_WIDE = 10.0
"""How far the start reaches."""
_REST = 0.8
"""How far apart linked items stay, of what they would have if all lay evenly."""


def neighbour_layout(
    graph: NeighbourGraph,
    start: npt.NDArray[np.float32],
    options: RunOptions,
    rounds: int = _ROUNDS,
) -> npt.NDArray[np.float32]:
    """Places (m, 2) after so many rounds from `start`; a step is shorter from round to round.

    Random numbers are keyed by seed, round and item; the same bits for any number of threads.
    """
    places = _spread(start, options.seed)
    moved, rest = np.empty_like(places), _REST * 2 * _WIDE / max(1, len(places)) ** 0.5
    with options.thread_pool() as pool, options.progress.task("layout", rounds) as task:
        for number in range(rounds):
            length = 0.5 * (1 - number / rounds)
            step = Step(options.seed, number, length, rest, _PAIRS, _STRANGERS)
            _move_all(graph, places, moved, step, pool)
            places, moved = moved, places
            task.advance()
    return places


def _move_all(
    graph: NeighbourGraph,
    places: npt.NDArray[np.float32],
    moved: npt.NDArray[np.float32],
    step: Step,
    pool: ThreadPool,
) -> None:
    pool.map_ranges(len(places), lambda begin, end: move(graph, places, moved, step, (begin, end)))


def _spread(start: npt.NDArray[np.float32], seed: int) -> npt.NDArray[np.float32]:
    """The start, 10 to each side, with some noise: equal codes would stay in one place."""
    reach = np.abs(start).max(initial=0)
    wide = start.astype(np.float64) * (_WIDE / reach if reach > 0 else 1)
    noise = np.random.default_rng(seed).normal(scale=0.05, size=start.shape)
    return np.ascontiguousarray(wide + noise, dtype=np.float32)
