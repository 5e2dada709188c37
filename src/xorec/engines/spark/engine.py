"""SparkEngine: the contract of `core.engine` on a Spark session.

Blocks are rows of a DataFrame (`rows`), in as many partitions as there are, and stay in Spark's
cache for several calls. What all blocks share goes as one file a call to every executor,
where its processes map it. A lost executor is Spark's business: block functions are pure.
"""

from __future__ import annotations

import os
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from xorec.core.engine import Arrays, BlockFunction, Blocks, Roles, Shared
from xorec.core.errors import OptionError
from xorec.core.progress import SILENT, Progress
from xorec.engines.spark.blocks import (
    BLOCK_SCHEMA,
    ROLE_SCHEMA,
    ROWS_SENT,
    batches_of,
    blocks_table,
    in_order,
    unpack,
    whole_blocks,
    write_packed,
)
from xorec.engines.spark.session import one_line_errors, spark_session, watching_stages
from xorec.engines.spark.tasks import BlockTask, join_roles, machine_facts, map_task, send_task

_FIRST_WAVE, _GROWTH = 2, 8
"""Blocks for each slot of the cluster in the first job, where blocks are not placed; how many times
as many the next job may have."""
_WAVE_BYTES = 256 << 20
"""Results of one job, about: the driver holds no more of them."""
_RESULT_RATIO = 4
"""Bytes of a result for a byte of a placed block, as long as no result was seen."""
_PIECE_BYTES = 64 << 20
"""Of blocks in one partition, or of their results: Java holds these several times. Where they would
be larger, there are more partitions than wanted."""
_GONE = 64
"""Names of released files that a task is told, to remove them where it runs."""
_LONG = 8
"""Pieces for each slot where blocks take long: a slot that is done takes the next piece."""


class SharedFile:
    """A file that Spark brings to every executor: arrays, or what `name` leads to.

    holders: how many still need it: the `with` block that shares it, and blocks that were made with
    it, for Spark computes those again where an executor is lost.
    """

    def __init__(self, path: Path, arrays: Arrays, name: str | None = None) -> None:
        self.path, self.arrays, self.name = path, arrays, name
        self.holders = 1


class PlacedBlocks:
    """Blocks in Spark's cache, how many, and the files that they were made with.

    block_bytes: of a block on average, where the driver made them; their numbers are 0, 1, 2, ...
    then, and any run of them lies evenly in all partitions. Else 0.
    """

    def __init__(
        self, frame: Any, count: int, files: Sequence[SharedFile] = (), block_bytes: int = 0
    ) -> None:
        self.frame, self.count, self.files = frame, count, tuple(files)
        self.block_bytes = block_bytes
        for file in self.files:
            file.holders += 1

    def __len__(self) -> int:
        return self.count


class SparkEngine:
    """Runs block functions as tasks of a session; `open_spark` makes one."""

    is_remote = True

    def __init__(
        self,
        session: Any,
        folder: Path,
        name: str,
        *,
        partitions: int | None = None,
        progress: Progress = SILENT,
    ) -> None:
        if partitions is not None and partitions < 1:
            raise OptionError(f"partitions is {partitions}: give 1 or more, or leave it out.")
        self.session, self.name, self._folder, self._progress = session, name, folder, progress
        self.partitions = partitions or _slots(session)
        self.task_threads = _executor_cores(session)
        self._gone: list[str] = []

    def with_partitions(self, partitions: int) -> SparkEngine:
        """The same session, with another number of pieces."""
        other = SparkEngine(
            self.session, self._folder, self.name, partitions=partitions, progress=self._progress
        )
        other._gone = self._gone
        return other

    def for_long_blocks(self) -> SparkEngine:
        return self.with_partitions(_LONG * self.partitions)

    def place(self, blocks: Iterable[Arrays]) -> Blocks:
        placed = self._placed(blocks)
        placed.frame.persist()
        return placed

    def _placed(self, blocks: Iterable[Arrays], result_bytes: int = 0) -> PlacedBlocks:
        """Blocks as rows, dealt out to partitions in turn; result_bytes: of what is made of one of
        them, where that is known."""
        from pyspark.sql import functions as f

        table, count = blocks_table(blocks)
        size = table.nbytes
        pieces = -(-max(size, count * result_bytes) // _PIECE_BYTES)
        parts = self._parts(count, pieces)
        with one_line_errors(), batches_of(self.session, ROWS_SENT):
            frame = self.session.createDataFrame(table)
            spread = frame.repartitionById(parts, (f.col("block") % parts).cast("int"))
            return PlacedBlocks(spread, count, block_bytes=size // max(1, count))

    def _parts(self, count: int, pieces: int = 0) -> int:
        """Partitions of so many blocks: as many as wanted, or `pieces`."""
        return max(1, min(max(self.partitions, pieces), count))

    def every(self, blocks: Blocks, step: int, start: int) -> Blocks:
        assert isinstance(blocks, PlacedBlocks)
        numbers = range(start, len(blocks), step)
        # a list of numbers: Spark passes over what its cache knows to have none of them
        return PlacedBlocks(blocks.frame.filter(blocks.frame["block"].isin(*numbers)), len(numbers))

    def release(self, blocks: Blocks) -> None:
        if isinstance(blocks, PlacedBlocks):
            with one_line_errors():
                blocks.frame.unpersist()
            for file in blocks.files:
                self._drop(file)
            blocks.files = ()

    @contextmanager
    def share(self, arrays: Arrays) -> Iterator[Shared]:
        path = self._new_path()
        with path.open("wb") as file:
            write_packed(arrays, file)
        with self._brought(SharedFile(path, arrays)) as shared:
            yield shared

    @contextmanager
    def share_file(self, name: str, path: Path) -> Iterator[Shared]:
        link = self._new_path()
        try:
            os.link(path, link)  # the file as it is now, also if it is replaced or removed
        except OSError:
            shutil.copyfile(path, link)
        with self._brought(SharedFile(link, {name: np.array(str(path))}, name)) as shared:
            yield shared

    def _new_path(self) -> Path:
        return self._folder / f"xorec-{secrets.token_hex(8)}"

    @contextmanager
    def _brought(self, file: SharedFile) -> Iterator[SharedFile]:
        """A file of ours at every executor that there is or will be."""
        with one_line_errors():
            self._add_file(file.path)
        try:
            yield file
        finally:
            self._drop(file)

    def _drop(self, file: SharedFile) -> None:
        """One holder less; without any, the file is empty, here and where tasks run."""
        file.holders -= 1
        if file.holders == 0:
            file.path.unlink()
            file.path.write_bytes(b"")  # an executor that starts later asks for every file
            self._gone.append(file.path.name)
            del self._gone[:-_GONE]

    def _add_file(self, path: Path) -> None:
        if hasattr(self.session, "addArtifact") and not hasattr(self.session, "_jsparkSession"):
            self.session.addArtifact(str(path), file=True)
        else:
            self.session.sparkContext.addFile(str(path))

    def map_blocks(
        self,
        function: BlockFunction,
        blocks: Blocks | Iterable[Arrays],
        shared: Sequence[Shared | Arrays] = (),
        /,
        **settings: Any,
    ) -> Iterator[Arrays]:
        with ExitStack() as stack:
            task, _ = self._task(function, shared, settings, stack)
            if isinstance(blocks, PlacedBlocks):
                yield from self._run(task, blocks)
                return
            assert isinstance(blocks, Iterable)
            waiting: Iterator[Arrays] = iter(blocks)
            size, largest = _FIRST_WAVE * self.partitions, 1
            while wave := list(islice(waiting, size)):
                for made in self._job(task, self._placed(wave, largest).frame):
                    largest = max(largest, sum(array.nbytes for array in made.values()))
                    yield made
                most = max(self.partitions, _WAVE_BYTES // largest)
                size = min(most, _GROWTH * size)

    def _run(self, task: BlockTask, blocks: PlacedBlocks) -> Iterator[Arrays]:
        """Results of placed blocks: one job, or several where they would be too much at once."""
        if blocks.block_bytes == 0:
            yield from self._job(task, blocks.frame)
            return
        begin, largest, seen = 0, _RESULT_RATIO * blocks.block_bytes, 1
        while begin < len(blocks):
            end = begin + max(_FIRST_WAVE * self.partitions, _WAVE_BYTES // largest)
            number, frame = blocks.frame["block"], blocks.frame
            if begin > 0 or end < len(blocks):
                frame = frame.filter((number >= begin) & (number < end))
            for made in self._job(task, frame):
                seen = max(seen, sum(array.nbytes for array in made.values()))
                yield made
            begin, largest = end, seen

    def _job(self, task: BlockTask, frame: Any) -> Iterator[Arrays]:
        name = getattr(task.function, "__name__", "blocks")
        with one_line_errors(), watching_stages(self.session, name, self._progress):
            table = frame.mapInArrow(partial(map_task, task), BLOCK_SCHEMA).toArrow()
        for _, data in whole_blocks(in_order(table)):
            yield unpack(data)

    def transform(
        self,
        function: BlockFunction,
        blocks: Blocks,
        shared: Sequence[Shared | Arrays] = (),
        /,
        **settings: Any,
    ) -> Blocks:
        assert isinstance(blocks, PlacedBlocks)
        name = getattr(function, "__name__", "blocks")
        with ExitStack() as stack, one_line_errors():
            task, files = self._task(function, shared, settings, stack)
            frame = blocks.frame.mapInArrow(partial(map_task, task), BLOCK_SCHEMA)
            return self._made(name, frame, blocks.count, (*blocks.files, *files))

    def exchange(
        self,
        function: Roles,
        blocks: Blocks,
        into: int,
        shared: Sequence[Shared | Arrays] = (),
        /,
        **settings: Any,
    ) -> Blocks:
        from pyspark.sql import functions as f

        assert isinstance(blocks, PlacedBlocks)
        with ExitStack() as stack, one_line_errors():
            task, files = self._task(function, shared, settings, stack)
            sent = blocks.frame.mapInArrow(partial(send_task, task), ROLE_SCHEMA)
            parts = self._parts(into)
            part = f.floor(f.col("block") * parts / max(1, into)).cast("int")  # next to each other
            spread = sent.repartitionById(parts, part)
            ordered = spread.sortWithinPartitions("block", "source", "part")
            frame = ordered.mapInArrow(join_roles, BLOCK_SCHEMA)
            return self._made("exchange", frame, into, (*blocks.files, *files))

    def _made(self, name: str, frame: Any, count: int, files: Sequence[SharedFile]) -> Blocks:
        """The frame's blocks, computed now and kept in Spark's cache."""
        made = PlacedBlocks(frame.persist(), count, files)
        with watching_stages(self.session, name, self._progress):
            made.frame.count()
        return made

    def _task(
        self,
        function: BlockFunction | Roles,
        shared: Sequence[Shared | Arrays],
        settings: dict[str, Any],
        stack: ExitStack,
    ) -> tuple[BlockTask, list[SharedFile]]:
        """What runs, and the files that it needs; arrays are shared until the stack ends."""
        files = []
        for one in shared:
            if isinstance(one, Mapping):
                one = stack.enter_context(self.share(one))
            assert isinstance(one, SharedFile)
            files.append(one)
        names = tuple((file.path.name, file.name) for file in files)
        return BlockTask(function, names, tuple(self._gone), settings, machine_facts()), files


@contextmanager
def open_spark(
    master: str, *, partitions: int | None = None, progress: Progress = SILENT
) -> Iterator[SparkEngine]:
    """An engine on a session of this master, until the `with` block ends."""
    with spark_session(master) as (session, folder):
        name = f"spark:{master}"
        yield SparkEngine(session, folder, name, partitions=partitions, progress=progress)


def _slots(session: Any) -> int:
    """How many tasks run at the same time."""
    try:
        return int(session.sparkContext.defaultParallelism)
    except Exception:  # Spark Connect has no such thing on the client
        return int(session.conf.get("spark.default.parallelism", "8"))


def _executor_cores(session: Any) -> int:
    """Cores of one executor; 1 where the configuration does not say."""
    master = session.conf.get("spark.master", "")
    if master.startswith("local"):
        return _slots(session)
    return int(session.conf.get("spark.executor.cores", "1"))
