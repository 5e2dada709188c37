"""Disks that are full or read-only, files that are damaged, locked, foreign or from later on."""

from __future__ import annotations

import os
import sqlite3
import subprocess
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from itertools import count, islice
from pathlib import Path

import pytest

from tests.support.event_logs import an_event, exposures
from tests.support.waiting import PATIENCE
from xorec.core.errors import XorecError
from xorec.service.log import sqlite
from xorec.service.log.base import LogReader, StorageFailed, StorageFull
from xorec.service.log.records import Event, Exposure
from xorec.service.log.sqlite import SqliteDialect, SqliteLog
from xorec.service.log.writer import LogWriter, SharedSequence


def read(path: Path) -> LogReader:
    return LogReader(SqliteDialect(path))


@contextmanager
def writing(folder: Path) -> Iterator[tuple[LogWriter, LogReader]]:
    with (
        closing(SharedSequence(folder / "sequence")) as sequence,
        closing(LogWriter(SqliteLog(folder / "events.db"), sequence)) as writer,
        closing(read(folder / "events.db")) as reader,
    ):
        yield writer, reader


def names(reader: LogReader) -> list[str]:
    return [record.event_id for record in reader.after(0) if isinstance(record, Event)]


def fill(path: Path) -> None:
    """Leave not a byte on the disk."""
    with path.open("wb", buffering=0) as file:
        for size in (4096, 1):
            try:
                while True:
                    file.write(bytes(size))
            except OSError:
                pass


def test_a_full_disk_takes_nothing_half_and_heals(small_disk: Path) -> None:
    numbers, acknowledged = count(0, 10), list[str]()

    def append(writer: LogWriter, calls: int) -> int:
        """Calls that were refused, of several at once."""
        sent = [[an_event(n + at, "u" * 50) for at in range(5)] for n in islice(numbers, calls)]
        errors = [one.exception(PATIENCE) for one in [writer.append(events) for events in sent]]
        for events, error in zip(sent, errors, strict=True):
            if error is None:
                acknowledged.extend(event.event_id for event in events)
            else:
                assert isinstance(error, StorageFull)
                assert "no space left for the event log" in str(error)
        return len(errors) - errors.count(None)

    with writing(small_disk) as (writer, reader):
        assert append(writer, 20) == 0
        for round_ in range(3):
            fill(small_disk / "filler")
            assert append(writer, 300) > 0
            writer.expose(Exposure(f"r{round_}", "x", "a", "ann", [], 1))
            assert append(writer, 300) > 0
            assert names(reader) == acknowledged  # reads go on
            (small_disk / "filler").unlink()
            assert append(writer, 3) == 0
        assert len(exposures(reader)) == 3  # they waited
    with writing(small_disk) as (writer, reader):
        assert names(reader) == acknowledged
        assert append(writer, 3) == 0


def test_what_a_full_disk_refused_is_not_there(small_disk: Path) -> None:
    with writing(small_disk) as (writer, reader):
        writer.append([an_event(1)]).result(PATIENCE)
        seq = reader.last_seq()
        fill(small_disk / "filler")
        large = [an_event(at, "u" * 4000) for at in range(2, 1000)]
        for _ in range(3):
            with pytest.raises(StorageFull):
                writer.append(large).result(PATIENCE)
        assert names(reader) == ["e1"]
        assert reader.last_seq() == seq
        retry = writer.append([an_event(1)]).result(PATIENCE)  # it takes no room
        assert (retry.duplicates, retry.seq) == (1, seq)
        (small_disk / "filler").unlink()
        assert writer.append([an_event(2), an_event(1)]).result(PATIENCE).accepted == 1
    with writing(small_disk) as (_, reader):
        assert names(reader) == ["e1", "e2"]


def test_a_disk_that_becomes_read_only(small_disk: Path) -> None:
    with writing(small_disk) as (writer, reader):
        writer.append([an_event(1)]).result(PATIENCE)
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    with pytest.raises(XorecError, match=r"events\.db"):
        SqliteLog(small_disk / "events.db")
    subprocess.run(["mount", "-o", "remount,rw", str(small_disk)], check=True)
    with writing(small_disk) as (writer, reader):
        assert writer.append([an_event(2)]).result(PATIENCE).accepted == 1
        assert names(reader) == ["e1", "e2"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_a_folder_without_the_right_to_write(tmp_path: Path) -> None:
    tmp_path.chmod(0o500)
    with pytest.raises(StorageFailed, match="write"):
        SqliteLog(tmp_path / "events.db")


def test_another_program_that_holds_the_database(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sqlite, "BUSY", 0.3)
    with writing(tmp_path) as (writer, reader):
        writer.append([an_event(1)]).result(PATIENCE)
        other = sqlite3.connect(tmp_path / "events.db", isolation_level=None)
        other.execute("BEGIN IMMEDIATE")
        with pytest.raises(StorageFailed, match=r"events\.db: another process holds it"):
            writer.append([an_event(2)]).result(PATIENCE)
        assert names(reader) == ["e1"]
        other.execute("ROLLBACK")
        other.close()
        assert writer.append([an_event(2)]).result(PATIENCE).accepted == 1


Opens = Callable[[Path], object]


@pytest.mark.parametrize("opens", [SqliteLog, read])
def test_files_that_are_no_log(tmp_path: Path, opens: Opens) -> None:
    path = tmp_path / "events.db"
    path.write_bytes(b"user,item\n" * 1000)
    with pytest.raises(StorageFailed, match=r"events\.db: it is no SQLite database: restore"):
        opens(path)
    path.unlink()
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE shop (id)")
    connection.close()
    with pytest.raises(StorageFailed, match="no event log of xorec"):
        opens(path)


@pytest.mark.parametrize("opens", [SqliteLog, read])
def test_a_log_of_a_newer_xorec_is_refused(tmp_path: Path, opens: Opens) -> None:
    path = tmp_path / "events.db"
    SqliteLog(path).close()
    with sqlite3.connect(path) as connection:
        connection.execute("PRAGMA user_version = 2")
    connection.close()
    before = path.read_bytes()
    with pytest.raises(StorageFailed, match="is of version 2, this xorec knows 1: use a newer"):
        opens(path)
    assert path.read_bytes() == before


def test_a_damaged_log_is_named(tmp_path: Path) -> None:
    path = tmp_path / "events.db"
    with writing(tmp_path) as (writer, _):
        writer.append([an_event(at, at) for at in range(2000)]).result(PATIENCE)
    damaged = bytearray(path.read_bytes())
    damaged[8192:] = bytes(len(damaged) - 8192)
    path.write_bytes(damaged)
    with pytest.raises(StorageFailed, match=r"events\.db: it is damaged: restore a snapshot"):  # noqa: SIM117
        with writing(tmp_path) as (writer, reader):
            reader.after(0)


def test_a_reader_before_there_is_a_log(tmp_path: Path) -> None:
    with pytest.raises(StorageFailed, match=r"events\.db: it cannot be opened: the folder must"):
        read(tmp_path / "events.db")
    assert not any(tmp_path.iterdir())
