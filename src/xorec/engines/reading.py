"""The data of a run, read where the run's engine is: by Spark, or by this process."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from xorec.core.errors import DataError
from xorec.core.options import RunOptions
from xorec.data.datasets.catalog import load_data
from xorec.data.interactions import Interactions
from xorec.data.prepare import prepare
from xorec.engines.spark.addresses import parse_spark_address


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
            from xorec.engines.pairs.filtering import Filters

            thresholds, progress = Filters(**filters), options.progress
            return read_with_spark(engine, source, filters=thresholds, progress=progress, **reading)
    address = parse_spark_address(source)
    if address is not None:
        raise DataError(
            f"{address.what} is read by Spark: add --engine spark:MASTER, for example "
            "--engine spark:local[2]."
        )
    threads, progress = options.threads, options.progress
    return prepare(load_data(source, threads=threads, progress=progress, **reading), **filters)
