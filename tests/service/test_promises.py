"""Short forms of the promises: the commands of `benchmarks/service/`, each for some seconds."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.support import postgresql

pytestmark = pytest.mark.process

ROOT = Path(__file__).parents[2]


@pytest.fixture
def a_postgresql() -> str:
    """A kind of PostgreSQL that this machine has."""
    reasons = {kind: postgresql.unavailable(kind) for kind in postgresql.KINDS}
    found = [kind for kind, reason in reasons.items() if not reason]
    if not found:
        pytest.skip("; ".join(reasons.values()))
    return found[0]


def run(name: str, *options: str) -> dict[str, Any]:
    command = [sys.executable, str(ROOT / "benchmarks" / "service" / f"{name}.py")]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    done = subprocess.run(
        [*command, "--short", "--json", *options],
        capture_output=True,
        text=True,
        env=environment,
        timeout=600,
    )
    assert done.stdout, done.stderr
    found: dict[str, Any] = json.loads(done.stdout)
    assert done.returncode == (not found["held"])
    return found


def test_kill_9_loses_and_doubles_nothing() -> None:
    found = run("kill9")
    assert found["held"], found
    assert found["acknowledged"] > 0
    assert found["replayed_events"] >= 2000


def test_the_next_list_knows_on_every_worker() -> None:
    found = run("read_your_writes")
    assert found["held"], found
    assert found["checks"] == 300


def test_the_next_list_knows_with_events_in_a_database(a_postgresql: str) -> None:
    found = run("read_your_writes", "--postgresql", a_postgresql)
    assert found["held"], found
    assert found["checks"] == 300


def test_services_that_share_their_events_are_killed(a_postgresql: str) -> None:
    found = run("shared_events", "--postgresql", a_postgresql)
    assert found["held"], found
    assert min(found["killed"].values()) > 0
    assert found["acknowledged"] > 0


def test_lists_are_right_for_the_generation_that_they_name() -> None:
    found = run("swaps")
    assert found["held"], found
    assert set(found["lists_by_generation"]) == {"1", "2", "3"}


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a tmpfs")
def test_a_full_disk_refuses_events_and_heals() -> None:
    probe = subprocess.run(["unshare", "--mount", "true"], capture_output=True)
    if probe.returncode:
        pytest.skip("nothing can be mounted here")
    found = run("disk_full")
    assert found["held"], found


def test_sigterm_drops_nothing() -> None:
    """What a busy machine cannot spoil; how soon it ends, the command says."""
    found = run("sigterm")
    assert found["exit_codes"] == [0], found
    assert found["answers"] > 0
    lost = found["lost"] + found["doubled"] + found["unknown"]
    assert lost + found["dropped_in_flight"] == 0, found


def test_hostile_requests_get_one_line() -> None:
    found = run("hostile")
    assert found["held"], found["wrong"]


def test_random_steps_agree_with_a_dictionary() -> None:
    found = run("state_machine")
    assert found["held"], found
    assert found["steps"] >= 15


def test_answers_fit_the_document() -> None:
    found = run("schema_fuzz")
    assert found["held"], found


def test_events_are_about_as_good_as_a_refit() -> None:
    found = run("fold_in_quality")
    assert found["held"], found


def test_workers_share_their_memory() -> None:
    found = run("memory_workers")
    assert found["held"], found


def test_too_much_is_refused_and_nothing_breaks() -> None:
    """What a busy machine cannot spoil; how fast it is, the command says."""
    found = run("overload")
    assert set(found["statuses"]) <= {"200", "503"}, found
    assert found["goodput_per_second"] > 0


def test_a_soak_leaves_no_descriptors() -> None:
    found = run("soak")
    assert found["errors"] == 0, found
    assert len(found["descriptors"]) == 1
