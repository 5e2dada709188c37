"""Tasks: when one is due, one after the other, and whether a new model may be served."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import xorec
from tests.support.service_in_process import served
from tests.support.waiting import PATIENCE
from xorec.recommender.recommender import Recommender
from xorec.service.jobs import run
from xorec.service.jobs import schedule as schedule_module
from xorec.service.jobs.runner import TaskRunner, TaskSpec
from xorec.service.jobs.schedule import COLD_SECONDS, Schedule, spec_for
from xorec.service.log.records import Event
from xorec.testing.data import planted
from xorec.testing.examples import shop

DATA = planted(40, 50, per_user=8)

# -- when


@pytest.fixture
def _by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service's own schedule looks at nothing, however long a test takes."""
    monkeypatch.setattr(schedule_module, "_LOOK", 1e6)


@pytest.mark.process
@pytest.mark.usefixtures("_by_hand")
def test_updates_come_by_number_by_time_and_for_cold_items(tmp_path: Path) -> None:
    update = {"events": 3, "minutes": 5}
    with served(shop(), tmp_path, update=update, refit={"every_hours": 1}) as ask:
        schedule, now = Schedule(ask.service), time.monotonic()
        schedule.close()
        added: list[TaskSpec] = []
        ask.service.require_tasks().add = added.append  # type: ignore[method-assign,assignment]

        def due(at: float) -> list[str]:
            added.clear()
            schedule.look(now + at)
            return [spec.kind for spec in added]

        assert due(400) == []  # nothing has happened
        ask.post("events", {"user": "cem", "item": "milk"})
        assert due(200) == []
        assert due(301) == ["update"]
        assert due(302) == []
        for item in ("rice", "tea"):
            ask.post("events", {"user": "bob", "item": item})
        assert due(301 + COLD_SECONDS) == ["update"]
        assert due(3601) == ["refit"]


@pytest.mark.process
@pytest.mark.usefixtures("_by_hand")
def test_a_cold_item_does_not_wait_for_long(tmp_path: Path) -> None:
    with served(shop(), tmp_path) as ask:
        schedule, now = Schedule(ask.service), time.monotonic()
        schedule.close()
        ask.post("events", {"user": "cem", "item": "jam"})
        schedule.look(now)
        schedule.look(now + COLD_SECONDS - 1)
        assert ask.service.require_tasks().tasks() == []
        schedule.look(now + COLD_SECONDS + 1)
        (task,) = ask.service.require_tasks().tasks()
        assert task.kind == "update"
        ask.finish(task.id)
        assert "jam" in ask.ids("ann", 5)
        assert ask.service.models.cold == {}


# -- one after the other


def test_a_task_that_waits_takes_on_the_latest_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    begun, go = threading.Event(), threading.Event()
    done: list[tuple[str, int]] = []

    def child(runner: TaskRunner, task: Any) -> str:
        begun.set()
        assert go.wait(PATIENCE)
        task.result = {}
        return ""

    monkeypatch.setattr(TaskRunner, "_run_child", child)
    runner = TaskRunner(lambda task: done.append((task.kind, task.spec.until)))
    try:
        runner.add(TaskSpec("update", str(tmp_path), until=3))
        assert begun.wait(PATIENCE)
        waiting = [runner.add(TaskSpec("purge", str(tmp_path), until=until)) for until in (5, 9, 7)]
        go.set()
        assert runner.wait(waiting[0].id, PATIENCE).state == "done"
    finally:
        runner.close()
    assert len({one.id for one in waiting}) == 1
    assert done == [("update", 3), ("purge", 9)]


@pytest.mark.process
def test_a_task_for_a_folder_without_a_model_is_one_line(tmp_path: Path) -> None:
    spec = json.dumps({"kind": "update", "folder": str(tmp_path)})
    command = [sys.executable, "-m", "xorec.service.jobs.run"]
    done = subprocess.run(command, input=spec, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "has no generation" in json.loads(done.stdout)["error"]
    assert "Traceback" not in done.stderr


@pytest.mark.process
def test_a_failed_task_says_why_and_the_next_one_runs(tmp_path: Path) -> None:
    with served(shop(), tmp_path) as ask:
        tasks = ask.service.require_tasks()
        bad = tasks.add(spec_for(ask.service, "refit", "default", recipe="no-such-model"))
        good = tasks.add(spec_for(ask.service, "update", "default"))
        failed = tasks.wait(bad.id, PATIENCE)
        assert failed.state == "failed"
        assert "no-such-model" in failed.detail
        assert ask.finish(good.id).result["generation"] == 2


# -- whether a new model may be served: against the one that is, by the newest events


@cache
def _shop() -> Recommender:
    return Recommender.from_model(xorec.ItemKNN().fit(DATA), DATA)


class Measured(dict[str, float]):
    """What an evaluation gives, made up."""

    n_users = 25


def _newest(users: int) -> list[Event]:
    """Of each user an item that they do not have."""
    events = []
    for row in range(users):
        item = min(set(range(50)) - set(DATA.of_user(row).tolist()))
        ids = DATA.users[row], DATA.items[item]
        events.append(Event(row + 1, f"e{row}", *ids, "click", 1.0, 0, None))
    return events


@pytest.mark.process
@pytest.mark.parametrize(("value", "passed"), [(0.06, True), (0.0475, True), (0.04, False)])
def test_worse_by_a_share_of_what_is_served(
    value: float, passed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tenth of 0.05 is 0.005, however small that is."""
    given = iter([0.05, value])
    monkeypatch.setattr(run, "evaluate", lambda *_, **more: Measured({"ndcg@10": next(given)}))
    told = run.publish_gate(_shop(), _shop(), _newest(25), 0.1, True)
    assert (told["passed"], told["served_ndcg@10"], told["made_ndcg@10"]) == (passed, 0.05, value)


@pytest.mark.process
@pytest.mark.parametrize("alike", [True, False])
def test_too_few_users_judge_nothing(alike: bool) -> None:
    """Then only a model that was learned as the served one is served."""
    told = run.publish_gate(_shop(), _shop(), _newest(19), 0.0, alike)
    assert (told["passed"], told["users"]) == (alike, 19)
    assert run.publish_gate(_shop(), _shop(), _newest(20), 0.0, True)["users"] == 20
