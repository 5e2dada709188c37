"""What the service says of itself: figures, slow requests without ids, tasks with their notes."""

from __future__ import annotations

import asyncio
import json
import time
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from tests.support.planted_shop import DATA, USER, item_knn
from tests.support.service_in_process import Served
from tests.support.service_process import running_service
from tests.support.waiting import until
from xorec.service import metrics as activity
from xorec.service.api import stats as endpoint
from xorec.service.api.stats import get_live
from xorec.service.http.exchange import Request
from xorec.service.log.base import LogReader


def test_figures_of_requests_events_and_models(
    ask: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    now = [1_800_000_000.0]
    monkeypatch.setattr(activity, "time", SimpleNamespace(time=lambda: now[0]))
    for _ in range(5):
        ask.ids(USER, 3)
    ask.get("recommend", user="nobody-has-such-a-name")
    assert ask.status == 422
    ask.post("events", {"user": USER, "item": ask.ids(USER, 1)[0]})
    ask.app.sample()  # as the server does ten times a second
    now[0] += 1  # that second is over
    found = ask.get("stats")["stats"]
    recent = found["recent"]
    assert recent["by_status"]["2xx"] * recent["seconds"] == pytest.approx(7, abs=0.1)
    assert recent["by_status"]["4xx"] * recent["seconds"] == pytest.approx(1, abs=0.1)
    assert recent["events_per_second"] * recent["seconds"] == pytest.approx(1, abs=0.1)
    assert recent["flush_p50_ms"] > 0
    assert recent["p99_ms"] >= recent["p50_ms"] > 0
    assert found["events"] == 1
    assert found["rss_mb"] > 10
    model = found["models"]["default"]
    assert model["race"]["why"] == "because"
    assert model["behind"] == found["seq"] > 0
    assert model["since"].endswith("Z")


def test_a_slow_request_is_told_by_its_route_alone(ask: Served) -> None:
    request = Request("GET", "/v1/recommend", "user=secret-user", {}, "test")
    request.began -= 80_000_000
    asyncio.run(ask.app.reply(request, b""))
    live = Request("GET", "/v1/live", "", {}, "test")
    live.began -= 80_000_000
    ask.app._note(ask.app._find(live), live, 200, 5)  # watched for long: not slow
    found = ask.get("stats")["stats"]
    (slow,) = found["recent"]["slow"]
    assert slow["route"] == "/v1/recommend"
    assert slow["ms"] >= 80
    assert "secret" not in json.dumps(found)


@pytest.mark.process
def test_since_when_a_generation_is_served(ask: Served) -> None:
    ask.post("events", {"user": USER, "item": ask.ids(USER, 1)[0]})
    ask.service.models.served_since["default"] = 1.0
    ask.finish(ask.post("refit", {"kind": "update"})["task"]["id"])
    model = ask.get("stats")["stats"]["models"]["default"]
    assert (model["generation"], model["source"], model["behind"]) == (2, "update", 0)
    assert model["since"] > "2026"


@pytest.mark.process
def test_a_task_tells_what_it_said_and_what_the_gate_says(ask: Served, tmp_path: Path) -> None:
    from xorec.service.jobs.runner import Task, TaskSpec

    out = Task("x", "refit", "default", TaskSpec("refit", str(tmp_path)), "running")
    for n in range(60):
        out.read_line(json.dumps({"detail": f"line {n}", "note": f"line {n}"}))
    out.read_line(json.dumps({"progress": 0.5, "detail": "bpr", "facts": {"loss": 0.25}}))
    assert out.notes == [f"line {n}" for n in range(10, 60)]
    assert (out.progress, out.detail, out.facts) == (0.5, "bpr", {"loss": 0.25})
    ask.post("events", {"user": USER, "item": ask.ids(USER, 1)[0]})
    ask.finish(ask.post("refit", {})["task"]["id"])
    (task,) = ask.get("stats")["stats"]["tasks"]
    assert task["gate"]["passed"]
    assert task["state"] == "done"


def test_counting_a_long_log_is_not_repeated_at_once(
    ask: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls, now = list[float](), [1_000.0]

    def slow_count(self: LogReader) -> int:
        calls.append(now[0])
        now[0] += 0.02
        return len(calls)

    monkeypatch.setattr(LogReader, "count", slow_count)
    clock = SimpleNamespace(monotonic=lambda: now[0], time=time.time)
    monkeypatch.setattr(endpoint, "time", clock)
    for item in ask.ids(USER, 4):
        ask.post("events", {"user": USER, "item": item})
        assert ask.get("stats")["stats"]["events"] == 1
    now[0] += 1.9
    assert ask.get("stats")["stats"]["events"] == 1
    assert len(calls) == 1
    now[0] += 0.2
    assert ask.get("stats")["stats"]["events"] == 2


def test_the_stream_begins_with_two_minutes(ask: Served) -> None:
    async def first(count: int) -> list[Any]:
        asked = Request("GET", "/v1/live"), endpoint.LiveQuery(seconds=0.2)
        found = []
        async for part in get_live(ask.service, *asked).parts:
            head, data = part.decode().split("\n")[:2]
            assert head == "event: stats"
            found.append(json.loads(data.removeprefix("data: ")))
            if len(found) == count:
                return found
        return found

    whole, later = asyncio.run(first(2))
    assert len(whole["recent"]["history"]["requests"]) == 119
    assert len(later["recent"]["history"]["requests"]) == 2


@pytest.mark.process
def test_a_worker_that_follows_tells_of_all_workers_and_of_tasks(tmp_path: Path) -> None:
    path = tmp_path / "m.xorec"
    item_knn().save(path)
    with running_service(path, tmp_path / "data", workers=2) as service:
        seen: dict[int, Any] = {}
        with service.client() as client:
            client.post("/v1/events", json={"user": USER, "item": DATA.items[49]})
            client.post("/v1/refit", json={"kind": "update"})

        def both() -> bool:
            with service.client() as client:  # a connection each: any worker may take it
                found = client.get("/v1/stats").json()["stats"]
                seen[found["worker"]] = found
            return set(seen) == {0, 1}

        until(both)
        for found in seen.values():
            assert found["recent"]["workers"] == 2
            assert found["recent"]["of"] == "all workers"
            assert [task["kind"] for task in found["tasks"]] == ["update"]
