"""Engines by name: local, or spark:MASTER."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace

from xorec.core.errors import OptionError
from xorec.core.options import RunOptions
from xorec.core.suggestions import did_you_mean

ENGINES = ("local", "spark")


@contextmanager
def on_engine(
    name: str, options: RunOptions, *, partitions: int | None = None
) -> Iterator[RunOptions]:
    """`options` with the engine of this name, which is there until the `with` block ends.

    >>> with on_engine("local", RunOptions()) as options:
    ...     options.engine is None
    True
    >>> with on_engine("spork:local[2]", RunOptions()) as options:
    ...     pass
    Traceback (most recent call last):
    xorec.core.errors.OptionError: engine 'spork:local[2]' is not known: give local or \
spark:MASTER, for example spark:local[2]. Did you mean 'spark'?
    """
    kind, _, master = name.partition(":")
    if kind not in ENGINES or (kind == "local" and name != "local"):
        raise OptionError(
            f"engine {name!r} is not known: give local or spark:MASTER, for example "
            f"spark:local[2].{did_you_mean(kind, ENGINES)}"
        )
    if kind == "local":
        if partitions is not None:
            raise OptionError("--partitions is for Spark: leave it out with --engine local.")
        yield options
        return
    from xorec.engines.spark.engine import open_spark

    with open_spark(master, partitions=partitions, progress=options.progress) as engine:
        yield replace(options, engine=engine)
