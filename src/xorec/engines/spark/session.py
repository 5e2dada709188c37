"""A Spark session for blocks: started for a command, quiet, and gone with it."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from xorec.core.errors import MissingExtraError, OptionError, XorecError
from xorec.core.files import temporary_folder
from xorec.core.memory import physical_memory
from xorec.engines.spark.failures import one_line_errors

_NUMBA = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "OPENBLAS_CORETYPE")
"""What decides which machine code runs: executors get what the driver has."""

_JAVA = "-XX:G1HeapRegionSize=32m"
"""Rows of some megabytes are ordinary objects then. With small regions and Spark's pages of 64 MB
the heap had only holes that no row fits into: an exchange of 1 GB in a heap of 5 GB spent ten
minutes collecting garbage, and had not ended."""

_PATIENCE = 5.0
"""Seconds for a server to take a connection."""


@contextmanager
def spark_session(master: str) -> Iterator[tuple[Any, Path]]:
    """A session of this master, and a folder for files that go with it.

    master: as Spark writes it: local[2], spark://host:7077, yarn; sc://host:15002 is Spark Connect.
    A session that is active in this process already (a notebook's) is taken, and left as it is.
    """
    if not master:
        raise OptionError(
            "spark: names no master: give spark:local[2], spark:spark://host:7077 or spark:yarn."
        )
    _require_answer(master)
    try:
        from pyspark.sql import SparkSession
    except ImportError:
        raise MissingExtraError(
            "Spark needs pyspark and Java 17: pip install 'xorec[spark]' and "
            "apt install openjdk-17-jre-headless."
        ) from None
    active = SparkSession.getActiveSession()
    with temporary_folder() as folder, one_line_errors():
        if active is not None:
            yield active, folder
            return
        session = _started(SparkSession.builder, master, folder)
        try:
            yield session, folder
        finally:
            with suppress(Exception):  # a master that is gone, an interrupt: nothing is lost by it
                session.stop()


def _require_answer(master: str) -> None:
    """Complain of a server where nobody listens, now: Spark would ask for minutes."""
    scheme, _, places = master.partition("://")
    if scheme not in ("spark", "sc") or not places:
        return
    for place in places.partition(";")[0].rstrip("/").split(","):
        host, _, port = place.rpartition(":") if ":" in place else (place, "", "15002")
        try:
            socket.create_connection((host.strip("[]"), int(port)), _PATIENCE).close()
            return
        except ValueError:
            raise OptionError(f"{port!r} in {master} is no port: give a number.") from None
        except OSError as error:
            why = error.strerror or "no answer"
    raise XorecError(f"no Spark answers at {master} ({why}): start it, or check host and port.")


def _started(builder: Any, master: str, folder: Path) -> Any:
    settings = _settings()
    if master.startswith("sc://"):  # whoever started that server has set the others
        settings = {name: value for name, value in settings.items() if ".sql." in name}
    if master.startswith("local"):
        settings |= {"spark.local.dir": str(folder), "spark.driver.host": "127.0.0.1"}
        settings |= {"spark.driver.bindAddress": "127.0.0.1"}
    for name, value in settings.items():
        builder = builder.config(name, value)
    if master.startswith("sc://"):
        return builder.remote(master).getOrCreate()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    with _errors_to(folder / "spark.log"):
        return builder.master(master).getOrCreate()


@contextmanager
def _errors_to(log: Path) -> Iterator[None]:
    """What is started inside writes its standard error to a file: the JVM's log would stand between
    a person and the answer."""
    sys.stderr.flush()
    kept = os.dup(2)
    target = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    os.dup2(target, 2)
    try:
        yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(target)


def _settings() -> dict[str, str]:
    """Spark's own configuration (spark-defaults.conf) stands for all that is not named here."""
    driver = max(1, physical_memory() // 4 >> 30)
    ours = {
        "spark.app.name": "xorec",
        "spark.ui.showConsoleProgress": "false",
        "spark.ui.enabled": "false",
        "spark.driver.memory": f"{driver}g",
        "spark.driver.maxResultSize": "0",
        "spark.files.overwrite": "true",  # a released file is empty (`SparkEngine.share`)
        "spark.sql.adaptive.enabled": "false",
        "spark.sql.execution.arrow.maxRecordsPerBatch": "1",
        "spark.sql.inMemoryColumnarStorage.batchSize": "1",  # a block is found without the others
        "spark.buffer.pageSize": "2m",
        "spark.driver.defaultJavaOptions": _JAVA,
        "spark.executor.defaultJavaOptions": _JAVA,
        "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",
        "spark.executorEnv.OMP_NUM_THREADS": "1",
    }
    same = {f"spark.executorEnv.{name}": os.environ[name] for name in _NUMBA if name in os.environ}
    return ours | same
