"""Services that share their events in PostgreSQL, all killed at random: nothing lost or doubled.

    python benchmarks/service/shared_events.py --kills 40 --json

Two services, as on two machines: each has its own folder and its own model file, one database keeps
their events. Threads send events to both; one of the services or the database is killed (-9) and
started again; what had no answer, or 503, is sent again with the same id. Between kills the list
of one service must know an event that the other has just taken, by its `seq`. While the database is
away lists go on. In the end both have the same log and give the same lists, and the log is held
against what was acknowledged.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import threading
import time
from contextlib import ExitStack
from http.client import HTTPException
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # for tests.support
from tests.support import postgresql
from tests.support.load import (
    EventSenders,
    Figures,
    Served,
    compare_with_log,
    percentile,
    promise,
)
from tests.support.postgresql import PostgreSQL


class Lists:
    """A thread that asks one service for lists without a pause; it goes on while it is killed."""

    def __init__(self, served: Served) -> None:
        self._served, self._stop = served, threading.Event()
        self.answers = self.wrong = 0
        self._thread = threading.Thread(target=self._ask)

    def __enter__(self) -> Lists:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self._stop.set()
        self._thread.join()

    def _ask(self) -> None:
        with self._served.caller() as caller:
            user = 0
            while not self._stop.is_set():
                user = (user + 13) % self._served.users
                try:
                    status, answer = caller.get(f"/v1/recommend?user={user}&k=10")
                except (OSError, HTTPException):
                    self._stop.wait(0.01)
                    continue
                self.answers += 1
                self.wrong += not (status == 200 and len(answer["items"]) == 10) and not (
                    status == 503 and "is starting" in answer["detail"]
                )
                time.sleep(0.005)


class Shop:
    """A database and two services; counts what happens to them."""

    def __init__(self, server: PostgreSQL, services: list[Served], seed: int) -> None:
        self.server, self.services = server, services
        self.rng = random.Random(seed)
        self.killed: dict[str, int] = {"service": 0, "database": 0}
        self.back: list[float] = []
        self.checks = self.not_known = 0

    def kill_something(self) -> None:
        """A service or the database; it is there again when this returns."""
        self.kill(self.rng.choice(("service", "database")))

    def kill(self, what: str) -> None:
        began = time.perf_counter()
        if what == "service":
            served = self.rng.choice(self.services)
            served.process.kill()
            served.start_again()
        else:
            self.server.kill()
            time.sleep(self.rng.uniform(0, 0.5))
            self.server.start()
            for served in self.services:
                self.wait_for_writes(served)
        self.killed[what] += 1
        self.back.append(time.perf_counter() - began)

    def wait_for_writes(self, served: Served) -> None:
        """It heals by itself."""
        deadline = time.monotonic() + 60
        event = {"user": 0, "item": 0, "event_id": "again"}
        with served.caller() as caller:
            while (status := caller.post("/v1/events", event)[0]) != 200:
                assert status == 503, status
                assert time.monotonic() < deadline, served.process.tail()
                time.sleep(0.02)

    def check_read_your_writes(self, number: int) -> None:
        """An event at one service, the list of the other."""
        writer, reader = self.rng.sample(self.services, 2)
        user = number % writer.users
        with writer.caller() as to, reader.caller() as of:
            item = of.items(user)[0]
            event = {"user": user, "item": item, "event_id": f"check-{number}"}
            status, answer = to.post("/v1/events", event)
            assert status == 200, answer
            status, found = of.get(f"/v1/recommend?user={user}&k=10&seq={answer['seq']}")
            known = status == 200 and item not in [one["id"] for one in found["items"]]
            self.checks += 1
            self.not_known += not known


def run(wanted: argparse.Namespace) -> tuple[bool, Figures]:
    server, reason = postgresql.start(wanted.postgresql)
    if server is None:
        raise SystemExit(reason)
    with ExitStack() as stack:
        stack.enter_context(server)
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="xorec-shared-")))
        services = []
        for number in range(2):
            place = folder / f"machine-{number}"
            place.mkdir()
            settings = {"EVENTS": server.address}
            services.append(
                stack.enter_context(Served(place, workers=wanted.workers, settings=settings))
            )
        shop = Shop(server, services, wanted.seed)
        senders = [
            EventSenders(one, wanted.senders, tag=f"s{at}", patient=True)
            for at, one in enumerate(services)
        ]
        with Lists(services[0]) as first, Lists(services[1]) as second:
            end = time.monotonic() + wanted.limit
            for number in range(wanted.kills):
                if time.monotonic() > end:
                    break
                for one in senders:
                    one.start()
                time.sleep(shop.rng.uniform(0.05, 0.6))
                shop.kill_something() if number > 1 else shop.kill(("service", "database")[number])
                for one in senders:
                    one.stop()
                for check in range(wanted.checks):
                    shop.check_read_your_writes(number * wanted.checks + check)
        for one in senders:
            one.finish()
        logs, lists = [], []
        for service in services:
            with service.caller() as caller:
                logs.append(caller.export())
                lists.append([caller.items(user) for user in range(0, service.users, 25)])
    acknowledged = {**senders[0].acknowledged, **senders[1].acknowledged}
    known = [event for event in logs[0] if event["event_id"].startswith("s")]
    found = compare_with_log(acknowledged, senders[0].sent | senders[1].sent, known)
    wrong = first.wrong + second.wrong
    statuses = {status for one in senders for status in one.statuses}
    held = (
        found["lost"] == found["doubled"] == found["unknown"] == wrong == shop.not_known == 0
        and found["acknowledged"] == found["in_log"]
        and logs[0] == logs[1]
        and lists[0] == lists[1]
        and statuses <= {200, 503}
        and sum(shop.killed.values()) == wanted.kills
    )
    return held, {
        "postgresql": wanted.postgresql,
        "workers": wanted.workers,
        "killed": shop.killed,
        **found,
        "statuses": sorted(statuses),
        "duplicates_answered": sum(one.duplicates for one in senders),
        "same_log": logs[0] == logs[1],
        "same_lists": lists[0] == lists[1],
        "lists": first.answers + second.answers,
        "wrong_lists": wrong,
        "checks": shop.checks,
        "not_known": shop.not_known,
        "back_seconds_p50": percentile(shop.back, 50),
        "back_seconds_max": percentile(shop.back, 100),
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--kills", type=int, default=40)
    parser.add_argument("--senders", type=int, default=8, help="threads for each service")
    parser.add_argument("--checks", type=int, default=20, help="of read-your-writes after a kill")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--postgresql", default="debian", help="debian or wheel")
    parser.add_argument("--limit", type=float, default=1800, help="seconds in all")
    parser.add_argument("--seed", type=int, default=0)
    return promise("shared-events", run, parser, {"kills": 3, "senders": 4, "checks": 5})


if __name__ == "__main__":
    sys.exit(main())
