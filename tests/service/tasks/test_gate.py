"""Whether a new model may be served: against the one that is, by the newest events."""

from __future__ import annotations

from functools import cache
from typing import Any

import pytest

import xorec
from xorec.recommender.recommender import Recommender
from xorec.service.events.records import Event
from xorec.service.tasks import gate
from xorec.testing.data import planted

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

    monkeypatch.setattr(gate, "evaluate", made_up)
    told = gate.judge(_shop(), _shop(), DATA, _newest(25), 0.1)
    assert (told["passed"], told["served_ndcg@10"], told["made_ndcg@10"]) == (passed, 0.05, value)


def test_too_few_users_judge_nothing() -> None:
    told = gate.judge(_shop(), _shop(), DATA, _newest(19), 0.0)
    assert (told["passed"], told["users"]) == (True, 19)
    assert gate.judge(_shop(), _shop(), DATA, _newest(20), 0.0)["users"] == 20
