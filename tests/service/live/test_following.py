"""Following a log: the thread, what wakes it, and what happens while the log is away."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

from tests.support.waiting import PATIENCE, until
from xorec.service.events.errors import StorageFailed
from xorec.service.live import following
from xorec.service.live.following import Follower


class _Models:
    """What a log has given them."""

    def __init__(self) -> None:
        self.applied_seq = 0
        self.error: Exception | None = None
        self.log = 0

    def catch_up(self, last: int = 0) -> int:
        if self.error is not None:
            raise self.error
        before, self.applied_seq = self.applied_seq, max(self.applied_seq, self.log, last)
        return self.applied_seq - before


class _Sequence:
    """looks: how often somebody has asked for the value."""

    def __init__(self) -> None:
        self._value = self.looks = 0

    @property
    def value(self) -> int:
        self.looks += 1
        return self._value

    @value.setter
    def value(self, seq: int) -> None:
        self._value = seq

    def advance(self, seq: int) -> None:
        self.value = max(self.value, seq)


NEVER = 1e6


@contextmanager
def follower(
    models: _Models, sequence: _Sequence, last_seq: Callable[[], int] | None = None
) -> Iterator[Follower]:
    made = Follower(models, sequence, last_seq)
    try:
        yield made
    finally:
        made.close()


def test_it_follows_while_nobody_asks() -> None:
    models, sequence = _Models(), _Sequence()
    with follower(models, sequence):
        models.log = 5
        seen = sequence.looks
        until(lambda: sequence.looks >= seen + 3)
        assert models.applied_seq == 0  # nobody said that there is anything
        sequence.value = 5
        until(lambda: models.applied_seq == 5)


def test_it_asks_a_log_that_others_write_and_tells_the_workers() -> None:
    models, sequence = _Models(), _Sequence()
    with follower(models, sequence, lambda: models.log):
        models.log = 7
        until(lambda: models.applied_seq == 7)
        assert sequence.value == 7


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
        sequence.value = 2
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
