"""The very next list knows the event: sent by one connection, asked for by another.

    python benchmarks/service/read_your_writes.py --count 100000 --workers 4 --json

Each time the first item of a user's list is taken (an event by one connection), and the next list
(by another connection, mostly another worker) must not have it; the log must have the event. No
`seq` is passed, unless --seq: the promise is for every client.
"""

from __future__ import annotations

import argparse
import random
import sys
import threading
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # for tests.support
from tests.support.load import Figures, Served, events_settings, promise, serving


class Checks:
    """What the threads count."""

    def __init__(self, count: int, seconds: float) -> None:
        self.left, self.end = count, time.monotonic() + seconds
        self.done = self.in_list = self.not_in_log = self.errors = 0
        self.lock = threading.Lock()
        self.workers: set[str] = set()

    def take(self) -> bool:
        with self.lock:
            self.left -= 1
            return self.left >= 0 and time.monotonic() < self.end


def check(served: Served, checks: Checks, number: int, wanted: argparse.Namespace) -> None:
    rng = random.Random(number)
    callers = [served.caller() for _ in range(wanted.connections)]
    user, turn = number, 0
    listed = callers[0].items(user)
    while checks.take():
        writer, reader, asker = rng.sample(callers, 3)
        turn += 1
        event = {"user": user, "item": listed[0], "event_id": f"{number}-{turn}"}
        status, answer = writer.post("/v1/events", event)
        if status != 200:
            with checks.lock:
                checks.errors += 1
            continue
        seq = f"&seq={answer['seq']}" if wanted.seq else ""
        status, found = reader.get(f"/v1/recommend?user={user}&k=10{seq}")
        status_2, log = asker.get(f"/v1/events?user={user}&k=1")
        with checks.lock:
            checks.done += 1
            checks.errors += (status != 200) + (status_2 != 200)
            if status == status_2 == 200:
                items = [item["id"] for item in found["items"]]
                checks.in_list += event["item"] in items
                checks.not_in_log += [one["event_id"] for one in log["events"]] != [
                    event["event_id"]
                ]
        if status == 200 and turn % wanted.each:
            listed = items
            continue
        user += wanted.threads  # a user is one thread's alone, or the newest event is another's
        user = user if user < served.users else number
        listed = reader.items(user)
    for caller in callers:
        caller.close()


def run(wanted: argparse.Namespace) -> tuple[bool, Figures]:
    checks = Checks(wanted.count, wanted.limit)
    more = {"workers": wanted.workers, "items": 20_000, "users": 5_000}
    with (
        events_settings(wanted.postgresql) as settings,
        serving(settings=settings, **more) as served,
    ):
        threads = [
            threading.Thread(target=check, args=(served, checks, number, wanted))
            for number in range(wanted.threads)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    held = checks.done == wanted.count and not (checks.in_list + checks.not_in_log + checks.errors)
    return held, {
        "workers": wanted.workers,
        "checks": checks.done,
        "still_in_list": checks.in_list,
        "not_in_log": checks.not_in_log,
        "errors": checks.errors,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100_000)
    parser.add_argument("--postgresql", help="events there: debian or wheel")
    parser.add_argument("--workers", type=int, default=4)
    parser.add_argument("--threads", type=int, default=32)
    parser.add_argument("--connections", type=int, default=4, help="of each thread")
    parser.add_argument("--each", type=int, default=5, help="events of a user in a row")
    parser.add_argument("--seq", action="store_true", help="pass the seq of the event")
    parser.add_argument("--limit", type=float, default=3600, help="seconds in all")
    return promise("read-your-writes", run, parser, {"count": 300, "workers": 2, "threads": 8})


if __name__ == "__main__":
    sys.exit(main())
