"""All tests: the same surroundings on every machine, and a last line that tells what was left out.

Markers divide the tests into tiers (`pyproject.toml`): `make test` runs those without a marker of
`TIERS`, `make test-all` runs all.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings

from tests.support.surroundings import make_neutral
from tests.support.tiers import TIERS, tier_of

make_neutral()
settings.register_profile("quick", deadline=None, derandomize=True, max_examples=10)
settings.register_profile("thorough", deadline=None, derandomize=True)
settings.load_profile("quick")
DURATIONS = Path(__file__).with_name("durations.json")
"""Seconds of each file: see `tools/test_times.py`."""
_left_out: Counter[str] = Counter()
"""How many tests of each tier this run has left out."""


@pytest.hookimpl(wrapper=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> Any:
    """Tiers; then the slowest files first, so that all workers end together."""
    for item in items:
        if tier := tier_of(item):
            item.add_marker(tier)
    yield
    kept = json.loads(DURATIONS.read_text()) if DURATIONS.exists() else {}
    left_out = str(config.getoption("markexpr")).startswith("not")
    seconds = kept.get("test" if left_out else "test-all", {})
    items.sort(key=lambda item: -seconds.get(str(item.path.relative_to(config.rootpath)), 0))


def pytest_deselected(items: Sequence[pytest.Item]) -> None:
    for item in items:
        _left_out.update([next((tier for tier in TIERS if item.get_closest_marker(tier)), "other")])


def pytest_sessionfinish(session: pytest.Session) -> None:
    output = getattr(session.config, "workeroutput", None)
    if output is not None:  # a worker of xdist: all have left out the same
        output["left_out"] = dict(_left_out)


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any) -> None:
    _left_out.update(Counter(getattr(node, "workeroutput", {}).get("left_out", {})) - _left_out)


def pytest_terminal_summary(terminalreporter: Any) -> None:
    skipped = Counter(report.longrepr[2] for report in terminalreporter.stats.get("skipped", []))
    for reason, count in skipped.most_common():
        terminalreporter.write_line(f"skipped {count}: {reason.removeprefix('Skipped: ')}")
    if skipped:
        terminalreporter.write_line("what is missing here is installed by: bash .ci/run")
    if _left_out.keys() - {"other"}:
        tiers = ", ".join(f"{count} {tier}" for tier, count in _left_out.most_common())
        terminalreporter.write_line(f"left out: {tiers}. All of them: make test-all")
