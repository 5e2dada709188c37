"""kill -9 at random moments under load: no acknowledged event is lost, none is there twice.

    python benchmarks/service/kill9.py --kills 200 --replay 100000 --json

So many events that the model file does not know are put into the log: each start replays them.
Then threads send events and ask for lists; the service and all that it started are killed and
started again; what had no answer is sent again with the same id. In the end the log is held against
what was acknowledged.
"""

from __future__ import annotations

import argparse
import random
import sys
import threading
import time
from http.client import HTTPException
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # for tests.support
from tests.support.load import (
    EventSenders,
    Figures,
    Served,
    compare_with_log,
    events_settings,
    percentile,
    promise,
    serving,
)

_BEFORE = "before-"
"""How the ids of events begin that were there before the first kill."""


class Readers:
    """Threads that ask for lists: every answer that comes is right."""

    def __init__(self, served: Served, threads: int) -> None:
        self.served, self.answers, self.wrong = served, 0, 0
        self._stop = threading.Event()
        self._threads = [threading.Thread(target=self._read, args=(n,)) for n in range(threads)]

    def __enter__(self) -> Readers:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _read(self, number: int) -> None:
        user = number
        with self.served.caller() as caller:
            while not self._stop.is_set():
                user = (user + 13) % self.served.users
                try:
                    status, answer = caller.get(f"/v1/recommend?user={user}&k=10")
                except (OSError, HTTPException):
                    self._stop.wait(0.01)
                    continue
                right = status == 200 and len(answer["items"]) == 10
                self.answers += 1
                self.wrong += not right and status != 503
                time.sleep(0.002)


def run(wanted: argparse.Namespace) -> tuple[bool, Figures]:
    rng, end = random.Random(wanted.seed), time.monotonic() + wanted.limit
    ready: list[float] = []
    with (
        events_settings(wanted.postgresql) as settings,
        serving(workers=wanted.workers, settings=settings) as served,
    ):
        _fill(served, wanted.replay)
        senders = EventSenders(served, wanted.senders)
        with Readers(served, wanted.readers) as readers:
            for _ in range(wanted.kills):
                if time.monotonic() > end:
                    break
                senders.start()
                time.sleep(rng.uniform(0.02, 0.6))
                served.process.kill()
                senders.stop()
                ready.append(served.start_again())
        senders.finish()
        with served.caller() as caller:
            log = caller.export()
    sent = [event for event in log if not event["event_id"].startswith(_BEFORE)]
    found = compare_with_log(senders.acknowledged, senders.sent, sent)
    held = (
        found["lost"] == found["doubled"] == found["unknown"] == readers.wrong == 0
        and found["acknowledged"] == found["in_log"]
        and len(log) - len(sent) == wanted.replay
        and len(ready) == wanted.kills
        and max(ready) < wanted.ready
    )
    return held, {
        "kills": len(ready),
        "workers": wanted.workers,
        **found,
        "duplicates_answered": senders.duplicates,
        "lists": readers.answers,
        "wrong_lists": readers.wrong,
        "replayed_events": wanted.replay,
        "replayed_events_last": len(log),
        "ready_seconds_p50": percentile(ready, 50),
        "ready_seconds_p99": percentile(ready, 99),
        "ready_seconds_max": percentile(ready, 100),
    }


def _fill(served: Served, events: int) -> None:
    """Put events into the log that the model file does not know."""
    with served.caller() as caller:
        for begin in range(0, events, 5000):
            several = [
                {
                    "user": n % served.users,
                    "item": n * 31 % served.items,
                    "event_id": _BEFORE + str(n),
                }
                for n in range(begin, min(begin + 5000, events))
            ]
            status, answer = caller.post("/v1/events", {"events": several})
            assert status == 200, answer


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=200)
    parser.add_argument("--senders", type=int, default=16)
    parser.add_argument("--readers", type=int, default=4)
    parser.add_argument("--postgresql", help="events there: debian or wheel")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--replay", type=int, default=100_000, help="events in the log at first")
    parser.add_argument("--ready", type=float, default=2.0, help="seconds until it is, at most")
    parser.add_argument("--limit", type=float, default=3600, help="seconds in all")
    parser.add_argument("--seed", type=int, default=0)
    short = {"kills": 2, "senders": 4, "readers": 1, "replay": 2000, "ready": 60.0}
    return promise("kill9", run, parser, short)


if __name__ == "__main__":
    sys.exit(main())
