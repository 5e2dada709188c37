"""Random steps against a dictionary: events, duplicates, hide, expire, erase, update, restart.

    python benchmarks/service/state_machine.py --steps 200 --runs 2 --json

hypothesis draws the steps. What must agree: each user's events as the log has them, what a list
leaves out (what the user has, what is hidden or over), counts of duplicates, and that all of this
outlives updates and restarts by SIGTERM and by SIGKILL.
"""

from __future__ import annotations

import argparse
import datetime
import signal
import sys
import time
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, settings, strategies
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    rule,
    run_state_machine_as_test,
)

from xorec.recommender.recommender import Recommender

sys.path.insert(0, str(Path(__file__).parents[2]))  # for tests.support
from tests.support.load import Caller, Figures, Served, promise, serving

USERS, ITEMS = 12, 40
users = strategies.integers(0, USERS + 2)
"""Three of them are new."""
items = strategies.integers(0, ITEMS - 1)
numbers = strategies.integers(0, 1000)
KINDS = (
    *["event"] * 5,
    "duplicate",
    "hide",
    "show",
    "expire",
    "put",
    "erase",
    "update",
    "term",
    "kill",
)
QUICK = 6
"""Quick steps after an update or a restart, at least: these take their time."""
PAST = "2020-01-01T00:00:00Z"


class Model:
    """What the service should know, as plain dictionaries."""

    def __init__(self, recommender: Recommender) -> None:
        self.items = list(recommender.item_ids)
        self.has = {
            user: set(recommender.item_ids.take(recommender.items_of(row).tolist()))
            for row, user in enumerate(recommender.user_ids)
        }
        self.events: dict[int, list[str]] = {}
        self.known: set[str] = set()
        self.hidden: set[int] = set()
        self.over: set[int] = set()
        self.erased: set[int] = set()

    def may_list(self, user: int) -> set[int]:
        return set(self.items) - self.has.get(user, set()) - self.hidden - self.over


class Machine(RuleBasedStateMachine):
    """One service for all runs; each run has users and items as the last one left them."""

    served: Served
    model: Model
    caller: Caller
    steps: int = 0
    done: dict[str, int] = {}  # noqa: RUF012
    made = quick = 0

    def _count(self, what: str, slow: bool = False) -> None:
        cls = type(self)
        cls.steps += 1
        cls.quick = 0 if slow else cls.quick + 1
        cls.done[what] = cls.done.get(what, 0) + 1

    def _send(self, user: int, item: int, name: str) -> Any:
        body = {"user": user, "item": item, "event_id": name}
        status, answer = self.caller.post("/v1/events", body)
        assert status == 200, answer
        return answer

    @rule(what=strategies.sampled_from(KINDS), user=users, item=items, which=numbers)
    def step(self, what: str, user: int, item: int, which: int) -> None:
        """One rule for all: hypothesis would leave out some kinds of rules from each run."""
        if what in ("update", "term", "kill") and self.quick < QUICK:
            what = "event"
        if what == "event":
            self.event(user, item)
        elif what == "duplicate":
            self.duplicate(user, which)
        elif what in ("hide", "show"):
            self.hide(item, what == "hide")
        elif what == "expire":
            self.expire(item)
        elif what == "put":
            self.describe_anew(item)
        elif what == "erase":
            self.erase(user)
        elif what == "update":
            self.update()
        else:
            self.restart(signal.SIGTERM if what == "term" else signal.SIGKILL)

    def event(self, user: int, item: int) -> None:
        self._count("event")
        type(self).made += 1
        name = f"e{self.made}"
        answer = self._send(user, item, name)
        assert (answer["accepted"], answer["duplicates"]) == (1, 0), answer
        self.model.known.add(name)
        self.model.events.setdefault(user, []).insert(0, name)
        self.model.has.setdefault(user, set()).add(item)
        self._check(user)

    def duplicate(self, user: int, which: int) -> None:
        sent = self.model.events.get(user)
        if not sent:
            return
        self._count("duplicate")
        name = sent[which % len(sent)]
        answer = self._send(user, 0, name)
        assert (answer["accepted"], answer["duplicates"]) == (0, 1), answer
        self._check(user)

    def hide(self, item: int, hidden: bool) -> None:
        self._count("hide" if hidden else "show")
        status, answer = self.caller.call("PATCH", "/v1/items", {"id": item, "hidden": hidden})
        assert status == 200, answer
        (self.model.hidden.add if hidden else self.model.hidden.discard)(item)

    def expire(self, item: int) -> None:
        self._count("expire")
        status, answer = self.caller.call("PATCH", "/v1/items", {"id": item, "until": PAST})
        assert status == 200, answer
        self.model.over.add(item)

    def describe_anew(self, item: int) -> None:
        """PUT forgets what is not named: hidden and until."""
        self._count("put")
        soon = datetime.datetime.now(datetime.UTC) + datetime.timedelta(days=1)
        body = {"id": item, "name": f"item {item}", "until": soon.isoformat()}
        status, answer = self.caller.call("PUT", "/v1/items", body)
        assert status == 200, answer
        self.model.hidden.discard(item)
        self.model.over.discard(item)

    def erase(self, user: int) -> None:
        known = user in self.model.has
        status, answer = self.caller.call("DELETE", f"/v1/events?user={user}")
        if not known:
            assert status in (200, 404), answer
            return
        self._count("erase")
        assert status == 200, answer
        assert answer["events"] == len(self.model.events.get(user, [])), answer
        self.model.events.pop(user, None)
        self.model.has.pop(user, None)
        self.model.erased.add(user)
        self._check(user)

    def update(self) -> None:
        self._count("update", slow=True)
        status, answer = self.caller.post("/v1/refit", {"kind": "update"})
        assert status in (200, 202), answer
        self._wait(answer["task"]["id"])

    def restart(self, how: signal.Signals) -> None:
        self._count(f"restart by {how.name}", slow=True)
        self.caller.close()
        self.served.restart(how)

    @invariant()
    def everybody_is_right(self) -> None:
        for user in (self.steps % USERS, USERS + self.steps % 3):
            self._check(user)

    def _check(self, user: int) -> None:
        status, answer = self.caller.get(f"/v1/recommend?user={user}&k={ITEMS}")
        assert status == 200, answer
        listed = {item["id"] for item in answer["items"]}
        may = self.model.may_list(user)
        assert listed == may, (user, sorted(listed - may), sorted(may - listed), answer["model"])
        status, answer = self.caller.get(f"/v1/events?user={user}&k=1000")
        wanted = self.model.events.get(user, [])
        found = [event["event_id"] for event in answer["events"]] if status == 200 else []
        assert status in (200, 404), answer
        assert found == wanted, (user, found, wanted)

    def _wait(self, task: str) -> None:
        end = time.monotonic() + 60
        while time.monotonic() < end:
            _, answer = self.caller.get(f"/v1/tasks?id={task}")
            (found,) = answer["tasks"]
            if found["state"] in ("done", "failed"):
                assert found["state"] == "done", found
                return
            time.sleep(0.02)
        raise AssertionError(f"the task {task} does not end")


def run(wanted: argparse.Namespace) -> tuple[bool, Figures]:
    with serving(items=ITEMS, users=USERS, workers=wanted.workers) as served:
        Machine.served, Machine.caller = served, served.caller()
        Machine.model = Model(Recommender.load(served.model))
        how = settings(
            max_examples=wanted.runs + 1,  # the first has nothing but events
            stateful_step_count=wanted.steps,
            deadline=None,
            database=None,
            derandomize=True,
            suppress_health_check=list(HealthCheck),
            print_blob=False,
            phases=[Phase.generate],
        )
        wrong = ""
        try:
            run_state_machine_as_test(Machine, settings=how)
        except Exception as error:
            wrong = repr(error)[:2000]
        finally:
            Machine.caller.close()
    return not wrong, {"steps": Machine.steps, "by_kind": Machine.done, "wrong": wrong}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--steps", type=int, default=200, help="of a run")
    parser.add_argument("--runs", type=int, default=2)
    parser.add_argument("--workers", type=int, default=1)
    return promise("state-machine", run, parser, {"steps": 25, "runs": 2})


if __name__ == "__main__":
    sys.exit(main())
