"""The rankings of all test users, block by block, on any number of threads.

A block is a fixed set of users: its size depends on the number of items alone, and each block is
scored by one thread with one BLAS thread. So the figures are the same, to the last bit, whatever
the number of threads; and products and selections of different blocks run side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.data.tie_rank import TieRank
from xorec.evaluation.metrics import COLUMNS, Floats, Ints, discounts, ideal_dcg
from xorec.evaluation.rank_kernels import count_shown, evaluate_rows
from xorec.representations.base import Representation
from xorec.search.rerank import ranking_scores
from xorec.search.top_k import inverse

BLOCK_BYTES = 24 << 20
"""Scores of one block, about. Larger blocks make a faster product; from 32 MB on, the C library
maps fresh pages for every block, and that costs more than it gains."""

Rows = npt.NDArray[np.int32]
T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True, eq=False)
class Rankings:
    """What is asked of every block, and the arrays that each block fills its part of.

    users (n,): rows with test items; their pairs are cut from test_items and places by
    test_indptr (n + 1,). ks ascend; discount, ideal: tables up to the largest.
    places (pairs, 3): rank, above, tied (see `place_row`). plain, expected: (n, columns, ks).
    """

    users: Ints
    seen: tuple[Ints, Rows]
    test_indptr: Ints
    test_items: Rows
    tie_rank: TieRank
    item_at: Rows
    ks: Ints
    discount: Floats
    ideal: Floats
    places: npt.NDArray[np.int32]
    plain: Floats
    expected: Floats

    @classmethod
    def prepare(
        cls, seen: Interactions, test: Interactions, ks: tuple[int, ...], tie_rank: TieRank
    ) -> Rankings:
        """Lay out the work: `seen` items are out of every ranking."""
        users = np.flatnonzero(test.user_counts)
        shape = (len(users), len(COLUMNS), len(ks))
        width = min(ks[-1], test.n_items)
        return cls(
            users=users,
            seen=(own(seen.indptr, np.int64), own(seen.indices, np.int32)),
            test_indptr=np.concatenate([[0], np.cumsum(test.user_counts[users])]),
            test_items=own(test.indices, np.int32),
            tie_rank=own(tie_rank, np.int32),
            item_at=inverse(tie_rank),
            ks=np.array(ks, dtype=np.int64),
            discount=discounts(width),
            ideal=ideal_dcg(width),
            places=np.empty((test.n_pairs, 3), dtype=np.int32),
            plain=np.empty(shape),
            expected=np.empty(shape),
        )

    @property
    def test_counts(self) -> Ints:
        """Test items of each user, (n,)."""
        return np.diff(self.test_indptr)

    def fill(self, representation: Representation, options: RunOptions) -> Ints:
        """Rank for every user; return how often each item is shown at each k, (len(ks), m)."""
        from threadpoolctl import threadpool_limits

        m = len(self.tie_rank)
        size = block_size(m)
        blocks = [slice(at, at + size) for at in range(0, len(self.users), size)]
        exposure = np.zeros((len(self.ks), m), dtype=np.int64)
        with (
            threadpool_limits(1, user_api="blas"),
            options.progress.task("evaluate", total=len(self.users)) as task,
        ):
            threads = min(options.thread_count, len(blocks))
            for shown in _each(lambda b: self.block(representation, b), blocks, threads):
                count_shown(shown, self.ks, exposure)
                task.advance(len(shown))
        return np.cumsum(exposure, axis=0)

    def block(self, representation: Representation, block: slice) -> Rows:
        """Rank for the users of one block; return the items shown to each, (B, largest k)."""
        users = self.users[block]
        indptr = self.test_indptr[block.start : block.start + len(users) + 1]
        pairs = slice(indptr[0], indptr[-1])
        shown = np.empty((len(users), len(self.discount)), dtype=np.int32)
        evaluate_rows(
            own(ranking_scores(representation, users, self.seen, self.tie_rank), np.float32),
            users,
            *self.seen,
            indptr - indptr[0],
            self.test_items[pairs],
            self.tie_rank,
            self.item_at,
            self.ks,
            self.discount,
            self.ideal,
            self.places[pairs],
            self.plain[block],
            self.expected[block],
            shown,
        )
        return shown


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


def own(array: npt.NDArray[T], dtype: type[T]) -> npt.NDArray[T]:
    """The array as the kernels want it: C order, this type, writable (one compiled variant)."""
    return np.require(array, dtype=dtype, requirements=["C", "W"])
