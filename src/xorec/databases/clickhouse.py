"""ClickHouse: a server over HTTP, or a folder in this process (chdb).

clickhouse-connect speaks with both. To read from a folder chdb itself is asked, because only so
rows come as a stream.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from xorec.core.addresses import Address
from xorec.core.errors import DataError, MissingExtraError, OptionError, XorecError
from xorec.core.printable import quoted
from xorec.databases.base import (
    CHECK_SERVER,
    ONLY_READS,
    ROWS,
    Database,
    Sort,
    Table,
    frames_of,
    missing,
    way_out,
)

if TYPE_CHECKING:
    import polars as pl

_DRIVERS = ("clickhouse_connect", "chdb", "urllib3", "pyarrow")
_SETTINGS = ("connect_timeout", "send_receive_timeout", "verify", "ca_cert", "client_cert")
"""Settings of an address that the client takes; our own is prefix."""
_WAYS_OUT = (
    (
        "already initialized with path",
        "one process has one folder of ClickHouse open: close the other one",
    ),
    ("initializing embeddedserver", "another process may have the folder open: one at a time can"),
    (
        "authentication|password",
        "give user and password in the address, or by CLICKHOUSE_USER and CLICKHOUSE_PASSWORD",
    ),
    (r"\breadonly\b", ONLY_READS),
    ("connect|max retries|timed out", CHECK_SERVER),
)
_TIMES = ("Date", "Date32", "DateTime", "DateTime64")
_TABLES = """
SELECT database, table, groupArray(name), database = currentDatabase(), false FROM
  (SELECT * FROM system.columns ORDER BY position)
WHERE database NOT IN ('system', 'information_schema', 'INFORMATION_SCHEMA')
GROUP BY database, table ORDER BY 4 DESC, database, table
"""


class ClickhouseError(Exception):
    """What ClickHouse says, without its version and its stack. code: its number, 0 for none."""

    def __init__(self, error: Exception) -> None:
        said = re.sub(r"^.*?Code: \d+\. ?(DB::Exception: )?", "", str(error), flags=re.DOTALL)
        said = re.sub(r"\(version [^)]*\)|Stack trace:.*", "", said, flags=re.DOTALL)
        super().__init__(said.strip())
        found = re.search(r"Code: (\d+)", str(error))
        self.code = int(found[1]) if found else 0


@contextmanager
def driver_errors() -> Iterator[None]:
    """Errors of the client, of whatever family, become a ClickhouseError."""
    try:
        yield
    except XorecError:
        raise
    except (OSError, RuntimeError, ValueError) as error:
        raise ClickhouseError(error) from None
    except Exception as error:  # clickhouse-connect's have no base of their own here
        if type(error).__module__.split(".")[0] not in _DRIVERS:
            raise
        raise ClickhouseError(error) from None


def explain(error: Exception) -> tuple[str, str]:
    """What ClickHouse says, and the way out; "" where it is about the statement."""
    text = str(error)
    return text, way_out(text, _WAYS_OUT)


def quoted_name(name: str) -> str:
    """The name of a table or column for ClickHouse, whatever is in it."""
    return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"


def connect(address: Address, **settings: Any) -> Any:
    """A client: of a server over HTTP, or of a folder in this process. settings: ClickHouse's."""
    try:
        import clickhouse_connect
    except ImportError:
        raise missing("ClickHouse", "clickhouse-connect", "clickhouse") from None
    if address.path is not None:
        require_chdb(address)
        with driver_errors():
            return clickhouse_connect.get_client(interface="chdb", path=str(address.path))
    strange = [one for one in address.settings if one not in ("prefix", *_SETTINGS)]
    if strange:
        raise OptionError(
            f"{quoted(strange[0])} of {address} is no setting of ClickHouse's client here: "
            f"prefix, {', '.join(_SETTINGS)}."
        )
    given: dict[str, Any] = {
        "host": address.host,
        "port": address.port or (8443 if address.secure else 8123),
        "username": address.user or os.environ.get("CLICKHOUSE_USER") or "default",
        "password": address.password or os.environ.get("CLICKHOUSE_PASSWORD", ""),
        "database": address.database or "__default__",
        "secure": address.secure,
        "connect_timeout": 10,
        "autogenerate_session_id": False,
        "settings": settings,
    }
    own = {name: address.settings[name] for name in _SETTINGS if name in address.settings}
    with driver_errors():
        return clickhouse_connect.get_client(**given | own)


def require_chdb(address: Address) -> Any:
    """The module chdb."""
    try:
        import chdb
    except ImportError:
        raise MissingExtraError(
            f"{address} is ClickHouse in this process: pip install chdb, or give the address of a "
            "server."
        ) from None
    return chdb


class ClickHouse(Database):
    """A server, or a folder with tables, to read."""

    text_cast = "toString({column})"
    float_cast = "toFloat64({column})"
    driver_errors = (ClickhouseError,)

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        with self.errors(), driver_errors():
            self._engine = _Server(address) if address.host else _InProcess(address)

    def tables(self) -> list[Table]:
        return [self.table(*row) for row in self._rows(_TABLES)]

    def columns(self, query: str) -> dict[str, str]:
        return {name: _bare(kind) for name, kind, *_ in self._rows(f"DESCRIBE ({query})")}

    def batches(self, query: str) -> Iterator[pl.DataFrame]:
        with self.errors(), driver_errors():
            yield from self._engine.frames(query)

    def sort_of(self, sql_type: str) -> Sort:
        if re.fullmatch(r"U?Int(8|16|32|64)|Float(32|64)|Bool", sql_type):
            return "number"
        if re.match(r"Decimal|U?Int(128|256)", sql_type):
            return "decimal"
        if sql_type.split("(")[0] in _TIMES:
            return "time"
        return {"String": "text", "Array(String)": "list"}.get(sql_type, "other")  # type: ignore[return-value]

    def as_seconds(self, column: str, sql_type: str) -> str:
        if sql_type.startswith("DateTime("):
            return f"toInt64(toUnixTimestamp({column}))"
        moment = f"toDateTime64({column}, 3, 'UTC')"
        return f"toInt64(floor(toUnixTimestamp64Milli({moment}) / 1000))"

    def not_before(self, column: str, sql_type: str, seconds: int) -> str:
        moment = f"fromUnixTimestamp64Milli(toInt64({seconds * 1000}), 'UTC')"
        if sql_type in ("Date", "Date32"):
            moment = f"to{sql_type}({moment})"
        return f"{column} >= {moment}"

    def quote(self, name: str) -> str:
        return quoted_name(name)

    def explain(self, error: Exception) -> tuple[str, str]:
        return explain(error)

    def close(self) -> None:
        self._engine.close()

    def _rows(self, query: str) -> list[list[Any]]:
        with self.errors(), driver_errors():
            answer = json.loads(self._engine.text(f"{query}\nFORMAT JSONCompact"))
        rows: list[list[Any]] = answer["data"]
        return rows


class _InProcess:
    """ClickHouse in this process (chdb), on a folder: whole answers, or batch by batch."""

    def __init__(self, address: Address) -> None:
        chdb = require_chdb(address)
        assert address.path is not None
        if not address.path.is_dir():
            raise DataError(
                f"{address}: there is no such folder: give one that ClickHouse has made, or "
                "clickhouse://host/database for a server."
            )
        self._connection = chdb.connect(f"{address.path}?mode=ro")

    def text(self, query: str) -> bytes:
        answer: bytes = self._connection.query(query).bytes()
        return answer

    def frames(self, query: str) -> Iterator[pl.DataFrame]:
        import polars as pl

        answer = self._connection.send_query(query, "ArrowStream")
        try:
            for part in answer:
                yield pl.read_ipc_stream(part.bytes())
        finally:
            answer.close()

    def close(self) -> None:
        self._connection.close()


class _Server:
    """A server over HTTP, with the methods of `_InProcess`."""

    def __init__(self, address: Address) -> None:
        try:
            import pyarrow  # noqa: F401 - reads the streams
        except ImportError:
            raise missing("ClickHouse", "pyarrow", "clickhouse") from None
        self._client = connect(address, readonly=2, max_block_size=ROWS)

    def text(self, query: str) -> bytes:
        answer: bytes = self._client.raw_query(query)
        return answer

    def frames(self, query: str) -> Iterator[pl.DataFrame]:
        with self._client.query_arrow_stream(query) as stream:
            yield from frames_of(stream)

    def close(self) -> None:
        self._client.close()


def _bare(kind: str) -> str:
    """A type without what does not change its values: Nullable, LowCardinality, parameters."""
    while found := re.fullmatch(r"(?:Nullable|LowCardinality)\((.*)\)", kind, re.DOTALL):
        kind = found[1]
    return kind
