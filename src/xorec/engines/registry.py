"""Engines by name: local, spark:MASTER, or NAME:PLACE of another package (`core.plugins`)."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import replace
from typing import Any

from xorec.core.errors import DataError, OptionError
from xorec.core.options import RunOptions
from xorec.core.plugins import load_plugin
from xorec.core.printable import did_you_mean
from xorec.data.datasets.catalog import load_data
from xorec.data.interactions import Interactions
from xorec.data.prepare import prepare
from xorec.engines.spark.session import parse_spark_address

ENGINES = ("local", "spark")


@contextmanager
def on_engine(
    name: str, options: RunOptions, *, partitions: int | None = None
) -> Iterator[RunOptions]:
    """`options` with the engine of this name, which is there until the `with` block ends.

    An entry point of another package is a function of the place and of partitions and progress by
    name, and gives a context manager with a `core.engine.Engine`.

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
    opener = None if kind in ENGINES else load_plugin("xorec.engines", kind)
    if opener is not None:
        with opener(master, partitions=partitions, progress=options.progress) as engine:
            yield replace(options, engine=engine)
        return
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


def load_on(
    source: str, options: RunOptions, filters: Mapping[str, Any], **reading: Any
) -> Interactions:
    """Read and prepare. filters: the thresholds of `prepare`; reading: the options of `read`.

    >>> load_on("debian", RunOptions(), {"core": 5}).n_pairs
    96495
    >>> load_on("spark-table:orders", RunOptions(), {})
    Traceback (most recent call last):
    xorec.core.errors.DataError: spark-table:orders is read by Spark: add --engine spark:MASTER, \
for example --engine spark:local[2].
    """
    engine = options.remote_engine
    if engine is not None:
        from xorec.engines.spark.engine import SparkEngine
        from xorec.engines.spark.reading import is_for_spark, read_with_spark

        if isinstance(engine, SparkEngine) and is_for_spark(source):
            from xorec.engines.pairs import PairFilters

            thresholds, progress = PairFilters(**filters), options.progress
            return read_with_spark(engine, source, filters=thresholds, progress=progress, **reading)
    address = parse_spark_address(source)
    if address is not None:
        raise DataError(
            f"{address.what} is read by Spark: add --engine spark:MASTER, for example "
            "--engine spark:local[2]."
        )
    threads, progress = options.threads, options.progress
    return prepare(load_data(source, threads=threads, progress=progress, **reading), **filters)
