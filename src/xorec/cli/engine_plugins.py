"""--engine NAME:PLACE where NAME is of another package (`core.plugins`)."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

from xorec.core.options import RunOptions
from xorec.core.plugins import load_plugin
from xorec.engines.registry import ENGINES


def on_plugin(
    name: str, options: RunOptions, *, partitions: int | None = None
) -> AbstractContextManager[RunOptions] | None:
    """`options` with an engine of another package; None where the name is ours, or nobody's.

    The entry point is a function of the place and of partitions and progress by name, and gives a
    context manager with a `core.engine.Engine`.
    """
    kind, _, place = name.partition(":")
    if kind in ENGINES or (opener := load_plugin("xorec.engines", kind)) is None:
        return None
    return _opened(opener, place, options, partitions)


@contextmanager
def _opened(
    opener: Any, place: str, options: RunOptions, partitions: int | None
) -> Iterator[RunOptions]:
    with opener(place, partitions=partitions, progress=options.progress) as engine:
        yield replace(options, engine=engine)
