"""Short forms of the promises: commands of `benchmarks/service` and `attack`, some seconds each."""

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
    (path,) = (ROOT / "benchmarks").glob(f"*/{name}.py")
    command = [sys.executable, str(path)]
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


@pytest.mark.parametrize(
    ("name", "least"),
    [
        ("kill9", {"acknowledged": 1, "replayed_events": 2000}),
        ("read_your_writes", {"checks": 300}),
        ("swaps", {}),
        ("hostile", {}),
        ("state_machine", {"steps": 15}),
        ("schema_fuzz", {}),
        ("fold_in_quality", {}),
        ("memory_workers", {}),
        ("replies", {"200": 1000, "aborted": 1}),
        ("smuggling", {"framings": 100}),
    ],
)
def test_a_promise_holds(name: str, least: dict[str, int]) -> None:
    found = run(name)
    assert found["held"], found
    assert all(found[figure] >= value for figure, value in least.items()), found
    if name == "swaps":
        assert set(found["lists_by_generation"]) == {"1", "2", "3"}


def test_with_events_in_a_database(a_postgresql: str) -> None:
    found = run("read_your_writes", "--postgresql", a_postgresql)
    assert (found["held"], found["checks"]) == (True, 300), found
    found = run("shared_events", "--postgresql", a_postgresql)  # services are killed
    assert found["held"], found
    assert min(found["killed"].values()) > 0
    assert found["acknowledged"] > 0


@pytest.mark.skipif(os.geteuid() != 0, reason="only root may mount a tmpfs")
def test_a_full_disk_refuses_events_and_heals() -> None:
    probe = subprocess.run(["unshare", "--mount", "true"], capture_output=True)
    if probe.returncode:
        pytest.skip("nothing can be mounted here")
    found = run("disk_full")
    assert found["held"], found


# -- what a busy machine cannot spoil; how fast it is, the command says


def test_sigterm_drops_nothing() -> None:
    found = run("sigterm")
    assert found["exit_codes"] == [0], found
    assert found["answers"] > 0
    lost = found["lost"] + found["doubled"] + found["unknown"]
    assert lost + found["dropped_in_flight"] == 0, found


def test_too_much_is_refused_and_nothing_breaks() -> None:
    found = run("overload")
    assert set(found["statuses"]) <= {"200", "503"}, found
    assert found["goodput_per_second"] > 0


def test_a_soak_leaves_no_descriptors() -> None:
    found = run("soak")
    assert found["errors"] == 0, found
    assert len(found["descriptors"]) == 1
