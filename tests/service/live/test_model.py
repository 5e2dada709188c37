"""What a generation keeps of users: as much as it may, and nothing of who was erased."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.service_in_process import Served, served
from xorec.service.live import model
from xorec.testing.examples import shop


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Served]:
    with served(shop(), tmp_path) as ask:
        yield ask


def test_queries_of_users_with_events_are_kept_up_to_a_bound(
    ask: Served, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(model, "_MOST_FOLDED", 3)
    live = ask.service.models.default
    for at in range(6):
        ask.post("events", {"user": f"new{at}", "item": "rice"})
    lists = [ask.ids(f"new{at}") for at in range(6)]
    assert list(live._folded) == ["new3", "new4", "new5"]
    assert [ask.ids(f"new{at}") for at in range(6)] == lists  # kept or not, it is the same


def test_nothing_is_kept_of_who_was_erased(ask: Served) -> None:
    ask.post("events", {"user": "cem", "item": "rice"})
    ask.ids("cem")
    assert "cem" in ask.service.models.default._folded
    ask.delete("events", user="cem")
    assert "cem" not in ask.service.models.default._folded


def test_every_event_is_in_the_very_next_list(ask: Served) -> None:
    shown = [ask.ids("new")]
    for item in ("rice", "tea"):
        ask.post("events", {"user": "new", "item": item})
        shown.append(ask.ids("new"))
        assert shown[-1] == ask.ids("new")  # the query that is kept
    assert [sorted(one) for one in shown] == [
        ["milk", "rice", "tea"],
        ["milk", "tea"],
        ["milk"],
    ]
