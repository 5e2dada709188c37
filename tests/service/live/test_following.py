"""Following a log: the thread, what wakes it, and what happens while the log is away."""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest

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
    def __init__(self) -> None:
        self.value = 0

    def advance(self, seq: int) -> None:
        self.value = max(self.value, seq)


@contextmanager
def follower(
    models: _Models, sequence: _Sequence, last_seq: Callable[[], int] | None = None
) -> Iterator[Follower]:
    made = Follower(models, sequence, last_seq)
    try:
        yield made
    finally:
        made.close()


def until(happened: Callable[[], bool]) -> None:
    end = time.monotonic() + 10
    while not happened():
        assert time.monotonic() < end
        time.sleep(0.005)


def test_it_follows_while_nobody_asks() -> None:
    models, sequence = _Models(), _Sequence()
    with follower(models, sequence):
        models.log = 5
        time.sleep(0.15)
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
    monkeypatch.setattr(following, "_PAUSE", 30.0)
    models, sequence = _Models(), _Sequence()
    with follower(models, sequence) as made:
        models.log = 3
        began = time.monotonic()
        assert asyncio.run(made.reach(3, 5.0))
        assert time.monotonic() - began < 5
        assert not asyncio.run(made.reach(4, 0.1))  # it does not come


def test_while_the_log_is_away_nobody_waits_and_it_heals(
    caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(following, "_PAUSE_AFTER_FAILURE", 0.02)
    models, sequence = _Models(), _Sequence()
    models.error = StorageFailed("it is away.")
    with caplog.at_level(logging.WARNING, "xorec"), follower(models, sequence) as made:
        sequence.value = 2
        until(lambda: made.is_failing)
        began = time.monotonic()
        assert not asyncio.run(made.reach(2, 5.0))
        assert time.monotonic() - began < 3
        models.error = None
        assert asyncio.run(made.reach(2, 5.0))  # it is tried again for who asks
        until(lambda: not made.is_failing)
        assert models.applied_seq == 2
    said = [record.getMessage() for record in caplog.records]
    assert said == ["cannot follow the log: it is away.", "follows the log again"]  # once each
