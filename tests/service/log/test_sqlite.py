from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any

import pytest

from tests.support import ROOT
from tests.support.event_logs import EventLogTests, Opened, an_event
from tests.support.waiting import PATIENCE, until
from xorec.service.log import sqlite as log_module
from xorec.service.log.base import LogReader, StorageFailed
from xorec.service.log.records import Batch, Exposure
from xorec.service.log.sqlite import SqliteDialect, SqliteLog


class TestSqliteLog(EventLogTests):
    def open_log(self, folder: Path, floor: int = 0) -> SqliteLog:
        return SqliteLog(folder / "events.db", floor=floor)

    def open_reader(self, folder: Path) -> LogReader:
        return LogReader(SqliteDialect(folder / "events.db"))

    def test_disk_means_a_flush_at_each_commit(self, tmp_path: Path) -> None:
        for durability, level in (("disk", 2), ("process", 1)):
            log = SqliteLog(tmp_path / durability, durability)  # type: ignore[arg-type]
            assert log._execute("PRAGMA synchronous").fetchone() == (level,)
            assert log._execute("PRAGMA journal_mode").fetchone() == ("wal",)
            assert log._execute("PRAGMA secure_delete").fetchone() == (1,)
            log.close()

    @pytest.mark.process
    def test_nothing_of_an_erased_user_is_left_in_the_files(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as service:
            for at in range(0, 600, 100):  # in several pages, and in the WAL
                service.append(
                    *(an_event(at + n, f"person-{n % 7}-x", event_id=f"{n % 7}-{at + n}-name")
                      for n in range(100))
                )  # fmt: skip
            service.writer.expose(Exposure("r", "x", "a", "person-3-x", ["person-3-item"], 1))
            erased = service.writer.erase("person-3-x").result()
            service.append(an_event(1000))
            assert _naming(tmp_path, "person-3-x") == 1  # the change tells followers whom
            service.writer.forget(erased.seq).result()
            service.append(an_event(1001))
            assert _naming(tmp_path, "person-3") == _naming(tmp_path, "3-3-name") == 0
            assert _naming(tmp_path, "person-4-x") > 50
            assert service.reader.changes("erase") == []
        assert _naming(tmp_path, "person-3") == 0

    @pytest.mark.process
    def test_a_reader_holds_up_the_truncation_and_not_the_erasure(self, service: Opened) -> None:
        assert isinstance(service.log, SqliteLog)
        service.append(an_event(0))
        service.append(an_event(1, "somebody"))  # what is due at the start was done
        reading = sqlite3.connect(service.log.path, isolation_level=None)
        reading.execute("BEGIN")
        reading.execute("SELECT * FROM events").fetchall()
        assert service.writer.erase("somebody").result(PATIENCE).events == 1
        service.append(an_event(2))
        folder = service.log.path.parent
        assert _naming(folder, "somebody", "events.db-wal")
        reading.close()
        until(lambda: not _naming(folder, "somebody", "events.db-wal"), pause=0.1)

    def test_the_wal_stays_bounded_while_many_read(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """Readers by turns, so that there is always one: the WAL would never begin anew."""
        monkeypatch.setattr(log_module, "CHECKPOINT", 100)
        log: Any = SqliteLog(tmp_path / "events.db", "process")
        log._connection = _Patient(log._connection)
        wal, sizes, stop = tmp_path / "events.db-wal", [], threading.Event()

        def come() -> sqlite3.Connection:
            connection = SqliteDialect(log.path).open_reader()
            connection.execute("BEGIN")
            connection.execute("SELECT MAX(seq) FROM events").fetchall()
            return connection

        def read() -> None:
            """The next one comes before the last one leaves."""
            present = come()
            while not stop.wait(0.002):
                later = come()
                present.close()
                present = later
            present.close()

        thread = threading.Thread(target=read)
        thread.start()
        for at in range(0, 8_000, 100):
            log.write(Batch([log.rows([an_event(at + n, at + n) for n in range(100)])]))
            log.tidy()
            sizes.append(wal.stat().st_size)
        stop.set()
        thread.join()
        assert max(sizes) < 12 * 100 * 4120
        log.close()
        assert not wal.exists()

    @pytest.mark.process
    def test_a_reader_changes_no_file(self, tmp_path: Path) -> None:
        """Also as the last one that closes, after the writer was killed."""
        script = (
            "import os, sys; from pathlib import Path; "
            "from xorec.service.log.sqlite import SqliteDialect, SqliteLog; "
            "from xorec.service.log.records import Batch, Change, new_change; "
            "from tests.support.event_logs import an_event; "
            "log = SqliteLog(Path(sys.argv[1])); log.write(Batch([log.rows([an_event(1)])])); "
            "os._exit(0)"
        )
        path = tmp_path / "events.db"
        subprocess.run([sys.executable, "-c", script, str(path)], cwd=ROOT, check=True)
        files = (path, tmp_path / "events.db-wal")
        before = [file.read_bytes() for file in files]
        assert len(before[1]) > 0
        reader = LogReader(SqliteDialect(path))
        assert reader.count() == 1
        reader.close()
        assert [file.read_bytes() for file in files] == before

    def test_a_call_may_be_larger_than_a_statement(self, service: Opened) -> None:
        answer = service.append(*(an_event(at % 3000, at) for at in range(5000)))
        assert (answer.accepted, answer.duplicates) == (3000, 2000)
        records = service.reader.after(0)
        assert [record.seq for record in records] == [*range(1, 3001)]

    def test_one_writer_a_log(self, service: Opened) -> None:
        assert isinstance(service.log, SqliteLog)
        with pytest.raises(StorageFailed, match="written by another process"):
            SqliteLog(service.log.path)
        assert service.append(an_event(1)).accepted == 1


class _Patient:
    """A connection that waits for readers as long as they need: they may have no processor."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._connection = connection

    def __getattr__(self, name: str) -> Any:
        return getattr(self._connection, name)

    def execute(self, statement: str, *values: Any) -> sqlite3.Cursor:
        if statement.startswith("PRAGMA busy_timeout"):
            statement = f"PRAGMA busy_timeout = {1000 * PATIENCE:.0f}"
        return self._connection.execute(statement, *values)


def _naming(folder: Path, text: str, pattern: str = "events.db*") -> int:
    """How often the files hold the text. In a process of its own: closing a file of the database
    would end the locks that SQLite has on it."""
    script = (
        "import sys; from pathlib import Path; "
        "print(sum(file.read_bytes().count(sys.argv[2].encode()) "
        "for file in Path(sys.argv[1]).glob(sys.argv[3])))"
    )
    command = [sys.executable, "-S", "-c", script, str(folder), text, pattern]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
