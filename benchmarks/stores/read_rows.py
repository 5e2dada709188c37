"""Reading pairs out of a database: `xorec.read` beside what the database's own tools do.

    python benchmarks/stores/read_rows.py --rows 10000000 --repeats 3 --json

PostgreSQL (a private server, see testing.postgresql) and DuckDB get the same table: user (bigint),
item (bigint, or text with --ids text), ts (timestamptz). Each run has a process of its own, so that
its peak memory is its own: the largest resident size less that after the imports. The methods take
turns, and medians are reported. `xorec` numbers the ids, sorts the pairs and merges repeated ones;
`xorec-rows` is its way of getting the rows alone. The others only take rows and drop them:

    copy-to           COPY ... TO '/dev/null' (FORMAT binary), by the server: nothing is sent
    copy-to-client    COPY ... TO STDOUT (FORMAT binary) by psycopg, bytes dropped
    copy-csv          COPY as CSV, parsed by polars            } ways that were tried
    server-cursor     a server-side cursor of psycopg, 50,000  } for xorec, and not taken
    arrow-table       DuckDB's own to_arrow_table: all rows in memory
    arrow-reader      DuckDB's own to_arrow_reader: batch by batch
"""

from __future__ import annotations

import argparse
import json
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

METHODS = {
    "postgresql": ("xorec", "xorec-rows", "copy-to", "copy-to-client", "copy-csv", "server-cursor"),
    "duckdb": ("xorec", "xorec-rows", "arrow-reader", "arrow-table"),
}
COLUMNS = {"user": "user", "item": "item", "time": "ts"}


def main() -> None:
    """Make the tables, run every method in turn, print medians."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--ids", choices=("number", "text"), default="number")
    parser.add_argument("--server", choices=("debian", "wheel"), default="debian")
    parser.add_argument("--databases", default="postgresql,duckdb")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--one", nargs=3, metavar=("DATABASE", "METHOD", "ADDRESS"))
    given = parser.parse_args()
    if given.one:
        print(json.dumps(run_here(*given.one)))
        return
    rows = []
    for database in given.databases.split(","):
        rows += DATABASES[database](given)
    if given.json:
        print(json.dumps({"rows": rows}))
        return
    print(
        f"{'database':11} {'method':14} {'rows/s':>12} {'seconds':>8} {'cpu s':>7} {'peak MB':>8}"
    )
    for row in rows:
        print(
            f"{row['database']:11} {row['method']:14} {row['rows_per_second']:12,.0f} "
            f"{row['seconds']:8.2f} {row['processor_seconds']:7.2f} {row['peak_mb']:8.0f}"
        )


def of_postgresql(given: argparse.Namespace) -> list[dict[str, Any]]:
    """The table in a private server, and the figures."""
    sys.path.insert(0, str(Path(__file__).parents[2]))  # for tests.support
    from tests.support.postgresql import start

    server, reason = start(given.server, {"max_wal_size": "8GB", "synchronous_commit": "off"})
    if server is None:
        print(f"PostgreSQL is left out: {reason}", file=sys.stderr)
        return []
    with server:
        users, items = _sizes(given.rows)
        user = f"(hashint8extended(g, 1) & {2**63 - 1}) % {users}"
        item = f"(hashint8extended(g, 2) & {2**63 - 1}) % {items}"
        item = f"'B' || lpad(({item})::text, 9, '0')" if given.ids == "text" else item
        with server.connect() as connection:
            connection.execute(
                f'CREATE TABLE orders AS SELECT {user} AS "user", {item} AS item, '
                "timestamptz '2024-01-01' + g * interval '1 second' AS ts "
                f"FROM generate_series(1::bigint, {given.rows}) AS g"
            )
            connection.execute("VACUUM ANALYZE orders")
        return _measure("postgresql", f"{server.address}&table=orders", given)


def of_duckdb(given: argparse.Namespace) -> list[dict[str, Any]]:
    """The table in a file, and the figures."""
    import duckdb

    users, items = _sizes(given.rows)
    item = f"(hash(g, 2) % {items})::BIGINT"
    item = f"'B' || lpad(({item})::VARCHAR, 9, '0')" if given.ids == "text" else item
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "shop.duckdb"
        with duckdb.connect(path) as connection:
            connection.execute(
                f'CREATE TABLE orders AS SELECT (hash(g, 1) % {users})::BIGINT AS "user", '
                f"{item} AS item, timestamptz '2024-01-01' + to_seconds(g) AS ts "
                f"FROM range({given.rows}) AS r(g)"
            )
        return _measure("duckdb", f"{path}?table=orders", given)


DATABASES: dict[str, Callable[[argparse.Namespace], list[dict[str, Any]]]] = {
    "postgresql": of_postgresql,
    "duckdb": of_duckdb,
}


def _sizes(rows: int) -> tuple[int, int]:
    return max(rows // 50, 1), max(rows // 100, 1)


def _measure(database: str, address: str, given: argparse.Namespace) -> list[dict[str, Any]]:
    runs: dict[str, list[dict[str, float]]] = {method: [] for method in METHODS[database]}
    for _ in range(given.repeats):
        for method, done in runs.items():
            command = [sys.executable, __file__, "--one", database, method, address]
            answer = subprocess.run(command, check=True, capture_output=True, text=True)
            done.append(json.loads(answer.stdout))
    made = []
    for method, done in runs.items():
        assert all(one["rows"] == given.rows for one in done) or method == "xorec"
        medians = {name: statistics.median(one[name] for one in done) for name in done[0]}
        speed = given.rows / medians["seconds"]
        made.append({"database": database, "method": method, "rows_per_second": speed, **medians})
    return made


def run_here(database: str, method: str, address: str) -> dict[str, float]:
    """One run in this process: seconds, processor seconds, and the growth of the peak, in MB."""
    import polars as pl

    from xorec.core.addresses import parse_address
    from xorec.data.io.read import read

    read(pl.DataFrame({"user": [1, 2], "item": ["a", "b"], "time": [1, 2]}))  # kernels are loaded
    parsed = parse_address(address)
    assert parsed is not None
    before = _peak_mb()
    began, processor = time.perf_counter(), time.process_time()
    rows = _WAYS[method](address, parsed)
    return {
        "seconds": time.perf_counter() - began,
        "processor_seconds": time.process_time() - processor,
        "peak_mb": _peak_mb() - before,
        "rows": rows,
    }


def _xorec(address: str, parsed: Any) -> int:
    from xorec.data.io.read import read

    return read(address).n_pairs


def _xorec_rows(address: str, parsed: Any) -> int:
    from xorec.data.io.database_source import open_address

    source = open_address(parsed, {})
    assert source.stream is not None
    return sum(len(batch) for batch in source.stream(COLUMNS))


def _copy(parsed: Any, format: str) -> Any:
    import psycopg

    from xorec.databases.postgresql import conninfo

    connection = psycopg.connect(conninfo(parsed))
    query = 'SELECT "user", item, ts FROM orders'
    return connection.cursor().copy(f"COPY ({query}) TO STDOUT (FORMAT {format})")


def _copy_to(address: str, parsed: Any) -> int:
    import psycopg

    from xorec.databases.postgresql import conninfo

    with psycopg.connect(conninfo(parsed)) as connection:
        query = 'SELECT "user", item, ts FROM orders'
        return int(connection.execute(f"COPY ({query}) TO '/dev/null' (FORMAT binary)").rowcount)


def _copy_to_client(address: str, parsed: Any) -> int:
    rows = -1  # the trailer
    with _copy(parsed, "binary") as copy:
        for _ in copy:
            rows += 1
    return rows


def _copy_csv(address: str, parsed: Any) -> int:
    import polars as pl

    rows = 0
    lines: list[bytes] = []

    def parse() -> int:
        text = b"".join(lines)
        lines.clear()
        return len(pl.read_csv(text, has_header=False)) if text else 0

    with _copy(parsed, "csv") as copy:
        for line in copy:
            lines.append(bytes(line))
            if len(lines) == 100_000:
                rows += parse()
    return rows + parse()


def _server_cursor(address: str, parsed: Any) -> int:
    import polars as pl
    import psycopg

    from xorec.databases.postgresql import conninfo

    rows = 0
    with (
        psycopg.connect(conninfo(parsed)) as connection,
        connection.cursor(name="rows", binary=True) as cursor,
    ):
        cursor.execute('SELECT "user", item, ts FROM orders')
        while some := cursor.fetchmany(50_000):
            rows += len(pl.DataFrame(some, schema=["user", "item", "ts"], orient="row"))
    return rows


def _duckdb_query(parsed: Any) -> Any:
    import duckdb

    connection = duckdb.connect(parsed.path, read_only=True)
    return connection.sql('SELECT "user", item, ts FROM orders')


def _arrow_reader(address: str, parsed: Any) -> int:
    return sum(batch.num_rows for batch in _duckdb_query(parsed).to_arrow_reader(100_000))


def _arrow_table(address: str, parsed: Any) -> int:
    return int(_duckdb_query(parsed).to_arrow_table().num_rows)


_WAYS: dict[str, Callable[[str, Any], int]] = {
    "xorec": _xorec,
    "xorec-rows": _xorec_rows,
    "copy-to": _copy_to,
    "copy-to-client": _copy_to_client,
    "copy-csv": _copy_csv,
    "server-cursor": _server_cursor,
    "arrow-reader": _arrow_reader,
    "arrow-table": _arrow_table,
}


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


if __name__ == "__main__":
    main()
