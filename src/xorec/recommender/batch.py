"""Lists of all users or items, block by block, streamed to a file in bounded memory."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import positive_int
from xorec.core.engine import NOTHING, Arrays, Engine
from xorec.core.errors import OptionError
from xorec.core.files import replacing, temporary_folder, write_frames
from xorec.core.memory import require_address_space
from xorec.core.options import DEFAULTS, RunOptions
from xorec.core.progress import Task, logged
from xorec.core.threads import LRUCache
from xorec.data.ids import Ids
from xorec.data.text import Text
from xorec.recommender.recommender import Recommender
from xorec.recommender.results import ItemFilter
from xorec.search.hits import Hits

if TYPE_CHECKING:
    import polars as pl

Rows = npt.NDArray[np.int64]
BLOCK_HITS = 1 << 18
"""Hits of one block, about."""


@dataclass(frozen=True, eq=False)
class RemoteJob:
    """What another process needs to make the same job (`_job_of`): the model, and what is asked.

    settings: of `search_span`. rows: those of `allow` and `deny`, where there are any.
    """

    recommender: Recommender
    settings: dict[str, Any]
    rows: Arrays

    def hits(self, engine: Engine, spans: list[tuple[int, int]]) -> Iterator[Hits]:
        """The hits of each span; the model is a file that every process maps, index and all."""
        with temporary_folder() as folder:
            path = folder / "model.xorec"
            self.recommender.save(path, index=True)
            blocks = ({"span": np.array(span)} for span in spans)
            with engine.share_file("model", path) as model:
                for found in engine.map_blocks(
                    search_span, blocks, [model, self.rows], **self.settings
                ):
                    yield Hits(**found)


@dataclass(frozen=True, eq=False)
class BatchJob:
    """A list for each of `query_ids`, of `result_ids`: how a block of them is searched.

    columns: what both ids are called in the file. search(rows, threads) gives the hits of the rows
    of a block. names: of the results, where they have any. remote: for other processes; without it
    all is searched here.
    """

    query_ids: Ids
    result_ids: Ids
    columns: tuple[str, str]
    k: int
    search: Callable[[Rows, int], Hits]
    names: Text | None = None
    remote: RemoteJob | None = None

    def blocks(self, options: RunOptions = DEFAULTS) -> Iterator[tuple[Rows, Hits]]:
        """(rows, hits) for consecutive rows, all of them."""
        size, n = max(1, BLOCK_HITS // self.k), len(self.query_ids)
        spans = [(begin, min(n, begin + size)) for begin in range(0, n, size)]
        engine = options.remote_engine
        found: Iterator[Hits]
        if engine is None or self.remote is None:
            found = (self.search(np.arange(*span), options.thread_count) for span in spans)
        else:
            found = self.remote.hits(engine, spans)
        for span, hits in zip(spans, found, strict=True):
            yield np.arange(*span), hits


_JOBS = LRUCache[BatchJob](most=1)
"""Of a process that searches blocks for others, by the path of the model."""


def search_span(block: Arrays, shared: Arrays, *, lists: str, k: int, seen: bool) -> Arrays:
    """A block function: the hits of rows span[0] up to span[1], by the shared model."""
    job = _JOBS.get(str(shared["model"]), lambda: _job_of(shared, lists, k, seen))
    hits = job.search(np.arange(*block["span"]), 1)
    distances = {} if hits.distances is None else {"distances": hits.distances}
    return {"items": hits.items, "scores": hits.scores, "counts": hits.counts, **distances}


def _job_of(shared: Arrays, lists: str, k: int, seen: bool) -> BatchJob:
    recommender = Recommender.load(str(shared["model"]), verify=False, threads=1)
    if lists == "items":
        return for_all_items(recommender, k)
    ids, index = recommender.item_ids, recommender.index
    allow = ItemFilter(ids, shared["allow"], index) if "allow" in shared else None
    return for_all_users(recommender, k, seen=seen, allow=allow, deny=ids.take(shared["deny"]))


def for_all_users(
    recommender: Recommender,
    k: int,
    *,
    seen: bool = False,
    allow: ItemFilter | None = None,
    deny: Iterable[Hashable] = (),
) -> BatchJob:
    """Each user's `k` best items, without the ones they have unless `seen`.

    allow, deny: only these items, none of these; see `Recommender.recommend`.
    """
    index, denied = recommender.index, recommender.item_rows(deny)
    allowed = None if allow is None else allow.prepared_for(recommender.item_ids, index)

    def search(rows: Rows, threads: int) -> Hits:
        indptr, items = recommender.seen
        begin, end = indptr[rows[0]], indptr[rows[-1] + 1]
        user_items = indptr[rows[0] : rows[-1] + 2] - begin, items[begin:end]
        queries = recommender.representation.queries(rows)
        exclude = None if seen else user_items
        return index.search(
            queries, k, exclude=exclude, allow=allowed, deny=denied, threads=threads
        )

    ids, names = (recommender.user_ids, recommender.item_ids), recommender.names
    rows = {"deny": denied} if allow is None else {"deny": denied, "allow": allow.rows}
    remote = RemoteJob(recommender, {"lists": "users", "k": k, "seen": seen}, rows)
    return BatchJob(*ids, ("user", "item"), positive_int(k), search, names, remote)


def for_all_items(recommender: Recommender, k: int) -> BatchJob:
    """Each item's `k` most similar items.

    >>> from xorec.testing.examples import shop
    >>> ((rows, hits),) = for_all_items(shop(), k=1).blocks()
    >>> len(rows)
    3
    """
    neighbours = recommender.item_neighbours

    def search(rows: Rows, threads: int) -> Hits:
        return neighbours.nearest(rows, k, threads)

    ids, names = (recommender.item_ids, recommender.item_ids), recommender.names
    remote = RemoteJob(recommender, {"lists": "items", "k": k, "seen": False}, NOTHING)
    return BatchJob(*ids, ("item", "similar"), positive_int(k), search, names, remote)


@dataclass(frozen=True)
class BatchSummary:
    """What was written: lists of at most `k`, rows in all, bytes of the file, seconds it took."""

    output: str
    lists: int
    rows: int
    k: int
    bytes: int
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """The one JSON shape of the command line and the service."""
        return asdict(self)


def write(job: BatchJob, path: Path, options: RunOptions = DEFAULTS) -> BatchSummary:
    """Write the lists to a Parquet or CSV file, whole or not at all.

    Columns: what was asked for, rank (from 1), what was found, its name where the model has names,
    score, and the Hamming distance where there is one.

    >>> import tempfile
    >>> from xorec.testing.examples import shop
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     write(for_all_users(shop(), k=1), Path(folder) / "lists.csv").rows
    4
    """
    require_address_space()
    if path.suffix not in (".parquet", ".csv"):
        raise OptionError(
            f"cannot write lists to {path}: give a name that ends in .parquet or .csv."
        )
    began = time.perf_counter()
    queries, results = _series(job.query_ids), {job.columns[1]: _series(job.result_ids)}
    if job.names is not None:
        results["name"] = _series(job.names)
    written = 0

    def blocks(task: Task) -> Iterator[pl.DataFrame]:
        nonlocal written
        for rows, hits in job.blocks(options):
            frame = _frame(job.columns[0], queries.gather(rows), results, hits)
            written += len(frame)
            task.advance(len(rows))
            yield frame

    first = job.search(np.zeros(1, dtype=np.int64), 1)
    schema = _frame(job.columns[0], queries[:1], results, first).schema
    with (
        logged("batch", lists=len(job.query_ids), k=job.k),
        replacing(path) as temporary,
        options.progress.task(f"lists of {job.k}", len(job.query_ids)) as task,
    ):
        write_frames(blocks(task), schema, temporary, csv=path.suffix == ".csv")
    size, seconds = path.stat().st_size, time.perf_counter() - began
    return BatchSummary(str(path), len(job.query_ids), written, job.k, size, seconds)


def _series(ids: Ids | Text) -> pl.Series:
    import polars as pl

    values = ids.values if isinstance(ids, Ids) else ids
    return pl.Series(values if isinstance(values, np.ndarray) else list(values))


def _frame(
    asked: str, queries: pl.Series, results: dict[str, pl.Series], hits: Hits
) -> pl.DataFrame:
    """The lists of a block as rows.

    asked, queries: what the ids of the block are called, and they; results: all ids, and names.
    """
    import polars as pl

    there = np.arange(hits.items.shape[1]) < hits.counts[:, None]
    rank = np.broadcast_to(np.arange(1, there.shape[1] + 1, dtype=np.int32), there.shape)
    columns: dict[str, Any] = {
        asked: queries.gather(np.repeat(np.arange(len(hits)), hits.counts)),
        "rank": rank[there],
        **{name: every.gather(hits.items[there]) for name, every in results.items()},
        "score": hits.scores[there],
    }
    if hits.distances is not None:
        columns["distance"] = hits.distances[there]
    return pl.DataFrame(columns)
