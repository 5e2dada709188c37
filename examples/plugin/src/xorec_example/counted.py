"""`--engine counted:2`: two threads of this process, and a note of how many blocks there were."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from xorec.core.engine import Arrays, BlockFunction, Blocks, Engine, LocalEngine, Shared
from xorec.core.progress import Progress


class Counted(LocalEngine):
    """Says that it is remote, so that all work comes here in blocks."""

    is_remote = True

    def __init__(self, threads: int) -> None:
        super().__init__(threads)
        self.name = f"counted:{threads}"
        self.blocks = 0

    def map_blocks(
        self,
        function: BlockFunction,
        blocks: Blocks | Iterable[Arrays],
        shared: Sequence[Shared | Arrays] = (),
        /,
        **settings: Any,
    ) -> Iterator[Arrays]:
        for made in super().map_blocks(function, blocks, shared, **settings):
            self.blocks += 1
            yield made


@contextmanager
def open_counted(place: str, *, partitions: int | None, progress: Progress) -> Iterator[Engine]:
    """place: how many threads, 1 by default."""
    engine = Counted(int(place or 1))
    yield engine
    progress.note(f"{engine.name}: {engine.blocks} blocks")
