"""The neighbour-preserving layout: similar items lie together, without global axes."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.kernels import kernel
from xorec.core.options import RunOptions
from xorec.core.rng import below, draw, stream
from xorec.recommender.recommender import Recommender
from xorec.recommender.similarity import SimilarityIndex, item_codes
from xorec.representations.codes import Codes
from xorec.search.index import index_of

_TURN = np.pi * (3 - 5**0.5)
"""The golden angle: points at its multiples, at the roots of their numbers, fill a disc evenly."""


class EqualCodes(NamedTuple):
    """first: a row for each distinct code, the first of its items in tie order. of_item: the code
    of each item. place: of each item among those of its code, in tie order."""

    first: npt.NDArray[np.int64]
    of_item: npt.NDArray[np.int64]
    place: npt.NDArray[np.int64]

    @classmethod
    def of(cls, codes: npt.NDArray[np.uint64], tie_rank: npt.NDArray[np.int32]) -> EqualCodes:
        """
        >>> codes = np.array([[7], [3], [7]], dtype=np.uint64)
        >>> EqualCodes.of(codes, np.array([2, 1, 0], dtype=np.int32)).first.tolist()
        [1, 2]
        """
        order = np.lexsort((tie_rank, *codes.T[::-1]))
        ordered = codes[order]
        begins = np.ones(len(order), dtype=np.bool_)
        begins[1:] = (ordered[1:] != ordered[:-1]).any(axis=1)
        starts = np.flatnonzero(begins)
        number = np.cumsum(begins) - 1
        of_item = np.empty(len(order), dtype=np.int64)
        place = np.empty_like(of_item)
        of_item[order], place[order] = number, np.arange(len(order)) - starts[number]
        return cls(order[starts], of_item, place)

    def spread(
        self, xy: npt.NDArray[Any], apart: float, widest: float = np.inf
    ) -> npt.NDArray[np.float64]:
        """Places of all items from those of their codes: around them, `apart` from each other, or
        nearer where they would reach further than `widest`."""
        sizes = np.bincount(self.of_item)
        step = np.minimum(apart, widest / np.sqrt(sizes))[self.of_item]
        away, turn = step * np.sqrt(self.place), self.place * _TURN
        found = xy[self.of_item].astype(np.float64)
        found[:, 0] += away * np.cos(turn)
        found[:, 1] += away * np.sin(turn)
        return found


_AT_ONCE = 8192


class NeighbourGraph(NamedTuple):
    """Row i: the nodes linked[indptr[i]:indptr[i + 1]], ascending."""

    indptr: npt.NDArray[np.int64]
    linked: npt.NDArray[np.int32]


def nearest(compared: SimilarityIndex, k: int, options: RunOptions) -> npt.NDArray[np.int32]:
    """The k nearest of every row (rows, k), by the tie rule; -1 where there are fewer."""
    n = compared.representation.n_items
    found = np.full((n, k), -1, dtype=np.int32)
    with options.progress.task("nearest items", n) as task:
        for begin in range(0, n, _AT_ONCE):
            rows = np.arange(begin, min(n, begin + _AT_ONCE))
            hits = compared.nearest(rows, k, threads=options.thread_count)
            there = np.arange(hits.items.shape[1]) < hits.counts[:, None]
            found[rows, : there.shape[1]] = np.where(there, hits.items, -1)
            task.advance(len(rows))
    return found


def neighbour_graph(near: npt.NDArray[np.int32]) -> NeighbourGraph:
    """Links of each row with its nearest, and with those whose nearest it is.

    >>> neighbour_graph(np.array([[1], [2], [1]], dtype=np.int32)).linked.tolist()
    [1, 0, 2, 1]
    """
    n, k = near.shape
    there = near.ravel().astype(np.int64)
    here = np.repeat(np.arange(n, dtype=np.int64), k)[there >= 0]
    there = there[there >= 0]
    both = np.sort(np.concatenate([here * n + there, there * n + here]))
    both = both[np.diff(both, prepend=-1) > 0]
    first, second = np.divmod(both, n)
    indptr = np.concatenate([[0], np.bincount(first, minlength=n).cumsum()]).astype(np.int64)
    return NeighbourGraph(indptr, second.astype(np.int32))


_LONGEST = 4.0
_NEAR = 0.1


class Round(NamedTuple):
    """seed, number: key the draws of a round. length: of its steps. rest: how far linked items
    stay apart. pairs: drawn links an item; strangers: others it is pushed away from for each."""

    seed: int
    number: int
    length: float
    rest: float
    pairs: int
    strangers: int


@kernel
def move(
    graph: Any,
    xy: npt.NDArray[np.float32],
    moved: npt.NDArray[np.float32],
    step: Round,
    first: int,
    last: int,
) -> None:
    """Items first .. last - 1 go from `xy` to `moved`: to linked ones, away from strangers.

    The gradients are those of UMAP with w = 1 / (1 + d^2) (McInnes et al. 2018; LargeVis has the
    same): 2 w (y_j - y_i) for a link, 2 w / (0.1 + d^2) (y_i - y_j) for a stranger, each at most 4
    long in x and y; a link shorter than `rest` pushes as a spring would, times 1 - rest / d, so
    that items with equal codes are not one dot. An item draws `pairs` of its links, or takes all of
    them where it has fewer. No item writes what another reads: the same bits for any number of
    threads.
    """
    n, rest = len(xy), np.float32(step.rest)
    for i in range(first, last):
        begin, count = graph.indptr[i], graph.indptr[i + 1] - graph.indptr[i]
        key = stream(step.seed, step.number, i)
        x, y = xy[i, 0], xy[i, 1]
        dx, dy = np.float32(0), np.float32(0)
        drawn = min(count, step.pairs)
        for at in range(drawn):
            place = at if count <= step.pairs else below(draw(key, at), count)
            j = graph.linked[begin + place]
            ax, ay = xy[j, 0] - x, xy[j, 1] - y
            squared = ax * ax + ay * ay
            pull = np.float32(2) / (np.float32(1) + squared)
            if squared < rest * rest:
                pull *= np.float32(1) - rest / np.sqrt(max(squared, np.float32(1e-6) * rest * rest))
            dx += min(max(pull * ax, np.float32(-_LONGEST)), np.float32(_LONGEST))
            dy += min(max(pull * ay, np.float32(-_LONGEST)), np.float32(_LONGEST))
        for at in range(drawn * step.strangers):
            j = below(draw(key, step.pairs + at), n)
            ax, ay = x - xy[j, 0], y - xy[j, 1]
            squared = ax * ax + ay * ay
            push = np.float32(2) / ((np.float32(_NEAR) + squared) * (np.float32(1) + squared))
            dx += min(max(push * ax, np.float32(-_LONGEST)), np.float32(_LONGEST))
            dy += min(max(push * ay, np.float32(-_LONGEST)), np.float32(_LONGEST))
        share = np.float32(step.length) / np.float32(max(drawn, 1))
        moved[i, 0] = x + share * dx
        moved[i, 1] = y + share * dy


_NEIGHBOURS = 15
_ROUNDS = 200
_PAIRS, _STRANGERS = 8, 5
_WIDE = 10.0
"""How far the start reaches."""
_REST, _FEW = 0.5, 5000
"""How far apart linked nodes stay, of what they would if all lay evenly; and up to how many."""
_EQUAL = 0.08
"""How far apart items of equal codes lie, of what all items would."""


def neighbour_layout(
    recommender: Recommender, start: npt.NDArray[np.float32], options: RunOptions
) -> npt.NDArray[np.float64]:
    """Places (m, 2) of all items, from exact neighbours: by Hamming distance where there are codes,
    where items of equal codes are one node and lie close around it."""
    coded = item_codes(recommender)
    if coded is None:
        rows, compared = np.arange(len(start)), recommender.item_neighbours
        nodes = EqualCodes(rows, rows, np.zeros_like(rows))
    else:
        nodes = EqualCodes.of(coded[0], recommender.tie_rank)
        codes = Codes(coded[0][nodes.first], coded[0][nodes.first], coded[1])
        order = np.argsort(np.argsort(recommender.tie_rank[nodes.first])).astype(np.int32)
        compared = SimilarityIndex(codes, index_of(codes, order, threads=options.thread_count))
    k = max(1, min(_NEIGHBOURS, len(nodes.first) - 1))
    graph = neighbour_graph(nearest(compared, k, options))
    rest = _rest(len(nodes.first))
    laid = laid_out(graph, start[nodes.first], options, rest)
    return nodes.spread(laid, _EQUAL * _evenly(len(start)), widest=rest / 3)


def _rest(nodes: int) -> float:
    """How far apart linked nodes stay: more, of an even share, where there are many. Their groups
    are larger and pull closer, and the map would be dots with nothing between."""
    return float(_REST * max(1, nodes / _FEW) ** 0.2 * _evenly(nodes))


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
    xy = _spread(start, options.seed)
    moved = np.empty_like(xy)
    with options.thread_pool() as pool, options.progress.task("layout", rounds) as task:
        for number in range(rounds):
            step = Round(options.seed, number, 1 - number / rounds, rest, _PAIRS, _STRANGERS)
            pool.map_ranges(len(xy), partial(move, graph, xy, moved, step))
            xy, moved = moved, xy
            task.advance()
    return xy


def _spread(start: npt.NDArray[np.float32], seed: int) -> npt.NDArray[np.float32]:
    """The start, 10 to each side, with some noise: what lies in one place could not part."""
    reach = np.abs(start).max(initial=0)
    wide = start.astype(np.float64) * (_WIDE / reach if reach > 0 else 1)
    noise = np.random.default_rng(seed).normal(scale=0.05, size=start.shape)
    return np.ascontiguousarray(wide + noise, dtype=np.float32)
