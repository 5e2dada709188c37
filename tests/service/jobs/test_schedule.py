"""When an update is due, by a clock of our own."""

from __future__ import annotations

import time
from pathlib import Path

import pytest

from tests.support.service_in_process import served
from xorec.service.jobs import schedule as schedule_module
from xorec.service.jobs.runner import TaskSpec
from xorec.service.jobs.schedule import COLD_SECONDS, Schedule
from xorec.testing.examples import shop

pytestmark = pytest.mark.process


@pytest.fixture(autouse=True)
def _by_hand(monkeypatch: pytest.MonkeyPatch) -> None:
    """The service's own schedule looks at nothing, however long a test takes."""
    monkeypatch.setattr(schedule_module, "_LOOK", 1e6)


def _ordered(ask: object) -> list[str]:
    return [task.kind for task in ask.service.require_tasks().tasks()]  # type: ignore[attr-defined]


def test_updates_come_by_number_by_time_and_for_cold_items(tmp_path: Path) -> None:
    update = {"events": 3, "minutes": 5}
    with served(shop(), tmp_path, update=update, refit={"every_hours": 1}) as ask:
        schedule, now = Schedule(ask.service), time.monotonic()
        schedule.close()
        tasks = ask.service.require_tasks()
        added: list[TaskSpec] = []
        tasks.add = added.append  # type: ignore[method-assign,assignment]

        def due(at: float) -> list[str]:
            added.clear()
            schedule.look(now + at)
            return [order.kind for order in added]

        assert due(400) == []  # nothing has happened
        ask.post("events", {"user": "cem", "item": "milk"})
        assert due(200) == []
        assert due(301) == ["update"]
        assert due(302) == []
        for item in ("rice", "tea"):
            ask.post("events", {"user": "bob", "item": item})
        assert due(301 + COLD_SECONDS) == ["update"]
        assert due(3601) == ["refit"]


def test_a_cold_item_does_not_wait_for_long(tmp_path: Path) -> None:
    with served(shop(), tmp_path) as ask:
        schedule, now = Schedule(ask.service), time.monotonic()
        schedule.close()
        ask.post("events", {"user": "cem", "item": "jam"})
        schedule.look(now)
        schedule.look(now + COLD_SECONDS - 1)
        assert _ordered(ask) == []
        schedule.look(now + COLD_SECONDS + 1)
        (kind,) = _ordered(ask)
        assert kind == "update"
        task = ask.service.require_tasks().tasks()[0]
        ask.finish(task.id)
        assert "jam" in ask.ids("ann", 5)
        assert ask.service.models.cold == {}
