"""The event log alone: acknowledged events a second, and how fast a follower reads them.

    python benchmarks/event_log.py --json
    python benchmarks/event_log.py --clients 1,32,128 --seconds 5 --before 1000000 --busy
    python benchmarks/event_log.py --postgresql debian --json

Clients are threads that send one event, wait for its answer, and send the next; `--tasks`: they are
tasks of one event loop. `--before`: events that the log has already. `--busy`: a thread that
computes all the time, as an event loop under load does; `--switch`: seconds after which Python lets
another thread have its turn. `wal_mb` is the largest size of SQLite's WAL. Beside it: what the disk
itself gives, by flushes of 16 kB into a file. `--postgresql`: the log is in a server of its own, of
Debian or of the wheel, which is started on the same disk (TMPDIR).
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np

from xorec.service.log.base import Log
from xorec.service.log.location import LogLocation
from xorec.service.log.records import Batch, NewEvent
from xorec.service.log.writer import LogWriter, SharedSequence

sys.path.insert(0, str(Path(__file__).parents[1]))  # for tests.support
from tests.support.load import events_settings


def new_event(rng: random.Random) -> NewEvent:
    event_id = f"{rng.getrandbits(128):032x}"
    user, item = rng.randrange(100_000), rng.randrange(100_000)
    return NewEvent(event_id, user, item, "click", 1.0, time.time_ns() // 1000, None)


def flushes(folder: Path, seconds: float = 1.0) -> float:
    """Flushes of 16 kB a second."""
    handle, count, began = os.open(folder / "flush", os.O_RDWR | os.O_CREAT), 0, time.monotonic()
    os.pwrite(handle, bytes(1 << 20), 0)
    os.fsync(handle)
    while time.monotonic() - began < seconds:
        os.pwrite(handle, os.urandom(1 << 14), (count % 64) << 14)
        os.fdatasync(handle)
        count += 1
    os.close(handle)
    return count / (time.monotonic() - began)


def fill(log: Log, events: int, seed: int) -> None:
    rng = random.Random(seed)
    while events > 0:
        rows = log.rows([new_event(rng) for _ in range(min(events, 10_000))])
        log.write(Batch([rows]))
        log.tidy()
        events -= len(rows)
    log.close()


def measure(where: LogLocation, clients: int, wanted: argparse.Namespace) -> dict[str, Any]:
    groups = list[tuple[int, float]]()
    sequence = SharedSequence(where.folder / "sequence")
    writer = LogWriter(
        where.open_log(wanted.durability),
        sequence,
        on_group=lambda events, seconds: groups.append((events, seconds)),
    )
    end, times = time.perf_counter() + wanted.seconds, [list[float]() for _ in range(clients)]
    wal, largest = where.folder / "events.db-wal", 0

    def client(at: int) -> None:
        rng = random.Random(f"{wanted.seed} {clients} {at} {time.time_ns()}")
        while (began := time.perf_counter()) < end:
            writer.append([new_event(rng)]).result()
            times[at].append(time.perf_counter() - began)

    async def task(at: int) -> None:
        rng = random.Random(f"{wanted.seed} {clients} {at} {time.time_ns()}")
        while (began := time.perf_counter()) < end:
            await asyncio.wrap_future(writer.append([new_event(rng)]))
            times[at].append(time.perf_counter() - began)

    async def tasks() -> None:
        await asyncio.gather(*map(task, range(clients)))

    def compute() -> None:
        while time.perf_counter() < end:
            sum(range(1000))

    if wanted.tasks:
        threads = [threading.Thread(target=asyncio.run, args=(tasks(),))]
    else:
        threads = [threading.Thread(target=client, args=(at,)) for at in range(clients)]
    threads += [threading.Thread(target=compute)] if wanted.busy else []
    for thread in threads:
        thread.start()
    while time.perf_counter() < end:
        time.sleep(0.05)
        largest = max(largest, wal.stat().st_size if wal.exists() else 0)
    for thread in threads:
        thread.join()
    writer.close()
    sequence.close()
    waits = np.concatenate(times) * 1000
    return {
        "clients": clients,
        "durability": wanted.durability,
        "log": "sqlite" if where.address is None else "postgresql",
        "as": "tasks" if wanted.tasks else "threads",
        "busy": wanted.busy,
        "events_per_second": round(len(waits) / wanted.seconds, 1),
        "p50_ms": round(float(np.percentile(waits, 50)), 2),
        "p99_ms": round(float(np.percentile(waits, 99)), 2),
        "events_per_group": round(float(np.mean([events for events, _ in groups])), 1),
        "group_ms": round(1000 * float(np.mean([seconds for _, seconds in groups])), 2),
        "wal_mb": round(largest / 1e6, 1),
    }


def replay(where: LogLocation) -> dict[str, Any]:
    began = time.perf_counter()
    reader = where.open_reader()
    opened = time.perf_counter()
    records = sum(len(block) for block in reader.blocks(max(0, reader.last_seq() - 100_000)))
    seconds = time.perf_counter() - opened
    reader.close()
    return {
        "records": records,
        "open_ms": round(1000 * (opened - began), 2),
        "seconds": round(seconds, 3),
        "records_per_second": round(records / seconds),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--clients", default="1,32,128")
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument("--durability", choices=("disk", "process"), default="disk")
    parser.add_argument("--before", type=int, default=100_000)
    parser.add_argument("--busy", action="store_true")
    parser.add_argument("--tasks", action="store_true")
    parser.add_argument("--switch", type=float, default=sys.getswitchinterval())
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--postgresql", help="debian or wheel: the log is in such a server")
    parser.add_argument("--folder", type=Path, help="on the disk to measure")
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    sys.setswitchinterval(wanted.switch)
    with (
        tempfile.TemporaryDirectory(dir=wanted.folder) as name,
        events_settings(wanted.postgresql) as settings,
    ):
        where = LogLocation.of(Path(name), settings.get("EVENTS"))
        disk = flushes(where.folder)
        fill(where.open_log("process"), wanted.before, wanted.seed)
        rows = [measure(where, int(clients), wanted) for clients in wanted.clients.split(",")]
        result = {
            "disk_flushes_per_second": round(disk, 1),
            "rows": rows,
            "replay": replay(where),
        }
    if wanted.json:
        print(json.dumps(result, indent=1))
        return
    print(f"the disk gives {disk:.0f} flushes a second")
    for row in rows:
        print(", ".join(f"{name} {value}" for name, value in row.items()))
    print(result["replay"])


if __name__ == "__main__":
    main()
