"""The rankings of all test users, block by block: in threads of this process, or on an engine.

A block is a fixed set of users: its size depends on the number of items alone, and each block is
scored by one thread with one BLAS thread. So the figures are the same, to the last bit, whatever
the number of threads or machines; and products and selections of different blocks run side by side.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import as_contiguous
from xorec.core.engine import Arrays, Engine, LocalEngine
from xorec.core.kernels import kernel
from xorec.core.options import RunOptions
from xorec.core.threads import LRUCache
from xorec.data.interactions import Interactions, UserItems
from xorec.data.text import gather_spans
from xorec.data.tie_rank import TieRank
from xorec.evaluation.metrics import USER_METRICS
from xorec.evaluation.metrics.base import (
    MISSED,
    Cuts,
    Floats,
    Ints,
    Measure,
    RankedTests,
    make_cuts,
)
from xorec.representations import representation_class
from xorec.representations.base import Representation
from xorec.search.top_k import (
    CHUNK,
    POSITION,
    Items,
    Keys,
    Row,
    TieRanks,
    best_keys,
    inverse,
    score_key,
)
from xorec.search.two_stage import served_scores

BLOCK_BYTES = 24 << 20
"""Scores of one block, about. Larger blocks make a faster product; from 32 MB on, the C library
maps fresh pages for every block, and that costs more than it gains."""

_LEARNED = "representation."
"""How the names of what was learned begin among shared arrays."""

Rows = npt.NDArray[np.int32]


class Ranker:
    """Ranks for the users of a block: a block in, arrays out, nothing is written to."""

    def __init__(
        self, representation: Representation, tie_rank: Rows, cuts: Cuts, threads: int = 1
    ) -> None:
        self._ties, self._cuts = TieRanks(tie_rank, inverse(tie_rank)), cuts
        self._scores_of = served_scores(representation, tie_rank, threads)

    def rank(self, block: Arrays) -> Arrays:
        """lists (B, largest k) of what each user gets; places (pairs, 3), see `place_row`; values
        (measures, B, K) of each user.

        block: rows of users; what they have seen and their test items, each by offsets and items.
        """
        users = block["users"]
        seen = UserItems(_int64(block["seen_indptr"]), _int32(block["seen"]))
        tests = UserItems(_int64(block["tests_indptr"]), _int32(block["tests"]))
        places = np.empty((len(tests.items), 3), dtype=np.int32)
        lists = np.empty((len(users), len(self._cuts.discount)), dtype=np.int32)
        scores = self._scores_of(users, seen)
        scores = as_contiguous(scores.astype(np.float32, copy=False))
        rank_users(scores, seen, tests, self._ties, places, lists)
        ranks = RankedTests(tests.indptr, *sort_places(tests.indptr, places))
        values = np.empty((len(measures()), len(users), len(self._cuts.ks)))
        for measure, filled in zip(measures(), values, strict=True):
            measure(ranks, self._cuts, filled)
        return {"lists": lists, "places": places, "values": values}


def measures() -> list[Measure]:
    """The kernels of all metrics of users, each once, in the order of the registry."""
    every = (one for metric in USER_METRICS.values() for one in metric.measures.values())
    return list(dict.fromkeys(every))


_RANKERS = LRUCache[Ranker](most=1)
"""Of a process that ranks blocks for others."""


def rank_block(block: Arrays, shared: Arrays, *, key: str, kind: str) -> Arrays:
    """A block function: `Ranker.rank`, the ranker made of the shared arrays.

    key: of these very arrays; kind: of the representation.
    """

    def make() -> Ranker:
        names = [name for name in shared if name.startswith(_LEARNED)]
        named = {name.removeprefix(_LEARNED): shared[name] for name in names}
        cuts = Cuts(*(as_contiguous(shared[f"cuts.{name}"]) for name in Cuts._fields))
        learned = representation_class(kind).from_tensors(named)
        return Ranker(learned, as_contiguous(shared["tie_rank"]), cuts)

    return _RANKERS.get(key, make).rank(block)


@dataclass(frozen=True, eq=False)
class Rankings:
    """What is asked of every block, and the arrays that the answers fill.

    users (n,): rows with test items. seen: by user row; tests: of `users`, in their order.
    places (pairs, 3), by test pair: rank, above, tied (see `place_row`). values: what each
    measure of the registry gives for each user at each cut-off, (n, K).
    """

    users: Ints
    seen: UserItems
    tests: UserItems
    tie_rank: Rows
    cuts: Cuts
    places: npt.NDArray[np.int32]
    values: dict[Measure, Floats]

    @classmethod
    def prepare(
        cls, seen: Interactions, test: Interactions, ks: tuple[int, ...], tie_rank: TieRank
    ) -> Rankings:
        """Lay out the work: `seen` items are out of every ranking."""
        users = np.flatnonzero(test.user_counts)
        indptr = np.concatenate([[0], np.cumsum(test.user_counts[users])])
        return cls(
            users=users,
            seen=UserItems(_int64(seen.indptr), _int32(seen.indices)),
            tests=UserItems(indptr, _int32(test.indices)),
            tie_rank=_int32(tie_rank),
            cuts=make_cuts(ks, test.n_items),
            places=np.empty((test.n_pairs, 3), dtype=np.int32),
            values={measure: np.empty((len(users), len(ks))) for measure in measures()},
        )

    @property
    def test_counts(self) -> Ints:
        """Test items of each user, (n,)."""
        return np.diff(self.tests.indptr)

    def fill(self, representation: Representation, options: RunOptions) -> Ints:
        """Rank for every user; return how often each item is shown at each k, (K, m)."""
        m = len(self.tie_rank)
        size = block_size(m)
        spans = [slice(at, at + size) for at in range(0, len(self.users), size)]
        exposure = np.zeros((len(self.cuts.ks), m), dtype=np.int64)
        engine = options.remote_engine
        if engine is None:
            ranked = self._ranked_here(representation, spans, options.thread_count)
        else:
            ranked = self._ranked_on(engine, representation, spans)
        with options.progress.task("evaluate", total=len(self.users)) as task:
            for span, made in zip(spans, ranked, strict=True):
                self.places[self._pairs(span)] = made["places"]
                for values, filled in zip(self.values.values(), made["values"], strict=True):
                    values[span] = filled
                count_exposure(as_contiguous(made["lists"]), self.cuts.ks, exposure)
                task.advance(len(made["lists"]))
        return np.cumsum(exposure, axis=0)

    def _ranked_here(
        self, representation: Representation, spans: list[slice], threads: int
    ) -> Iterator[Arrays]:
        from threadpoolctl import threadpool_limits

        ranker = Ranker(representation, self.tie_rank, self.cuts, threads)
        engine = LocalEngine(min(threads, len(spans)))
        with threadpool_limits(1, user_api="blas"):
            yield from engine.map_blocks(
                lambda block, _: ranker.rank(block), map(self._block, spans)
            )

    def _ranked_on(
        self, engine: Engine, representation: Representation, spans: list[slice]
    ) -> Iterator[Arrays]:
        learned = {_LEARNED + name: array for name, array in representation.tensors().items()}
        cuts = {f"cuts.{name}": array for name, array in self.cuts._asdict().items()}
        shared = {**learned, **cuts, "tie_rank": self.tie_rank}
        how = {"key": secrets.token_hex(8), "kind": representation.kind}
        yield from engine.map_blocks(rank_block, map(self._block, spans), [shared], **how)

    def _block(self, span: slice) -> Arrays:
        """What is asked of some users: what they have seen, their test items."""
        users, pairs = self.users[span], self._pairs(span)
        indptr = self.tests.indptr[span.start : span.start + len(users) + 1]
        at, seen_indptr = gather_spans(self.seen.indptr, users)
        return {
            "users": users,
            "seen_indptr": seen_indptr,
            "seen": self.seen.items[at],
            "tests_indptr": indptr - indptr[0],
            "tests": self.tests.items[pairs],
        }

    def _pairs(self, span: slice) -> slice:
        """The test pairs of some users."""
        ends = self.tests.indptr[[span.start, min(span.stop, len(self.users))]]
        return slice(*ends)


def block_size(n_items: int) -> int:
    """Users in a block: by the number of items alone, so that results never depend on threads."""
    return int(np.clip(BLOCK_BYTES // (4 * n_items), 32, 1024))


def _int32(array: npt.NDArray[np.integer]) -> Rows:
    return as_contiguous(array.astype(np.int32, copy=False))


def _int64(array: npt.NDArray[np.integer]) -> Ints:
    return as_contiguous(array.astype(np.int64, copy=False))


_HALF = np.uint64(32)


@kernel
def place_row(
    row: Row,
    tests: Items,
    excluded: Items,
    tie_rank: Items,
    keys: Keys,
    found: int,
    kept: int,
    places: Any,
) -> None:
    """Fill `places` (tests, 3) = rank, above, tied, from the row's keys (see `best_keys`).

    rank: 1-based, 0 if not among the kept. above: how many items score higher. tied: how many
    score the same, itself among them; 0 if no kept item has that score.
    """
    places[:] = 0
    if kept == 0:
        return
    best = keys[:kept]
    last = best[kept - 1] >> _HALF
    tied_with_last = 0
    for place in range(found):
        tied_with_last += (keys[place] >> _HALF) == last
    for t in range(len(tests)):
        item = tests[t]
        score = score_key(row[item])
        group = score >> _HALF
        at = np.searchsorted(excluded, item)
        if group > last or (at < len(excluded) and excluded[at] == item):
            continue
        key = score | np.uint64(tie_rank[item])
        at = np.searchsorted(best, key)
        above = np.searchsorted(best, score)
        places[t, 0] = at + 1 if at < kept and best[at] == key else 0
        places[t, 1] = above
        if group == last:
            places[t, 2] = tied_with_last
        else:
            places[t, 2] = np.searchsorted(best, score | POSITION, side="right") - above


@kernel
def rank_users(
    scores: Any, seen: UserItems, tests: UserItems, ties: TieRanks, places: Any, lists: Any
) -> None:
    """Rank for the users of a block by their `scores` (B, m), items of `seen` out.

    seen, tests: of user b of this block; places (its pairs, 3): see `place_row`. lists
    (B, K): the items that each user gets, -1 behind the last one.
    """
    m = scores.shape[1]
    keys = np.empty(m, dtype=np.uint64)
    candidates = np.empty(m + 1, dtype=np.int32)
    maxima = np.empty((m + CHUNK - 1) // CHUNK, dtype=np.int32)
    k = lists.shape[1]
    for b in range(len(scores)):
        row = scores[b]
        excluded = seen.items[seen.indptr[b] : seen.indptr[b + 1]]
        found = best_keys(row, k, excluded, ties.tie_rank, keys, candidates, maxima)
        kept = min(k, found)
        span = slice(tests.indptr[b], tests.indptr[b + 1])
        place_row(row, tests.items[span], excluded, ties.tie_rank, keys, found, kept, places[span])
        lists[b, kept:] = -1
        for place in range(kept):
            lists[b, place] = ties.item_at[np.int64(keys[place] & POSITION)]


@kernel
def sort_places(indptr: Ints, places: Any) -> Any:
    """The places (pairs, 3) of each user in the orders of `RankedTests`: ranks, above, tied."""
    ranks = np.full(len(places), MISSED, dtype=np.int32)
    above, tied = np.full_like(ranks, MISSED), np.zeros_like(ranks)
    groups = np.empty(len(places), dtype=np.int64)
    for user in range(len(indptr) - 1):
        n_ranks = n_groups = begin = indptr[user]
        for t in range(begin, indptr[user + 1]):
            if places[t, 0] > 0:
                ranks[n_ranks] = places[t, 0]
                n_ranks += 1
            if places[t, 2] > 0:
                groups[n_groups] = (np.int64(places[t, 1]) << 32) | np.int64(places[t, 2])
                n_groups += 1
        ranks[begin:n_ranks].sort()
        groups[begin:n_groups].sort()
        for t in range(begin, n_groups):
            above[t], tied[t] = groups[t] >> 32, groups[t] & 0xFFFFFFFF
    return ranks, above, tied


@kernel
def count_exposure(lists: Any, ks: npt.NDArray[np.int64], exposure: Any) -> None:
    """Add to `exposure` (len(ks), m) each item of the lists, at the first of the ks that has it."""
    for b in range(lists.shape[0]):
        slot = 0
        for place in range(lists.shape[1]):
            if lists[b, place] < 0:
                break
            while place >= ks[slot]:
                slot += 1
            exposure[slot, lists[b, place]] += 1
