"""evaluate: full ranking of all items for every test user, in blocks, on any number of threads.

A block is a fixed set of users: its size depends on the number of items alone, and each block is
scored by one thread with one BLAS thread. So the figures are the same, to the last bit, whatever
the number of threads; and products and selections of different blocks run side by side.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import TypeVar

import numpy as np
import numpy.typing as npt

from xorec.data.interactions import Interactions
from xorec.errors import DataError, OptionError
from xorec.evaluation.metrics import COLUMNS, discounts, ideal_dcg
from xorec.evaluation.result import Evaluation, per_user_values, totals
from xorec.options import DEFAULTS, RunOptions
from xorec.representations.base import Representation
from xorec.search.ties import TieRank
from xorec.search.ties import tie_rank as make_tie_rank
from xorec.search.top_k import check_k, inverse

BLOCK_BYTES = 8 << 20
"""Scores of one block, about: small enough for the cache, large enough for the product."""

KS = (10, 20, 50, 100)

T = TypeVar("T", bound=np.generic)


def evaluate(
    representation: Representation,
    train: Interactions,
    test: Interactions,
    *,
    ks: Sequence[int] = KS,
    exclude: Interactions | None = None,
    tie_rank: TieRank | None = None,
    options: RunOptions = DEFAULTS,
    by_category: bool = False,
) -> Evaluation:
    """Rank all items for every user with test items and measure how well the test items rank.

    Items of `train`, and of `exclude` (the validation part, say), are out of the ranking; a test
    item among them counts as missed. Equal scores rank by `tie_rank` (by default popularity in
    `train`, then a hash of the id); the "_expected" metrics are over random tie orders instead.
    `by_category` adds NDCG for each category of items (docs/evaluation.md says how it is defined).
    """
    cuts = _check(representation, train, test, ks, exclude)
    if tie_rank is None:
        tie_rank = make_tie_rank(train.items, train.item_counts, 0)
    elif tie_rank.shape != (train.n_items,):
        raise DataError(f"tie_rank has shape {tie_rank.shape} but there are {train.n_items} items.")
    work = _Work.prepare(representation, train, test, cuts, exclude, tie_rank)
    exposure = work.run(options)
    per_user = per_user_values(cuts, work.plain, work.expected, work.test_counts)
    metrics = totals(cuts, per_user, work.test_counts, exposure)
    return Evaluation(work.users, work.test_counts, per_user, metrics)


@dataclass
class _Work:
    """The arrays that all blocks read, and those that each block fills its part of."""

    representation: Representation
    users: npt.NDArray[np.int64]
    seen: tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]
    test_indptr: npt.NDArray[np.int64]
    test_items: npt.NDArray[np.int32]
    tie_rank: npt.NDArray[np.int32]
    item_at: npt.NDArray[np.int32]
    ks: npt.NDArray[np.int64]
    places: npt.NDArray[np.int32]
    plain: npt.NDArray[np.float64]
    expected: npt.NDArray[np.float64]

    @classmethod
    def prepare(
        cls,
        representation: Representation,
        train: Interactions,
        test: Interactions,
        ks: tuple[int, ...],
        exclude: Interactions | None,
        tie_rank: TieRank,
    ) -> _Work:
        users = np.flatnonzero(test.user_counts)
        shape = (len(users), len(COLUMNS), len(ks))
        seen = train if exclude is None else _union(train, exclude)
        return cls(
            representation,
            users,
            (_own(seen.indptr, np.int64), _own(seen.indices, np.int32)),
            np.concatenate([[0], np.cumsum(test.user_counts[users])]).astype(np.int64),
            _own(test.indices, np.int32),
            _own(tie_rank, np.int32),
            inverse(tie_rank),
            np.array(ks, dtype=np.int64),
            np.empty((test.n_pairs, 3), dtype=np.int32),
            np.empty(shape),
            np.empty(shape),
        )

    @property
    def test_counts(self) -> npt.NDArray[np.int64]:
        return np.diff(self.test_indptr)

    def run(self, options: RunOptions) -> npt.NDArray[np.int64]:
        """Do every block; return how often each item is shown at each k, (len(ks), m)."""
        from threadpoolctl import threadpool_limits

        from xorec.evaluation.rank_kernels import count_shown

        m = len(self.tie_rank)
        size = block_size(m)
        blocks = [slice(at, at + size) for at in range(0, len(self.users), size)]
        width = min(int(self.ks[-1]), m)
        table = discounts(width), ideal_dcg(width)
        exposure = np.zeros((len(self.ks), m), dtype=np.int64)
        with (
            threadpool_limits(1, user_api="blas"),
            options.progress.task("evaluate", total=len(self.users)) as task,
        ):
            for shown in _each(lambda b: self.block(b, width, table), blocks, options.thread_count):
                count_shown(shown, self.ks, exposure)
                task.advance(len(shown))
        return np.cumsum(exposure, axis=0)

    def block(
        self,
        block: slice,
        width: int,
        table: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]],
    ) -> npt.NDArray[np.int32]:
        """Rank the users of one block; return the items shown to each, (B, width)."""
        from xorec.evaluation.rank_kernels import evaluate_rows

        rows = self.users[block]
        scores = np.ascontiguousarray(self.representation.scores(rows), dtype=np.float32)
        indptr = self.test_indptr[block.start : block.start + len(rows) + 1]
        pairs = slice(indptr[0], indptr[-1])
        shown = np.empty((len(rows), width), dtype=np.int32)
        evaluate_rows(
            scores,
            rows,
            *self.seen,
            indptr - indptr[0],
            self.test_items[pairs],
            self.tie_rank,
            self.item_at,
            self.ks,
            *table,
            self.places[pairs],
            self.plain[block],
            self.expected[block],
            shown,
        )
        return shown


def block_size(n_items: int) -> int:
    """Users in a block: by the number of items alone, so that results never depend on threads."""
    return int(np.clip(BLOCK_BYTES // (4 * n_items), 32, 1024))


def _each(
    work: Callable[[slice], npt.NDArray[np.int32]], blocks: Iterable[slice], threads: int
) -> Iterator[npt.NDArray[np.int32]]:
    """The results of all blocks, in order."""
    if threads == 1:
        yield from map(work, blocks)
        return
    executor = ThreadPoolExecutor(threads)
    try:
        yield from executor.map(work, blocks)
    finally:
        executor.shutdown(wait=True, cancel_futures=True)


def _check(
    representation: Representation,
    train: Interactions,
    test: Interactions,
    ks: Sequence[int],
    exclude: Interactions | None,
) -> tuple[int, ...]:
    """Refuse what does not fit together; return the ks, ascending and distinct."""
    if not ks:
        raise OptionError("ks is empty: give at least one k, for example ks=(10,).")
    cuts = tuple(sorted({check_k(k) for k in ks}))
    test.require_pairs("the test part")
    shape = (train.n_users, train.n_items)
    parts: list[tuple[str, Interactions | Representation]]
    parts = [("the test part", test), ("the representation", representation)]
    if exclude is not None:
        parts.append(("the excluded part", exclude))
    for name, part in parts:
        if (part.n_users, part.n_items) != shape:
            raise DataError(
                f"{name} has {part.n_users} users x {part.n_items} items but the training part "
                f"has {shape[0]} x {shape[1]}: cut all parts from one data set."
            )
    return cuts


def _union(a: Interactions, b: Interactions) -> Interactions:
    users = np.concatenate([a.user_rows, b.user_rows])
    items = np.concatenate([a.indices, b.indices])
    return Interactions.from_rows(a.users, a.items, users, items)


def _own(array: npt.NDArray[T], dtype: type[T]) -> npt.NDArray[T]:
    """The array as the kernels want it: C order, this type, writable (one compiled variant)."""
    return np.require(array, dtype=dtype, requirements=["C", "W"])
