"""kill -9 at random moments: what was acknowledged is there, once; a call is there whole or not."""

from __future__ import annotations

import random
import signal
import sqlite3
import subprocess
import sys
import time
from collections import Counter
from pathlib import Path

import pytest

from tests.support.event_logs import an_event
from tests.support.waiting import PATIENCE
from xorec.service.log.records import Change, Event
from xorec.service.log.sqlite import EventLog
from xorec.service.log.sqlite_reader import LogReader
from xorec.service.log.writer import LogWriter, SharedSequence

pytestmark = pytest.mark.process

KILLS = 10
CHILD = """
import os, random, sys, threading
from pathlib import Path
from xorec.service.log import log
from xorec.service.log.writer import SharedSequence
from xorec.service.log.records import NewEvent
from xorec.service.log.writer import LogWriter

folder, start = Path(sys.argv[1]), sys.argv[2]
log.CHECKPOINT = 60
writer = LogWriter(log.EventLog(folder / "events.db"), SharedSequence(folder / "sequence"))
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
if int(start) % 3 == 0:
    while True:
        writer.backup(folder / "copy.db").result()
"""


def test_nothing_acknowledged_is_lost_or_doubled(tmp_path: Path) -> None:
    rng = random.Random(time.time_ns())
    kept: dict[str, int] = {}
    for start in range(KILLS):
        child = subprocess.Popen(
            [sys.executable, "-c", CHILD, str(tmp_path), str(start)], stdout=subprocess.PIPE
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
        kept.update({line[1]: int(line[2]) for line in lines if line[-1].startswith("user-")})
        erasures = {(line[1], int(line[2])) for line in lines if line[0] == "erase"}
        _check(tmp_path, kept, erasures)
    assert len(kept) > KILLS


def _check(folder: Path, kept: dict[str, int], erasures: set[tuple[str, int]]) -> None:
    sequence = SharedSequence(folder / "sequence")
    published = sequence.value
    log = EventLog(folder / "events.db")
    assert log.last_seq >= published
    assert log._execute("PRAGMA integrity_check").fetchall() == [("ok",)]
    writer, reader = LogWriter(log, sequence), LogReader(folder / "events.db")
    records = reader.after(0)
    events = [record for record in records if isinstance(record, Event)]
    changes = {(r.body["user"], r.seq) for r in records if isinstance(r, Change)}
    assert len({event.event_id for event in events}) == len(events)
    found = Counter(event.event_id.split(".")[0] for event in events)
    assert all(found[name] == size for name, size in kept.items())
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
    if (folder / "copy.db").exists():
        copy = sqlite3.connect(folder / "copy.db")
        assert copy.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        copy.close()
