"""The neighbour-preserving layout: items that are alike lie together, whatever the global axes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from xorec.core.options import RunOptions
from xorec.core.threads import ThreadPool
from xorec.recommender.layout.equal_codes import EqualCodes
from xorec.recommender.layout.features import item_codes
from xorec.recommender.layout.neighbour_graph import NeighbourGraph, nearest, neighbour_graph
from xorec.recommender.layout.neighbour_kernels import Step, move
from xorec.recommender.recommender import Recommender
from xorec.recommender.similarity import SimilarityIndex
from xorec.representations.codes import Codes
from xorec.search.index import index_of

_NEIGHBOURS = 15
_ROUNDS = 200
_PAIRS, _STRANGERS = 8, 5
_WIDE = 10.0
"""How far the start reaches."""
_REST = 0.5
"""How far apart linked nodes stay, of what they would if all lay evenly."""
_EQUAL = 0.08
"""How far apart items of equal codes lie, of what all items would."""


def neighbour_layout(
    recommender: Recommender, start: npt.NDArray[np.float32], options: RunOptions
) -> npt.NDArray[np.float64]:
    """Places (m, 2) of all items, from exact neighbours: by Hamming distance where there are codes,
    where items of equal codes are one node and lie close around its place."""
    coded = item_codes(recommender)
    if coded is None:
        nodes, compared = EqualCodes.all_distinct(len(start)), recommender.item_neighbours
    else:
        nodes = EqualCodes.of(coded[0], recommender.tie_rank)
        codes = Codes(coded[0][nodes.first], coded[0][nodes.first], coded[1])
        order = np.argsort(np.argsort(recommender.tie_rank[nodes.first])).astype(np.int32)
        compared = SimilarityIndex(codes, index_of(codes, order, threads=options.thread_count))
    k = max(1, min(_NEIGHBOURS, len(nodes.first) - 1))
    graph = neighbour_graph(nearest(compared, k, options))
    rest = _REST * _evenly(len(nodes.first))
    laid = laid_out(graph, start[nodes.first], options, rest)
    return nodes.spread(laid, _EQUAL * _evenly(len(start)), widest=rest / 3)


def _evenly(n: int) -> float:
    """How far apart n points would be if they filled the square of the start evenly."""
    return float(2 * _WIDE / max(1, n) ** 0.5)


def laid_out(
    graph: NeighbourGraph,
    start: npt.NDArray[np.float32],
    options: RunOptions,
    rest: float = 0.0,
    rounds: int = _ROUNDS,
) -> npt.NDArray[np.float32]:
    """Places of the nodes after so many rounds from `start`; steps get shorter to nothing.

    rest: how far apart linked ones stay. Random numbers are keyed by seed, round and node: the same
    bits for any number of threads.
    """
    places = _spread(start, options.seed)
    moved = np.empty_like(places)
    with options.thread_pool() as pool, options.progress.task("layout", rounds) as task:
        for number in range(rounds):
            step = Step(options.seed, number, 1 - number / rounds, rest, _PAIRS, _STRANGERS)
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
    """The start, 10 to each side, with some noise: what lies in one place could not part."""
    reach = np.abs(start).max(initial=0)
    wide = start.astype(np.float64) * (_WIDE / reach if reach > 0 else 1)
    noise = np.random.default_rng(seed).normal(scale=0.05, size=start.shape)
    return np.ascontiguousarray(wide + noise, dtype=np.float32)
