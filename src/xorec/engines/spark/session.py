"""Spark as a program: its session, addresses of its data, its errors in one line, its progress.

Data that only Spark can reach, as people type it: tables of its catalogue, databases by JDBC.

    spark-table:shop.orders
    jdbc:postgresql://db.example/shop?user=ann&table=orders
    jdbc:mysql://db.example/shop?query=SELECT customer, product FROM orders WHERE paid

`table=` or `query=` (last, to the end) is ours; so are the four settings by which Spark reads with
several connections (partitionColumn, lowerBound, upperBound, numPartitions) and the class of a
driver that is not among `_DRIVERS` (driver). The rest goes to the driver of the database.
"""

from __future__ import annotations

import logging
import os
import re
import socket
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xorec.core import errors
from xorec.core.addresses import without_secrets
from xorec.core.errors import MissingExtraError, OptionError, XorecError
from xorec.core.files import temporary_folder
from xorec.core.memory import physical_memory
from xorec.core.printable import quoted
from xorec.core.progress import SILENT, Progress, Task

_OURS = re.compile(r"^(?:xorec\.core\.errors\.)(\w+): (.+)$", re.MULTILINE)
_PYTHON = re.compile(r"^(\w+(?:\.\w+)*(?:Error|Exception|Interrupt)): (.+)$", re.MULTILINE)
_JAVA = re.compile(r"^(?:: |Caused by: )?[\w.$]+(?:Exception|Error): (.+)$", re.MULTILINE)


@contextmanager
def one_line_errors() -> Iterator[None]:
    """Errors of Spark inside the block become a `XorecError` of one line."""
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException
    from pyspark.logger import PySparkLogger

    for name in ("DataFrameQueryContextLogger", "SQLQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL + 1)  # a page of JSON of each error
    try:
        with warnings.catch_warnings():  # pyspark warns of every pandas that is newer than itself
            warnings.filterwarnings("ignore", category=FutureWarning, message="PySpark does not")
            yield
    except (PySparkException, Py4JError) as error:
        raise error_of(str(error)) from None
    except (ConnectionError, EOFError) as error:
        raise XorecError(f"Spark's driver process is gone ({error}): start again.") from None


def error_of(text: str) -> XorecError:
    """The error that a trace of Spark tells of.

    >>> error_of("Job aborted\\n  at x\\nxorec.core.errors.DataError: no pairs.\\n\\n\\tat y")
    DataError('no pairs.')
    >>> error_of("Job aborted.\\nValueError: bad\\n at y")
    XorecError('Spark: ValueError: bad')
    >>> error_of("An error occurred while calling o57.load.\\n: java.sql.SQLException: No driver")
    XorecError('Spark: No driver')
    """
    if "JAVA_GATEWAY_EXITED" in text:
        return XorecError(
            "Spark could not be started: it needs Java 17 or later (java -version; "
            "apt install openjdk-17-jre-headless) and a master that answers."
        )
    ours = _OURS.findall(text)
    if ours:
        name, message = ours[-1]
        kind = getattr(errors, name, XorecError)
        is_ours = isinstance(kind, type) and issubclass(kind, XorecError)
        return kind(message) if is_ours else XorecError(message)
    for pattern in (_PYTHON, _JAVA):
        if found := pattern.findall(text):
            last = found[-1] if isinstance(found[-1], str) else ": ".join(found[-1])
            return XorecError(f"Spark: {last.strip()}")
    first = next((line.strip() for line in text.splitlines() if line.strip()), "it failed")
    return XorecError(f"Spark: {first}")


TABLE = "spark-table:"
JDBC = "jdbc:"
_SETTINGS = ("partitionColumn", "lowerBound", "upperBound", "numPartitions", "driver")
_DRIVERS = {
    "postgresql": "org.postgresql.Driver",
    "mysql": "com.mysql.cj.jdbc.Driver",
    "mariadb": "org.mariadb.jdbc.Driver",
    "sqlserver": "com.microsoft.sqlserver.jdbc.SQLServerDriver",
    "oracle": "oracle.jdbc.OracleDriver",
    "sqlite": "org.sqlite.JDBC",
    "duckdb": "org.duckdb.DuckDBDriver",
    "clickhouse": "com.clickhouse.jdbc.ClickHouseDriver",
}
"""Classes by the word behind jdbc: of a jar that `spark.jars` names, Spark must be told which."""


@dataclass(frozen=True)
class SparkAddress:
    """table, query: what is read, one of them; url: of a database, "" for Spark's own catalogue."""

    table: str = ""
    query: str = ""
    url: str = field(default="", repr=False)
    settings: Mapping[str, str] = field(default_factory=dict)

    @property
    def what(self) -> str:
        """For messages and files: without secrets."""
        if not self.url:
            return f"{TABLE}{self.table}"
        place = without_secrets(self.url)
        if self.table:
            return f"{place}, table {self.table}"
        return f"{place}, query {quoted(' '.join(self.query.split()))}"

    @property
    def label(self) -> str:
        """A short name."""
        return self.table or "query"


def parse_spark_address(text: str) -> SparkAddress | None:
    """The parts of an address; None for what is none of Spark's.

    >>> parse_spark_address("spark-table:shop.orders").table
    'shop.orders'
    >>> address = parse_spark_address("jdbc:postgresql://db/shop?user=ann&password=s3cret&table=o")
    >>> print(address.what, address.url, sep=" | ")
    jdbc:postgresql://db/shop?user=ann&password=***, table o | \
jdbc:postgresql://db/shop?user=ann&password=s3cret
    >>> parse_spark_address("ratings.csv") is None
    True
    """
    if text.startswith(TABLE):
        if not text.removeprefix(TABLE).strip():
            raise OptionError(f"{TABLE} names no table: give {TABLE}NAME, as {TABLE}shop.orders.")
        return SparkAddress(table=text.removeprefix(TABLE))
    if not text.startswith(JDBC):
        return None
    url, query = text, ""
    if found := re.search(r"[?&;]query=", text):
        url, query = text[: found.start()], text[found.end() :]
    ours: dict[str, str] = {}
    for name in ("table", *_SETTINGS):
        if found := re.search(rf"(?P<before>[?&;]){name}=(?P<value>[^&;]*)", url):
            ours[name] = found["value"]
            rest = url[found.end() :]
            url = url[: found.start()] + (found["before"] + rest[1:] if rest else "")
    table = ours.pop("table", "")
    if bool(table) == bool(query.strip()):
        raise OptionError(
            f"{without_secrets(url)}: say what is read by table=NAME or query=SELECT ... at the "
            "end of the address, one of them."
        )
    kind = url.split(":")[1]
    if kind in _DRIVERS:
        ours.setdefault("driver", _DRIVERS[kind])
    return SparkAddress(table, query, url, ours)


_NUMBA = ("NUMBA_CPU_NAME", "NUMBA_CPU_FEATURES", "OPENBLAS_CORETYPE")
"""What decides which machine code runs: executors get what the driver has."""

_JVM_OPTIONS = "-XX:G1HeapRegionSize=32m"
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
    """Raise at once where no server listens: Spark would try for minutes."""
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
    if master.startswith("sc://"):  # the others are set where that server is started
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
        "spark.driver.defaultJavaOptions": _JVM_OPTIONS,
        "spark.executor.defaultJavaOptions": _JVM_OPTIONS,
        "spark.executorEnv.OPENBLAS_NUM_THREADS": "1",
        "spark.executorEnv.OMP_NUM_THREADS": "1",
    }
    same = {f"spark.executorEnv.{name}": os.environ[name] for name in _NUMBA if name in os.environ}
    return ours | same


_EVERY = 0.5
"""Seconds between two looks at Spark's stages."""


@contextmanager
def watching_stages(session: Any, name: str, progress: Progress) -> Iterator[None]:
    """Show how many tasks of the jobs inside the block are done."""
    if progress is SILENT or not hasattr(session, "_jsparkSession"):
        yield
        return
    tracker, over = session.sparkContext.statusTracker(), threading.Event()
    with progress.task(f"spark: {name}", None) as task:
        watcher = threading.Thread(target=_watch, args=(tracker, task, over), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()


def _watch(tracker: Any, task: Task, over: threading.Event) -> None:
    told: dict[int, int] = {}
    while not over.wait(_EVERY):
        for stage in tracker.getActiveStageIds():
            info = tracker.getStageInfo(stage)
            if info is not None and info.numCompletedTasks > told.get(stage, 0):
                task.advance(
                    info.numCompletedTasks - told.get(stage, 0),
                    stage=str(stage),
                    tasks=f"{info.numCompletedTasks}/{info.numTasks}",
                )
                told[stage] = info.numCompletedTasks
