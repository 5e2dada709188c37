"""Lists for everybody, block by block, streamed to a file: memory never grows with the users."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import positive_int
from xorec.core.errors import OptionError
from xorec.core.files import replacing
from xorec.core.options import DEFAULTS, RunOptions
from xorec.core.progress import Task
from xorec.data.ids import Ids
from xorec.search.hits import Hits

if TYPE_CHECKING:
    import polars as pl

    from xorec.recommender.recommender import Recommender

Rows = npt.NDArray[np.int64]
BLOCK_HITS = 1 << 18
"""Hits of one block, about."""


@dataclass(frozen=True, eq=False)
class Lists:
    """Lists of `found` for each of `asked`: how a block is searched, and what columns are called.

    search(rows, threads) gives the hits of the rows of a block.
    """

    asked: Ids
    found: Ids
    names: tuple[str, str]
    k: int
    search: Callable[[Rows, int], Hits]

    def blocks(self, options: RunOptions = DEFAULTS) -> Iterator[tuple[Rows, Hits]]:
        """(rows, hits) for consecutive rows, all of them."""
        size = max(1, BLOCK_HITS // self.k)
        for begin in range(0, len(self.asked), size):
            rows = np.arange(begin, min(len(self.asked), begin + size))
            yield rows, self.search(rows, options.thread_count)


def for_all_users(recommender: Recommender, k: int, *, seen: bool = False) -> Lists:
    """Each user's `k` best items, without the ones they have unless `seen`."""

    def search(rows: Rows, threads: int) -> Hits:
        indptr, items = recommender.seen
        begin, end = indptr[rows[0]], indptr[rows[-1] + 1]
        own = indptr[rows[0] : rows[-1] + 2] - begin, items[begin:end]
        queries = recommender.representation.queries(rows)
        exclude = None if seen else own
        return recommender.index.search(queries, k, exclude=exclude, threads=threads)

    return Lists(recommender.users, recommender.items, ("user", "item"), positive_int(k), search)


def for_all_items(recommender: Recommender, k: int) -> Lists:
    """Each item's `k` most similar items."""
    beside = recommender.item_neighbours

    def search(rows: Rows, threads: int) -> Hits:
        return beside.nearest(rows, k, threads)

    return Lists(recommender.items, recommender.items, ("item", "similar"), positive_int(k), search)


def write(lists: Lists, path: Path, options: RunOptions = DEFAULTS) -> int:
    """Write the lists to a Parquet or CSV file, whole or not at all; returns the rows written.

    Columns: who was asked for, rank (from 1), what was found, score, and the Hamming distance
    where there is one.
    """
    from polars.io.plugins import register_io_source

    if path.suffix not in (".parquet", ".csv"):
        raise OptionError(
            f"cannot write lists to {path}: give a name that ends in .parquet or .csv."
        )
    asked, found = _series(lists.asked), _series(lists.found)
    written = 0

    def source(task: Task) -> Iterator[pl.DataFrame]:
        nonlocal written
        for rows, hits in lists.blocks(options):
            frame = _frame(lists, rows, hits, asked, found)
            written += len(frame)
            task.advance(len(rows))
            yield frame

    first = lists.search(np.zeros(1, dtype=np.int64), 1)
    schema = _frame(lists, np.zeros(1, dtype=np.int64), first, asked, found).schema
    with (
        replacing(path) as temporary,
        options.progress.task(f"lists of {lists.k}", len(lists.asked)) as task,
    ):
        frames = register_io_source(lambda *_: source(task), schema=schema, is_pure=False)
        if path.suffix == ".csv":
            frames.sink_csv(temporary, maintain_order=True)
        else:
            frames.sink_parquet(temporary, maintain_order=True)
    return written


def _series(ids: Ids) -> pl.Series:
    import polars as pl

    values = ids.values
    return pl.Series(values if isinstance(values, np.ndarray) else list(values))


def _frame(
    lists: Lists, rows: Rows, hits: Hits, asked: pl.Series, found: pl.Series
) -> pl.DataFrame:
    import polars as pl

    there = np.arange(hits.items.shape[1]) < hits.counts[:, None]
    who, what = lists.names
    rank = np.broadcast_to(np.arange(1, there.shape[1] + 1, dtype=np.int32), there.shape)
    columns: dict[str, Any] = {
        who: asked.gather(np.repeat(rows, hits.counts)),
        "rank": rank[there],
        what: found.gather(hits.items[there]),
        "score": hits.scores[there],
    }
    if hits.distances is not None:
        columns["distance"] = hits.distances[there]
    return pl.DataFrame(columns)
