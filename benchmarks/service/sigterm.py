"""SIGTERM under load: what is under way is answered, nothing acknowledged is lost, exit code 0.

    python benchmarks/service/sigterm.py --times 20 --json

Connections send events and ask for lists without a pause. A request that was on its way before the
signal must be answered; one that comes after may be refused. Then the log is looked at.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import threading
import time
from http.client import HTTPException
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # for tests.support
from tests.support.load import (
    Caller,
    Figures,
    Served,
    compare_with_log,
    percentile,
    promise,
    serving,
)

LONGEST = 10.0
"""Seconds that the end may take."""
EARLY = 0.002
"""Seconds before the signal by which a request is surely on its way."""


class Clients:
    """Threads that each send one request after the other until they are refused."""

    def __init__(self, served: Served, threads: int, tag: str) -> None:
        self.acknowledged: dict[str, int] = {}
        self.sent: set[str] = set()
        self.broken: list[float] = []
        """When requests were sent that had no answer."""
        self.refused = self.answers = 0
        self._served, self._tag, self._stop = served, tag, threading.Event()
        self._lock = threading.Lock()
        self._threads = [threading.Thread(target=self._run, args=(n,)) for n in range(threads)]
        for thread in self._threads:
            thread.start()

    def join(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _run(self, number: int) -> None:
        turn = 0
        with self._served.caller() as caller:
            while not self._stop.is_set():
                turn += 1
                began = time.perf_counter()
                try:
                    self._one(caller, number, turn)
                except (OSError, HTTPException):
                    with self._lock:
                        self.broken.append(began)
                    return

    def _one(self, caller: Caller, number: int, turn: int) -> None:
        if number % 2:
            status, _ = caller.get(f"/v1/recommend?user={turn % self._served.users}&k=10")
        else:
            name = f"{self._tag}-{number}-{turn}"
            body = {"user": turn % self._served.users, "item": turn % 1000, "event_id": name}
            with self._lock:
                self.sent.add(name)
            status, _ = caller.post("/v1/events", body)
            if status == 200:
                with self._lock:
                    self.acknowledged[name] = turn
        with self._lock:
            self.answers += status == 200
            self.refused += status != 200


def run(wanted: argparse.Namespace) -> tuple[bool, Figures]:
    rng = random.Random(wanted.seed)
    ends: list[float] = []
    codes: list[int] = []
    acknowledged: dict[str, int] = {}
    sent: set[str] = set()
    dropped = answers = refused = 0
    with serving(workers=wanted.workers) as served:
        for turn in range(wanted.times):
            clients = Clients(served, wanted.clients, f"t{turn}")
            time.sleep(rng.uniform(0.2, 0.7))
            process = served.process.process
            assert process is not None
            at = time.perf_counter()
            process.send_signal(signal.SIGTERM)
            codes.append(process.wait(30))
            ends.append(time.perf_counter() - at)
            clients.join()
            dropped += sum(began < at - EARLY for began in clients.broken)
            answers, refused = answers + clients.answers, refused + clients.refused
            acknowledged |= clients.acknowledged
            sent |= clients.sent
            served.start_again()
        with served.caller() as caller:
            found = compare_with_log(acknowledged, sent, caller.export())
    held = (
        set(codes) == {0}
        and max(ends) < LONGEST
        and dropped == found["lost"] == found["doubled"] == found["unknown"] == 0
    )
    return held, {
        "times": len(ends),
        "workers": wanted.workers,
        "exit_codes": sorted(set(codes)),
        "end_seconds_p50": percentile(ends, 50),
        "end_seconds_max": percentile(ends, 100),
        "answers": answers,
        "refused": refused,
        "dropped_in_flight": dropped,
        **found,
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--times", type=int, default=20)
    parser.add_argument("--clients", type=int, default=16)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seed", type=int, default=0)
    return promise("sigterm", run, parser, {"times": 1, "clients": 6})


if __name__ == "__main__":
    sys.exit(main())
