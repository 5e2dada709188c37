"""kill -9 of who writes, and of the database: what was acknowledged is there, once, whole."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import threading
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from tests.support.event_logs import an_event
from tests.support.postgresql import PostgreSQL
from tests.support.waiting import PATIENCE, until
from xorec.service.log.base import StorageFailed
from xorec.service.log.location import LogLocation
from xorec.service.log.records import Change, Event, NewEvent
from xorec.service.log.writer import LogWriter, SharedSequence

pytestmark = pytest.mark.process

CHILD = """
import os, sys, threading
from pathlib import Path
from xorec.service.log import sqlite
from xorec.service.log.location import LogLocation
from xorec.service.log.records import NewEvent
from xorec.service.log.writer import LogWriter, SharedSequence

folder, address, start = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
sqlite.CHECKPOINT = 60
log = LogLocation.of(folder, address).open_log("disk")
writer = LogWriter(log, SharedSequence(folder / "sequence"))
os.write(1, b"ready\\n")

def client(number):
    for call in range(100_000):
        name = f"{start}-{number}-{call}"
        size = call % 3 + 1
        user = f"gone-{number}" if call % 5 == 0 else f"user-{number}"
        events = [
            NewEvent(f"{name}.{at}.{size}", user, at, "click", 1.0, call, None)
            for at in range(size)
        ]
        writer.append(events).result()
        os.write(1, f"event {name} {size} {user}\\n".encode())
        if call % 17 == 16:
            seq = writer.erase(f"gone-{number}").result().seq
            os.write(1, f"erase gone-{number} {seq}\\n".encode())

for number in range(4):
    threading.Thread(target=client, args=(number,)).start()
if not address and int(start) % 3 == 0:
    while True:
        writer.backup(folder / "copy.db").result()
"""


def test_the_writer_is_killed(kept: dict[str, Any], tmp_path: Path) -> None:
    rng = random.Random(time.time_ns())
    address = kept.get("events", "")
    acknowledged: dict[str, int] = {}
    kills = 5 if address else 10
    for start in range(kills):
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(tmp_path), address, str(start)],
            stdout=subprocess.PIPE,
        )
        assert child.stdout is not None
        assert child.stdout.readline() == b"ready\n"
        lines = list[list[str]]()
        while sum(line[-1].startswith("user-") for line in lines) < 2:  # some was acknowledged
            lines.append(child.stdout.readline().decode().split())
        time.sleep(rng.uniform(0, 0.4))  # any moment after that
        child.send_signal(signal.SIGKILL)
        lines += [line.decode().split() for line in child.stdout if line.endswith(b"\n")]
        child.wait(PATIENCE)
        child.stdout.close()
        acknowledged.update(
            {line[1]: int(line[2]) for line in lines if line[-1].startswith("user-")}
        )
        erasures = {(line[1], int(line[2])) for line in lines if line[0] == "erase"}
        _check(LogLocation.of(tmp_path, address), acknowledged, erasures)
    assert len(acknowledged) > kills


def _check(
    location: LogLocation, acknowledged: dict[str, int], erasures: set[tuple[str, int]]
) -> None:
    sequence = SharedSequence(location.folder / "sequence")
    published = sequence.value
    log = location.open_log("disk")
    assert log.last_seq >= published
    writer, reader = LogWriter(log, sequence), location.open_reader()
    records = reader.after(0)
    events = [record for record in records if isinstance(record, Event)]
    changes = {(r.body["user"], r.seq) for r in records if isinstance(r, Change)}
    assert len({event.event_id for event in events}) == len(events)
    found = Counter(event.event_id.split(".")[0] for event in events)
    assert all(found[name] == size for name, size in acknowledged.items())
    sizes = {event.event_id.split(".")[0]: int(event.event_id[-1]) for event in events}
    assert found == sizes  # whole calls only, also of those that were not acknowledged
    assert erasures <= changes
    for user, seq in changes:
        assert all(event.seq > seq for event in events if event.user == user)
    if events:  # a retry after the kill
        again = an_event(1, event_id=events[-1].event_id)
        assert writer.append([again]).result(PATIENCE).duplicates == 1
    reader.close()
    writer.close()
    sequence.close()
    for path in location.folder.glob("*.db"):  # the log in the folder, and a copy of it
        database = sqlite3.connect(path)
        assert database.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        database.close()


def test_the_database_is_killed(postgresql: PostgreSQL, tmp_path: Path) -> None:
    """Calls that it was in doubt about are repeated, as a client does."""
    location = LogLocation.of(tmp_path, postgresql.new_database("killed"))
    rng = random.Random(time.time_ns())
    sequence = SharedSequence(tmp_path / "sequence")
    writer = LogWriter(location.open_log("disk"), sequence)
    reader, stop = location.open_reader(), threading.Event()
    acknowledged: set[str] = set()
    failed = 0

    def client(number: int) -> None:
        nonlocal failed
        call = 0
        while not stop.is_set():
            names = [f"{number}-{call}-{at}" for at in range(3)]
            events = [NewEvent(name, number, call, "click", 1.0, call, None) for name in names]
            try:
                done = writer.append(events).result(PATIENCE)
            except StorageFailed:
                failed += 1
                time.sleep(0.01)
                continue
            assert done.accepted in (0, 3)
            assert done.accepted + done.duplicates == 3
            acknowledged.update(names)
            call += 1

    threads = [threading.Thread(target=client, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for _ in range(3):
        time.sleep(rng.uniform(0.05, 0.4))  # at any moment
        postgresql.kill()
        missed = failed
        until(lambda missed=missed: failed > missed)  # type: ignore[misc]
        before = len(acknowledged)
        postgresql.start()
        until(lambda before=before: len(acknowledged) > before)  # type: ignore[misc]
    stop.set()
    for thread in threads:
        thread.join()
    records = reader.after(0)
    kept = [record.event_id for record in records if isinstance(record, Event)]
    assert failed > 0
    assert len(kept) == len(set(kept))
    assert acknowledged <= set(kept)
    counts = Counter(name.rpartition("-")[0] for name in kept)
    assert set(counts.values()) == {3}  # whole calls
    assert [record.seq for record in records] == [*range(1, len(records) + 1)]
    assert sequence.value == reader.last_seq() == len(records)
    reader.close()
    writer.close()
    sequence.close()
