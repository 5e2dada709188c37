"""ClickHouse: a server by clickhouse-connect, or a folder in this process by chdb.

Both give rows as Arrow streams; what differs is who carries out a query (`_Server`, `_InProcess`).
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Protocol

from xorec.core.addresses import Address
from xorec.core.errors import DataError, XorecError
from xorec.databases.base import (
    ROWS,
    Database,
    Sort,
    Table,
    frames_of,
    missing,
    query_refusal,
    refusal,
)

if TYPE_CHECKING:
    import polars as pl

_DRIVERS = ("clickhouse_connect", "chdb", "urllib3", "pyarrow")
_TIMES = ("Date", "Date32", "DateTime", "DateTime64")
_TABLES = """
SELECT database, table, groupArray(name), database = currentDatabase() FROM
  (SELECT * FROM system.columns ORDER BY position)
WHERE database NOT IN ('system', 'information_schema', 'INFORMATION_SCHEMA')
GROUP BY database, table ORDER BY 4 DESC, database, table
"""


class _Engine(Protocol):
    """Who carries out queries."""

    def text(self, query: str) -> bytes:
        """The whole answer; the query names its format."""

    def frames(self, query: str) -> Iterator[pl.DataFrame]:
        """The answer, batch by batch."""

    def close(self) -> None:
        """Let go of it."""


class ClickHouse(Database):
    """A server, or a folder with tables."""

    extra = "clickhouse"
    how_to_cast = "toString({column})"

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        with self._errors():
            self._engine: _Engine = _Server(address) if address.host else _InProcess(address)

    def tables(self) -> list[Table]:
        made = []
        for database, name, columns, is_current in self._rows(_TABLES):
            long_name = f"{database}.{name}"
            sql = f"{self.quote(database)}.{self.quote(name)}"
            made.append(Table(name if is_current else long_name, sql, tuple(columns), long_name))
        return made

    def columns(self, query: str) -> dict[str, str]:
        return {name: _bare(kind) for name, kind, *_ in self._rows(f"DESCRIBE ({query})")}

    def batches(self, query: str) -> Iterator[pl.DataFrame]:
        with self._errors():
            yield from self._engine.frames(query)

    def sort_of(self, sql_type: str) -> Sort:
        if re.fullmatch(r"U?Int(8|16|32|64)|Float(32|64)|Bool", sql_type):
            return "number"
        if re.match(r"Decimal|U?Int(128|256)", sql_type):
            return "decimal"
        if sql_type.split("(")[0] in _TIMES:
            return "time"
        return {"String": "text", "Array(String)": "list"}.get(sql_type, "other")  # type: ignore[return-value]

    def as_text(self, column: str) -> str:
        return f"toString({column})"

    def as_float(self, column: str) -> str:
        return f"toFloat64({column})"

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
        return "`" + name.replace("\\", "\\\\").replace("`", "\\`") + "`"

    def close(self) -> None:
        self._engine.close()

    def _rows(self, query: str) -> list[list[Any]]:
        with self._errors():
            answer = json.loads(self._engine.text(f"{query}\nFORMAT JSONCompact"))
        rows: list[list[Any]] = answer["data"]
        return rows

    @contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except XorecError:
            raise
        except (OSError, RuntimeError, ValueError) as error:
            raise _in_words(self.address, error) from None
        except Exception as error:  # clickhouse-connect's have no base of their own here
            if type(error).__module__.split(".")[0] not in _DRIVERS:
                raise
            raise _in_words(self.address, error) from None


class _InProcess:
    """ClickHouse in this process (chdb), on a folder of its own."""

    def __init__(self, address: Address) -> None:
        try:
            import chdb
        except ImportError:
            raise missing("clickhouse", "chdb") from None
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
    """A server over HTTP."""

    def __init__(self, address: Address) -> None:
        try:
            import clickhouse_connect
            import pyarrow  # noqa: F401 - reads the streams
        except ImportError:
            raise missing("clickhouse", "clickhouse-connect and pyarrow") from None
        self._client: Any = clickhouse_connect.get_client(
            host=address.host,
            port=address.port or (8443 if address.secure else 8123),
            username=address.user or os.environ.get("CLICKHOUSE_USER"),
            password=address.password or os.environ.get("CLICKHOUSE_PASSWORD", ""),
            database=address.database or "__default__",
            secure=address.secure,
            connect_timeout=10,
            settings={"readonly": 2, "max_block_size": ROWS},
        )

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


def _in_words(address: Address, error: Exception) -> DataError:
    text = re.sub(r"^.*?Code: \d+\. ?(DB::Exception: )?", "", str(error), flags=re.DOTALL)
    text = re.sub(r"\(version [^)]*\)|Stack trace:.*", "", text, flags=re.DOTALL)
    lower = text.lower()
    if "already initialized with path" in lower:
        way_out = "one process has one folder of ClickHouse open: close the other one"
        return refusal(address, text, way_out)
    if "authentication" in lower or "password" in lower:
        return refusal(address, text, "give the password in the address or by CLICKHOUSE_PASSWORD")
    if "readonly" in lower:
        return refusal(address, text, "xorec only reads: give a SELECT that changes nothing")
    if "connect" in lower or "max retries" in lower or "timed out" in lower:
        return refusal(address, text, "check that the server runs and can be reached, then again")
    return query_refusal(address, text)
