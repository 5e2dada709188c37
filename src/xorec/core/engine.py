"""Engine: where blocks of work run. The contract, and the threads of this machine.

The data alone decide how work is cut into blocks, and a block function is pure: a block and shared
arrays in, arrays out. So every engine gives the same bytes.
"""

from __future__ import annotations

import pickle
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager
from itertools import islice
from pathlib import Path
from types import MappingProxyType, SimpleNamespace
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import Arrays as Arrays

BlockFunction = Callable[..., Arrays]
"""function(block, shared, **settings) -> arrays. A function of a module, which machines find by
name; it writes to none of its arguments and starts no threads."""
Roles = Callable[..., Iterable[tuple[int, Arrays]]]
"""function(block, shared, **settings) -> (number of a new block, arrays for it), ..."""
NOTHING: Arrays = MappingProxyType({})


class Blocks(Protocol):
    """Placed blocks: `Engine.place` makes them, `Engine.release` frees them."""

    def __len__(self) -> int: ...


class Shared(Protocol):
    """Arrays that every block can see."""

    @property
    def arrays(self) -> Arrays: ...


AnyBlocks = Blocks | Iterable[Arrays]
AllShared = Sequence[Shared | Arrays]


class Engine(Protocol):
    """Runs block functions, and gives their results in the order of the blocks."""

    name: str
    """As on the command line: local, spark:local[2]."""
    is_remote: bool
    """Whether blocks travel to other processes: then a fit in one piece is a task of its own."""
    task_threads: int
    """Threads of a task that has a machine for itself."""
    partitions: int
    """About how many blocks run at the same time: fewer would leave some idle."""

    def place(self, blocks: Iterable[Arrays]) -> Blocks:
        """Bring blocks to where they are worked on, for several calls."""

    def for_long_blocks(self) -> Engine:
        """The same for few, long, unequal blocks: a free thread takes the next one."""

    def share(self, arrays: Arrays) -> AbstractContextManager[Shared]:
        """Arrays that blocks of several calls can see, until the `with` block ends."""

    def share_file(self, name: str, path: Path) -> AbstractContextManager[Shared]:
        """A file that blocks of several calls can read, until the `with` block ends.

        Their path there is `Path(str(shared[name]))`, another path for another file.
        """

    def map_blocks(
        self, function: BlockFunction, blocks: AnyBlocks, shared: AllShared = (), /, **settings: Any
    ) -> Iterator[Arrays]:
        """function(block, shared, **settings) of each block, in order, as they are asked for.

        shared: the function sees them as one mapping; settings: what JSON can hold.
        """

    def transform(
        self, function: BlockFunction, blocks: Blocks, shared: AllShared = (), /, **settings: Any
    ) -> Blocks:
        """New placed blocks: the results of `function` stay where they were made."""

    def exchange(
        self, function: Roles, blocks: Blocks, into: int, shared: AllShared = (), /, **settings: Any
    ) -> Blocks:
        """New blocks, `into` of them, from the parts that `function` makes of each old one.

        Arrays of one name are joined end to end, in the order of the old blocks. Every old block
        has a part for every new one, possibly of length 0.
        """

    def every(self, blocks: Blocks, step: int, start: int) -> Blocks:
        """Every `step`-th of placed blocks from number `start` on; they stay where they are."""

    def release(self, blocks: Blocks) -> None:
        """Free placed blocks."""


class LocalEngine:
    """Threads of this process; nothing is copied.

    >>> def double(block, shared):
    ...     return {"y": 2 * block["x"]}
    >>> blocks = [{"x": np.arange(2)}, {"x": np.arange(3)}]
    >>> [made["y"].tolist() for made in LocalEngine(2).map_blocks(double, blocks)]
    [[0, 2], [0, 2, 4]]
    """

    name = "local"
    is_remote = False

    def __init__(self, threads: int) -> None:
        self.threads = self.task_threads = self.partitions = threads

    def place(self, blocks: Iterable[Arrays]) -> Blocks:
        return list(blocks)

    def every(self, blocks: Blocks, step: int, start: int) -> Blocks:
        assert isinstance(blocks, list)
        return blocks[start::step]

    def release(self, blocks: Blocks) -> None:
        """Left to the garbage collector."""

    def for_long_blocks(self) -> LocalEngine:
        return self

    @contextmanager
    def share(self, arrays: Arrays) -> Iterator[Shared]:
        yield SimpleNamespace(arrays=arrays)

    @contextmanager
    def share_file(self, name: str, path: Path) -> Iterator[Shared]:
        yield SimpleNamespace(arrays={name: np.array(str(path))})

    def map_blocks(
        self, function: BlockFunction, blocks: AnyBlocks, shared: AllShared = (), /, **settings: Any
    ) -> Iterator[Arrays]:
        seen = merged_arrays(shared)
        assert isinstance(blocks, Iterable)
        waiting: Iterator[Arrays] = iter(blocks)
        if self.threads == 1:
            for block in waiting:
                yield function(block, seen, **settings)
            return
        with ThreadPoolExecutor(self.threads) as executor:
            running: deque[Future[Arrays]] = deque()
            try:
                for block in islice(waiting, 4 * self.threads):
                    running.append(executor.submit(function, block, seen, **settings))
                while running:
                    done = running.popleft().result()
                    for block in islice(waiting, 1):
                        running.append(executor.submit(function, block, seen, **settings))
                    yield done
            finally:
                for future in running:
                    future.cancel()

    def transform(
        self, function: BlockFunction, blocks: Blocks, shared: AllShared = (), /, **settings: Any
    ) -> Blocks:
        return list(self.map_blocks(function, blocks, shared, **settings))

    def exchange(
        self, function: Roles, blocks: Blocks, into: int, shared: AllShared = (), /, **settings: Any
    ) -> Blocks:
        seen = merged_arrays(shared)
        parts: list[list[Arrays]] = [[] for _ in range(into)]
        assert isinstance(blocks, list)
        for block in blocks:
            for target, arrays in function(block, seen, **settings):
                parts[target].append(arrays)
        return [joined(own) for own in parts]


def merged_arrays(shared: AllShared) -> Arrays:
    """All shared arrays as one mapping."""
    merged: dict[str, npt.NDArray[Any]] = {}
    for one in shared:
        merged |= one if isinstance(one, Mapping) else one.arrays
    return merged


def joined(parts: Sequence[Arrays]) -> Arrays:
    """Arrays of one name end to end; no parts: no arrays."""
    if not parts:
        return {}
    return {name: np.concatenate([one[name] for one in parts]) for name in parts[0]}


def row_ranges(rows: int, least: int = 256, most_blocks: int = 1024) -> list[tuple[int, int]]:
    """(first, past the last) of blocks of rows: a power of two each, by the number of rows alone.

    >>> row_ranges(600)
    [(0, 256), (256, 512), (512, 600)]
    >>> len(row_ranges(10_000_000))
    611
    """
    size = least
    while size * most_blocks < rows:
        size *= 2
    return [(begin, min(rows, begin + size)) for begin in range(0, rows, size)]


def pickled(thing: Any) -> npt.NDArray[np.uint8]:
    """The bytes of an object."""
    return np.frombuffer(pickle.dumps(thing, protocol=5), dtype=np.uint8)


def unpickled(array: npt.NDArray[np.uint8]) -> Any:
    """The object."""
    return pickle.loads(array.tobytes())
