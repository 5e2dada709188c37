"""The rankings of all test users, block by block, on any number of threads.

A block is a fixed set of users: its size depends on the number of items alone, and each block is
scored by one thread with one BLAS thread. So the figures are the same, to the last bit, whatever
the number of threads; and products and selections of different blocks run side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import as_contiguous
from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions, UserItems
from xorec.data.tie_rank import TieRank
from xorec.evaluation.metrics.base import Cuts, Floats, Ints, Measure, RankedTests, make_cuts
from xorec.evaluation.metrics.registry import USER_METRICS
from xorec.evaluation.rank_kernels import (
    TieOrder,
    count_exposure,
    rank_users,
    sort_places,
)
from xorec.representations.base import Representation
from xorec.search.served import ServedScores, served_scores
from xorec.search.top_k import inverse

BLOCK_BYTES = 24 << 20
"""Scores of one block, about. Larger blocks make a faster product; from 32 MB on, the C library
maps fresh pages for every block, and that costs more than it gains."""

Rows = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False)
class Rankings:
    """What is asked of every block, and the arrays that each block fills its part of.

    users (n,): rows with test items. seen: by user row; tests: of `users`, in their order.
    places (pairs, 3), by test pair: rank, above, tied (see `place_row`). values: what each
    measure of the registry gives for each user at each cut-off, (n, K).
    """

    users: Ints
    seen: UserItems
    tests: UserItems
    ties: TieOrder
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
        measures = [one for metric in USER_METRICS.values() for one in metric.measures.values()]
        return cls(
            users=users,
            seen=UserItems(_int64(seen.indptr), _int32(seen.indices)),
            tests=UserItems(indptr, _int32(test.indices)),
            ties=TieOrder(_int32(tie_rank), inverse(tie_rank)),
            cuts=make_cuts(ks, test.n_items),
            places=np.empty((test.n_pairs, 3), dtype=np.int32),
            values={measure: np.empty((len(users), len(ks))) for measure in measures},
        )

    @property
    def test_counts(self) -> Ints:
        """Test items of each user, (n,)."""
        return np.diff(self.tests.indptr)

    def fill(self, representation: Representation, options: RunOptions) -> Ints:
        """Rank for every user; return how often each item is shown at each k, (K, m)."""
        from threadpoolctl import threadpool_limits

        m = len(self.ties.rank)
        size = block_size(m)
        blocks = [slice(at, at + size) for at in range(0, len(self.users), size)]
        exposure = np.zeros((len(self.cuts.ks), m), dtype=np.int64)
        scores_of = served_scores(representation, self.ties.rank, options.thread_count)
        with (
            threadpool_limits(1, user_api="blas"),
            options.progress.task("evaluate", total=len(self.users)) as task,
        ):
            threads = min(options.thread_count, len(blocks))
            for lists in _each(lambda b: self.block(scores_of, b), blocks, threads):
                count_exposure(lists, self.cuts.ks, exposure)
                task.advance(len(lists))
        return np.cumsum(exposure, axis=0)

    def block(self, scores_of: ServedScores, block: slice) -> Rows:
        """Rank for the users of one block; return the list of each, (B, largest k)."""
        users = self.users[block]
        indptr = self.tests.indptr[block.start : block.start + len(users) + 1]
        pairs = slice(indptr[0], indptr[-1])
        tests = UserItems(indptr - indptr[0], self.tests.items[pairs])
        places = self.places[pairs]
        lists = np.empty((len(users), len(self.cuts.discount)), dtype=np.int32)
        scores = scores_of(users, self.seen)
        scores = as_contiguous(scores.astype(np.float32, copy=False))
        rank_users(scores, users, self.seen, tests, self.ties, places, lists)
        ranks = RankedTests(tests.indptr, *sort_places(tests.indptr, places))
        for measure, values in self.values.items():
            measure(ranks, self.cuts, values[block])
        return lists


def block_size(n_items: int) -> int:
    """Users in a block: by the number of items alone, so that results never depend on threads."""
    return int(np.clip(BLOCK_BYTES // (4 * n_items), 32, 1024))


def _each(work: Callable[[slice], Rows], blocks: Iterable[slice], threads: int) -> Iterator[Rows]:
    """The results of all blocks, in order."""
    if threads == 1:
        yield from map(work, blocks)
        return
    executor = ThreadPoolExecutor(threads)
    try:
        yield from executor.map(work, blocks)
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def _int32(array: npt.NDArray[np.integer]) -> Rows:
    return as_contiguous(array.astype(np.int32, copy=False))


def _int64(array: npt.NDArray[np.integer]) -> Ints:
    return as_contiguous(array.astype(np.int64, copy=False))
