"""Children that fail are told of in one line; the service goes on."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.service_in_process import served
from xorec.service.tasks.orders import order_for
from xorec.testing.examples import shop

pytestmark = pytest.mark.process


def test_an_order_for_a_folder_without_a_model_is_one_line(tmp_path: Path) -> None:
    order = json.dumps({"kind": "update", "folder": str(tmp_path)})
    command = [sys.executable, "-m", "xorec.service.tasks.work"]
    done = subprocess.run(command, input=order, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "has no generation" in json.loads(done.stdout)["error"]
    assert "Traceback" not in done.stderr


def test_a_failed_task_says_why_and_the_next_one_runs(tmp_path: Path) -> None:
    with served(shop(), tmp_path) as ask:
        tasks = ask.service.require_tasks()
        bad = tasks.add(order_for(ask.service, "refit", "default", recipe="no-such-model"))
        good = tasks.add(order_for(ask.service, "update", "default"))
        failed = tasks.wait(bad.id, 120)
        assert failed.state == "failed"
        assert "no-such-model" in failed.detail
        assert ask.finish(good.id).result["generation"] == 2
        same = [tasks.add(order_for(ask.service, "update", "default")).id for _ in range(5)]
        assert len(set(same)) <= 2  # who waits already is not taken on twice
