"""Following a log: the thread, what wakes it, and what happens while the log is away."""

from __future__ import annotations

import asyncio
import logging
from bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing, contextmanager
from pathlib import Path
from typing import Any

import pytest

from tests.support.waiting import PATIENCE, until
from xorec.service.live import models as following
from xorec.service.live.models import Follower, LiveModels
from xorec.service.log.base import StorageFailed
from xorec.service.log.records import Change, Event, News, Record


def _event(seq: int, user: str, item: str) -> Event:
    return Event(seq, f"e{seq}", user, item, "click", 1.0, 100 * seq, None)


RECORDS: Sequence[Record] = (
    _event(1, "ann", "tea"),
    _event(2, "bob", "tea"),
    Change(3, "erase", {"user": "ann"}),
    _event(5, "ann", "rice"),
    Change(6, "item", {"id": "rice", "name": "Rice", "since": 1}),
    _event(7, "bob", "milk"),
    Change(8, "erase", {"user": "cem"}),
)


class _Log:
    """Records in memory."""

    def __init__(self, records: Sequence[Record]) -> None:
        self.records = records

    def news(self, seq: int, limit: int, items_after: int = 0) -> News:
        at = bisect_right([record.seq for record in self.records], seq)
        return News.of(self.records[at : at + limit])

    def changes(self, kind: str, after: int = 0) -> list[Change]:
        return [one for one in self.records if isinstance(one, Change) and one.kind == kind]


def _models(folder: Path, records: Sequence[Record]) -> LiveModels:
    log: Any = _Log(records)
    return LiveModels(folder, log)


def _facts(made: LiveModels) -> object:
    acts = {user: [act.seq for act in made.recent.of(user)] for user in ("ann", "bob")}
    return acts, made.cold, made.erased, list(made.catalogue.infos), made.applied_seq


EXPECTED = (
    {"ann": [5], "bob": [2, 7]},
    {"tea": 100, "rice": 500, "milk": 700},
    {"ann": 3, "cem": 8},
    ["rice"],
    8,
)


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_events_and_changes_count_in_the_order_of_the_log(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, size: int
) -> None:
    """However they come: committed by this worker, or read in blocks of some size."""
    committed = _models(tmp_path, ())
    for at in range(0, len(RECORDS), size):
        committed.apply(RECORDS[at : at + size])
    assert _facts(committed) == EXPECTED
    committed.apply(RECORDS)  # once more changes nothing
    assert _facts(committed) == EXPECTED

    monkeypatch.setattr(following, "_BLOCK", size)
    followed = _models(tmp_path, RECORDS)
    assert followed.catch_up() == len(RECORDS)
    assert _facts(followed) == EXPECTED
    assert followed.catch_up() == 0


def test_an_older_generation_gets_the_events_that_it_does_not_know(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "_BLOCK", 2)
    made = _models(tmp_path, [_event(seq, "ann", f"i{seq}") for seq in range(1, 10)])
    made.recent.floor = made.applied_seq = 6
    made.catch_up()
    assert [act.seq for act in made.recent.of("ann")] == [7, 8, 9]
    made._reach_back(3)
    assert [act.seq for act in made.recent.of("ann")] == [4, 5, 6, 7, 8, 9]
    assert made.recent.floor == 3


def test_what_others_wrote_in_between_is_read_first(tmp_path: Path) -> None:
    """A commit of ours whose places do not follow what we know: another machine has written."""
    made = _models(tmp_path, RECORDS)
    made.apply(RECORDS[-2:])
    assert _facts(made) == EXPECTED


def test_a_place_of_which_nothing_is_left_counts_as_applied(tmp_path: Path) -> None:
    made = _models(tmp_path, RECORDS)
    assert made.catch_up(11) == len(RECORDS)
    assert made.applied_seq == 11
    assert made.catch_up(9) == 0
    assert made.applied_seq == 11


def test_generations_of_another_machine_are_not_ours(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made, followed = _models(tmp_path, ()), list[int]()
    made.machine = "we"
    monkeypatch.setattr(made, "_follow", lambda name, number, reload: followed.append(number))
    for seq, machine in enumerate((None, "they", "we"), 1):
        body = {"name": "default", "generation": seq, "machine": machine}
        made.apply([Change(seq, "activate", body)])
    assert followed == [3]


class _Models:
    """What a log has given them."""

    def __init__(self) -> None:
        self.applied_seq = self.log = 0
        self.error: Exception | None = None

    def catch_up(self, last: int = 0) -> int:
        if self.error is not None:
            raise self.error
        before, self.applied_seq = self.applied_seq, max(self.applied_seq, self.log, last)
        return self.applied_seq - before


class _Sequence:
    """looks: how often the follower has asked for the value."""

    def __init__(self) -> None:
        self.last = self.looks = 0

    @property
    def value(self) -> int:
        self.looks += 1
        return self.last

    def advance(self, seq: int) -> None:
        self.last = max(self.last, seq)


NEVER = 1e6


@contextmanager
def follower(
    models: Any, sequence: Any, last_seq: Callable[[], int] | None = None
) -> Iterator[Follower]:
    with closing(Follower(models, sequence, last_seq)) as made:
        yield made


def test_it_follows_while_nobody_asks() -> None:
    models, sequence = _Models(), _Sequence()
    with follower(models, sequence):
        models.log = 5
        seen = sequence.looks
        until(lambda: sequence.looks >= seen + 3)
        assert models.applied_seq == 0  # nobody said that there is anything
        sequence.last = 5
        until(lambda: models.applied_seq == 5)


def test_it_asks_a_log_that_others_write_and_tells_the_workers() -> None:
    models, sequence = _Models(), _Sequence()
    with follower(models, sequence, lambda: models.log):
        models.log = 7
        until(lambda: models.applied_seq == 7)
        assert sequence.last == 7


def test_reaching_a_place_does_not_wait_for_the_next_look(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(following, "_PAUSE", NEVER)
    models, sequence = _Models(), _Sequence()
    with follower(models, sequence) as made:
        models.log = 3
        assert asyncio.run(made.reach(3, PATIENCE))
        assert not asyncio.run(made.reach(4, 0.1))  # it does not come


def test_while_the_log_is_away_nobody_waits_and_it_heals(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "_PAUSE_AFTER_FAILURE", NEVER)
    models, sequence = _Models(), _Sequence()
    models.error = StorageFailed("it is away.")
    with caplog.at_level(logging.WARNING, "xorec"), follower(models, sequence) as made:
        sequence.last = 2
        until(lambda: made.is_failing)

        def reached() -> bool:
            return asyncio.run(asyncio.wait_for(made.reach(2, NEVER), PATIENCE))

        assert not reached()
        models.error = None
        until(reached)  # it is tried again for who asks; a look may have begun before it healed
        until(lambda: not made.is_failing)
        assert models.applied_seq == 2
    said = [record.getMessage() for record in caplog.records]
    assert said == ["cannot follow the log: it is away.", "follows the log again"]  # once each
