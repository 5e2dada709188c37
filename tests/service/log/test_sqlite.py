from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from tests.support import ROOT
from tests.support.event_logs import EventLogTests, Opened, an_event
from tests.support.waiting import PATIENCE, until
from xorec.service.log import sqlite as log_module
from xorec.service.log.base import StorageFailed
from xorec.service.log.records import Batch, ChangeRow, Exposure, change_row
from xorec.service.log.sqlite import EventLog
from xorec.service.log.sqlite_reader import LogReader


class TestSqliteLog(EventLogTests):
    def open_log(self, folder: Path) -> EventLog:
        return EventLog(folder / "events.db")

    def open_reader(self, folder: Path) -> LogReader:
        return LogReader(folder / "events.db")

    def test_disk_means_a_flush_at_each_commit(self, tmp_path: Path) -> None:
        for durability, level in (("disk", 2), ("process", 1)):
            log = EventLog(tmp_path / durability, durability)  # type: ignore[arg-type]
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
        assert isinstance(service.log, EventLog)
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
        log: Any = EventLog(tmp_path / "events.db", "process")
        log._connection = _Patient(log._connection)
        reader = LogReader(tmp_path / "events.db")
        wal, sizes, stop = tmp_path / "events.db-wal", [], threading.Event()

        def come() -> ExitStack:
            with ExitStack() as reading:
                connection = reading.enter_context(reader._connection())
                connection.execute("SELECT MAX(seq) FROM events").fetchall()
                return reading.pop_all()

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
        reader.close()
        log.close()
        assert not wal.exists()

    @pytest.mark.process
    def test_a_reader_changes_no_file(self, tmp_path: Path) -> None:
        """Also as the last one that closes, after the writer was killed."""
        script = (
            "import os, sys; from pathlib import Path; "
            "from xorec.service.log.sqlite import EventLog; "
            "from xorec.service.log.records import Batch, ChangeRow, change_row; "
            "from tests.support.event_logs import an_event; "
            "log = EventLog(Path(sys.argv[1])); log.write(Batch([log.rows([an_event(1)])])); "
            "os._exit(0)"
        )
        path = tmp_path / "events.db"
        subprocess.run([sys.executable, "-c", script, str(path)], cwd=ROOT, check=True)
        files = (path, tmp_path / "events.db-wal")
        before = [file.read_bytes() for file in files]
        assert len(before[1]) > 0
        reader = LogReader(path)
        assert reader.count() == 1
        with reader._connection() as connection, pytest.raises(sqlite3.OperationalError):
            connection.execute("DELETE FROM events")
        reader.close()
        assert [file.read_bytes() for file in files] == before

    def test_a_batch_that_breaks_in_its_middle_leaves_nothing(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        log = EventLog(tmp_path / "events.db")
        rows, changes = log.rows([an_event(1)]), [[change_row("item", {"id": 1})]]

        def fail(row: ChangeRow) -> None:
            raise RuntimeError

        with monkeypatch.context() as broken:
            broken.setattr(log, "_change", fail)
            with pytest.raises(RuntimeError):
                log.write(Batch([rows], changes))
        assert log.last_seq == 0
        written = log.write(Batch([rows], changes))
        assert [record.seq for record in written.records] == [1, 2]
        reader = LogReader(tmp_path / "events.db")
        assert reader.after(0) == written.records
        reader.close()
        log.close()

    def test_a_follower_misses_nothing_that_is_written_while_it_reads(self, tmp_path: Path) -> None:
        log = EventLog(tmp_path / "events.db", "process")
        reader = LogReader(tmp_path / "events.db")
        log.write(Batch([log.rows([an_event(1)])]))

        def write(statement: str) -> None:
            if "FROM changes" in statement and log.last_seq == 1:
                log.write(Batch([log.rows([an_event(2)])], [[change_row("item", {"id": 1})]]))

        reader._idle[0].set_trace_callback(write)
        first = reader.after(0)
        assert log.last_seq == 3
        assert [record.seq for record in first] == [1]
        assert [record.seq for record in reader.after(1)] == [2, 3]
        reader.close()
        log.close()

    def test_places_begin_above_the_floor(self, tmp_path: Path) -> None:
        EventLog(tmp_path / "events.db", "process", floor=40).close()
        with self.opened(tmp_path) as service:
            assert service.reader.last_seq() == service.sequence.value == 40
            assert service.append(an_event(1)).seq == 41
        log = EventLog(tmp_path / "events.db", floor=7)
        assert log.last_seq == 41
        log.close()

    def test_an_erased_event_is_forgotten_after_a_month(
        self, service: Opened, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        service.append(an_event(1))
        service.writer.erase("ann").result()
        later = time.time() + log_module.RETRIES + 10
        monkeypatch.setattr(time, "time", lambda: later)
        assert service.append(an_event(1)).duplicates == 1
        service.writer.erase("bob").result()
        assert service.append(an_event(1)).accepted == 1

    def test_a_call_may_be_larger_than_a_statement(self, service: Opened) -> None:
        answer = service.append(*(an_event(at % 3000, at) for at in range(5000)))
        assert (answer.accepted, answer.duplicates) == (3000, 2000)
        records = service.reader.after(0)
        assert [record.seq for record in records] == [*range(1, 3001)]

    def test_one_writer_a_log(self, service: Opened) -> None:
        assert isinstance(service.log, EventLog)
        with pytest.raises(StorageFailed, match="written by another process"):
            EventLog(service.log.path)
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
