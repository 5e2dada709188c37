"""Half load for a long time: memory grows by less than 1 %, file descriptors stay.

    python benchmarks/service/soak.py --minutes 30 --json

Lists at half of the measured maximum, with some events among them. Memory and descriptors are
looked at every few seconds; the first fifth is for warming up.
"""

from __future__ import annotations

import argparse
import sys
import threading
import time
from pathlib import Path
from statistics import median

from xorec.lab.bench.http_sender import Sender
from xorec.lab.bench.serve import pinned, server_cores
from xorec.lab.bench.serve_requests import payload_of
from xorec.lab.bench.server_process import HOST

sys.path.insert(0, str(Path(__file__).parents[2]))  # for tests.support
from tests.support.load import Figures, Served, promise, serving

GROWTH = 0.01


class Watch:
    """Looks at the service every few seconds."""

    def __init__(self, served: Served, every: float) -> None:
        self.memory: list[float] = []
        self.descriptors: list[int] = []
        self._served, self._every, self._stop = served, every, threading.Event()
        self._thread = threading.Thread(target=self._look)

    def __enter__(self) -> Watch:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _look(self) -> None:
        while not self._stop.wait(self._every):
            self.memory.append(self._served.process.memory_mb())
            self.descriptors.append(self._served.process.descriptors())


def run(wanted: argparse.Namespace) -> tuple[bool, Figures]:
    ours, others = server_cores()
    seconds = wanted.minutes * 60
    settings = {"UPDATE__EVENTS": wanted.update} if wanted.update else {}
    with serving(items=wanted.items, users=wanted.users, cores=ours, settings=settings) as served:
        lists = payload_of("lists", wanted.users, wanted.items)
        events = payload_of("events", wanted.users, wanted.items)
        with pinned(others), Sender((HOST, served.port), 32) as sender:
            sender.closed(lists, 1000, 30)
            rate = wanted.share * sender.closed(lists, 10**9, min(5.0, seconds)).rate
            every = max(1, round(rate / wanted.events)) if wanted.events else 0

            def payload(i: int) -> bytes:
                return events(i) if every and i % every == 0 else lists(i)

            with Watch(served, max(0.2, min(5.0, seconds / 40))) as watch:
                began = time.perf_counter()
                load = sender.open(payload, rate, seconds, spin=0.0)
                took = time.perf_counter() - began
    warm = len(watch.memory) // 5
    memory, descriptors = watch.memory[warm:], watch.descriptors[warm:]
    fifth = max(1, len(memory) // 5)
    first, last = median(memory[:fifth]), median(memory[-fifth:])
    held = load.errors == 0 and last <= (1 + GROWTH) * first and len(set(descriptors)) == 1
    return held, {
        "soaked_seconds": round(took),
        "rate": round(rate),
        "requests": len(load.latencies),
        "errors": load.errors,
        "statuses": load.by_status,
        "p50_ms": round(load.percentile(50), 2),
        "p99_ms": round(load.percentile(99), 2),
        "memory_mb_first": round(first, 1),
        "memory_mb_last": round(last, 1),
        "growth": round(last / first - 1, 4),
        "descriptors": sorted(set(descriptors)),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30)
    parser.add_argument("--items", type=int, default=350_000)
    parser.add_argument("--users", type=int, default=100_000)
    parser.add_argument("--share", type=float, default=0.5, help="of the maximum")
    parser.add_argument("--events", type=float, default=10, help="events a second among them")
    parser.add_argument("--update", type=int, default=0, help="events until a new generation")
    short = {"minutes": 0.08, "items": 2000, "users": 500, "events": 0}
    return promise("soak", run, parser, short)


if __name__ == "__main__":
    sys.exit(main())
