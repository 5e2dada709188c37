"""Whether a new model may be served: against the one that is, by the newest events."""

from __future__ import annotations

import json
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import Any

import pytest

import xorec
from tests.support.service_in_process import served
from xorec.recommender.recommender import Recommender
from xorec.service.jobs import run
from xorec.service.jobs.schedule import spec_for
from xorec.service.log.records import Event
from xorec.testing.data import planted
from xorec.testing.examples import shop

DATA = planted(40, 50, per_user=8)


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


@pytest.mark.parametrize(("value", "passed"), [(0.06, True), (0.0475, True), (0.04, False)])
def test_worse_by_a_share_of_what_is_served(
    value: float, passed: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A tenth of 0.05 is 0.005, however small that is."""
    given = iter([0.05, value])

    def made_up(*arguments: Any, **more: Any) -> Measured:
        return Measured({"ndcg@10": next(given)})

    monkeypatch.setattr(run, "evaluate", made_up)
    told = run.publish_gate(_shop(), _shop(), DATA, _newest(25), 0.1)
    assert (told["passed"], told["served_ndcg@10"], told["made_ndcg@10"]) == (passed, 0.05, value)


def test_too_few_users_judge_nothing() -> None:
    told = run.publish_gate(_shop(), _shop(), DATA, _newest(19), 0.0)
    assert (told["passed"], told["users"]) == (True, 19)
    assert run.publish_gate(_shop(), _shop(), DATA, _newest(20), 0.0)["users"] == 20


pytestmark = pytest.mark.process


def test_an_order_for_a_folder_without_a_model_is_one_line(tmp_path: Path) -> None:
    order = json.dumps({"kind": "update", "folder": str(tmp_path)})
    command = [sys.executable, "-m", "xorec.service.jobs.run"]
    done = subprocess.run(command, input=order, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "has no generation" in json.loads(done.stdout)["error"]
    assert "Traceback" not in done.stderr


def test_a_failed_task_says_why_and_the_next_one_runs(tmp_path: Path) -> None:
    with served(shop(), tmp_path) as ask:
        tasks = ask.service.require_tasks()
        bad = tasks.add(spec_for(ask.service, "refit", "default", recipe="no-such-model"))
        good = tasks.add(spec_for(ask.service, "update", "default"))
        failed = tasks.wait(bad.id, 120)
        assert failed.state == "failed"
        assert "no-such-model" in failed.detail
        assert ask.finish(good.id).result["generation"] == 2
        same = [tasks.add(spec_for(ask.service, "update", "default")).id for _ in range(5)]
        assert len(set(same)) <= 2  # who waits already is not taken on twice
