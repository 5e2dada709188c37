"""EventLogTests: what every event log must do, whatever keeps it."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)

from tests.support.waiting import PATIENCE
from xorec.core.errors import DataError
from xorec.service.log.base import RETRIES, Log, LogReader, StorageFailed
from xorec.service.log.records import (
    Batch,
    Change,
    Event,
    EventColumns,
    Exposure,
    NewEvent,
    News,
    Outcome,
    Record,
    new_change,
)
from xorec.service.log.writer import LogWriter, SharedSequence

HOSTILE: tuple[Any, ...] = (
    1,
    "1",
    1.0,
    "",
    "a\0b",
    "a",
    "🍵",
    'it\'s "quoted" \\ and; DROP TABLE events --',
    "a/b?c#d%00",
    "\u202e\n\r\t",
    "x" * 4096,
    -(2**63),
    2**200,
    "null",
    "\ud800",
)
"""Ids that all differ and must come out as they went in."""


def an_event(number: int, user: Any = "ann", **fields: Any) -> NewEvent:
    """The event of that number; `fields` replace what it would have."""
    event = NewEvent(f"e{number}", user, number % 7, "click", 1.0, 1_000_000 * number, None)
    return event._replace(**fields)


@dataclass
class Opened:
    """A log that is written to and read. applied: what `on_commit` was given."""

    log: Log
    writer: LogWriter
    reader: LogReader
    sequence: SharedSequence
    applied: list[Record] = field(default_factory=list)

    def append(self, *events: NewEvent) -> Any:
        """What became of one client's events."""
        return self.writer.append(events).result(PATIENCE)

    def events(self) -> list[Event]:
        """All events of the log."""
        return [one for one in self.reader.after(0) if isinstance(one, Event)]


def exposures(reader: LogReader) -> list[tuple[Any, ...]]:
    """All exposures of a log: (request, experiment, arm, user, items), ids as JSON text."""
    columns = "request_id, experiment, arm, user_id, items"
    return reader.rows(f"SELECT {columns} FROM exposures ORDER BY number")


class EventLogTests:
    """Derive, and say how a log in a folder is opened, for writing and for reading."""

    def open_log(self, folder: Path, floor: int = 0) -> Log:
        """The writing side."""
        raise NotImplementedError

    def open_reader(self, folder: Path) -> LogReader:
        """The reading side."""
        raise NotImplementedError

    @contextmanager
    def opened(self, folder: Path) -> Iterator[Opened]:
        """Both sides, until the block ends."""
        log, sequence = self.open_log(folder), SharedSequence(folder / "sequence")
        applied: list[Record] = []
        writer = LogWriter(log, sequence, applied.extend)
        reader = self.open_reader(folder)
        try:
            yield Opened(log, writer, reader, sequence, applied)
        finally:
            reader.close()
            writer.close()
            sequence.close()

    @pytest.fixture
    def service(self, tmp_path: Path) -> Iterator[Opened]:
        with self.opened(tmp_path) as service:
            yield service

    def test_ids_come_out_as_they_went_in(self, service: Opened) -> None:
        service.append(*(an_event(at, user, item=user) for at, user in enumerate(HOSTILE)))
        for at, user in enumerate(HOSTILE):
            (event,) = service.reader.events_of(user, 10)
            assert (event.event_id, event.user, event.item) == (f"e{at}", user, user)
            assert type(event.user) is type(user)
        assert {item for item, _, _ in service.reader.items_since(0)} == set(HOSTILE)
        for user in HOSTILE[: len(HOSTILE) // 2]:
            assert service.writer.erase(user).result().events == 1
        assert [event.user for event in service.events()] == [*HOSTILE[len(HOSTILE) // 2 :]]

    def test_the_first_of_an_event_id_is_kept(self, service: Opened) -> None:
        futures = [
            service.writer.append([an_event(1, "ann"), an_event(1, "bob")]),
            service.writer.append([an_event(2, "cem"), an_event(1, "cem")]),
        ]
        assert sum(future.result(PATIENCE).accepted for future in futures) == 2
        assert [event.user for event in service.events()] == ["ann", "cem"]
        assert service.applied == service.reader.after(0)

    def test_a_call_that_no_log_can_take_changes_nothing(self, service: Opened) -> None:
        bad = (
            an_event(2, value=float("nan")),
            an_event(2, user=["a"]),
            an_event(2, item=float("inf")),
            an_event(2, ts=2**63),
            an_event(2, kind="\ud800"),
            an_event(2, user=None),
        )
        for event in bad:
            with pytest.raises(DataError, match="event 1: "):
                service.append(an_event(1), event)
        with pytest.raises(DataError, match="not JSON"):
            service.writer.change("item", {"value": float("nan")})
        assert service.reader.after(0) == service.applied == []

    def test_changes_stand_in_one_sequence_with_events(self, service: Opened) -> None:
        service.append(an_event(1))
        first = service.writer.change("item", {"id": 7, "name": "Tee \0"}).result()
        service.append(an_event(2))
        last = service.writer.changes([("item", {"id": 8}), ("activate", {"name": "b"})]).result()
        records = service.reader.after(0)
        kinds = [record.kind for record in records]
        assert kinds == ["click", "item", "click", "item", "activate"]
        assert [record.seq for record in records] == sorted({record.seq for record in records})
        assert records[-1].seq == last == service.sequence.value
        assert records[1] == Change(first, "item", {"id": 7, "name": "Tee \0"})
        assert service.applied == records
        assert service.reader.changes("item") == [records[1], records[3]]
        assert service.reader.changes("item", after=first) == [records[3]]

    def test_of_items_the_newest_change_is_replayed(self, service: Opened) -> None:
        """Each id by its type; a change of another kind is no change of an item."""
        ids: list[Any] = [1, "1", "Tee \0", "\ud800", 1, "Tee \0", "Tee \0x", "Tee ", 2**60]
        bodies = [{"id": one, "at": at} for at, one in enumerate(ids)]
        service.writer.changes([("item", one) for one in bodies]).result()
        service.writer.change("experiment", {"id": 1}).result()
        service.append(an_event(1))
        newest = service.reader.newest_items()
        assert [one.body["at"] for one in newest] == [1, 3, 4, 5, 6, 7, 8]
        news = service.reader.news(0, 100, items_after=newest[-2].seq)
        assert [one.kind for one in news.changes] == ["item", "experiment"]
        assert len(news.events.seqs) == 1

    @pytest.mark.parametrize("limit", [1, 3, 7, 100])
    def test_followers_read_in_blocks(self, service: Opened, limit: int) -> None:
        """As records, or as columns of news: everything once, and in its order."""
        values = (1.0, 0.1, -2.5, 1 / 3, 1e300, 5e-324, 0.0)
        for at, user in enumerate(HOSTILE):
            event = an_event(at, user, item=HOSTILE[-1 - at])
            service.append(event._replace(value=values[at % len(values)]))
            if at % 3 == 0:
                service.writer.change("item", {"id": at}).result()
        everything, seq = service.reader.after(0), 0
        blocks = [*service.reader.blocks(0, limit)]
        assert [record for block in blocks for record in block] == everything
        assert all(len(block) == limit for block in blocks[:-1])
        assert service.reader.after(everything[7].seq, limit) == everything[8 : 8 + limit]
        found: list[Any] = []
        while (news := service.reader.news(seq, limit)).last_seq:
            assert len(news.events.seqs) <= limit
            assert len(news.changes) <= limit
            together: list[Any] = [*zip(*news.events, strict=True), *news.changes]
            found += sorted(together, key=lambda one: one[0])
            seq = news.last_seq
        assert found == [
            (one.seq, one.user, one.item, one.value, one.ts) if isinstance(one, Event) else one
            for one in everything
        ]
        users = [one.user for one in everything if isinstance(one, Event)]
        kept = service.reader.news(0, 10_000).events
        assert [type(user) for user in kept.users] == [type(user) for user in users]
        assert News.of(everything).events == EventColumns(*map(tuple, kept))

    def test_events_of_a_user_newest_first(self, service: Opened) -> None:
        service.append(*(an_event(at, "ann" if at % 3 else "bob") for at in range(12)))
        bobs = service.reader.events_of("bob", 100)
        assert [event.event_id for event in bobs] == ["e9", "e6", "e3", "e0"]
        assert service.reader.events_of("bob", 2) == bobs[:2]
        assert service.reader.events_of("bob", 2, before=bobs[1].seq) == bobs[2:]
        assert service.reader.events_of("nobody", 5) == []
        newest = service.reader.newest(3)
        assert [event.event_id for event in newest] == ["e11", "e10", "e9"]
        assert [e.event_id for e in service.reader.newest(2, before=newest[2].seq)] == ["e8", "e7"]

    def test_items_since_a_time_by_events(self, service: Opened) -> None:
        times = (("tea", 10), ("tea", 30), ("milk", 20), ("milk", 40), ("rum", 5), ("bun", 50))
        service.append(*(an_event(at, item=i, ts=ts) for at, (i, ts) in enumerate(times)))
        since = service.reader.items_since
        assert since(0) == [("milk", 2, 40), ("tea", 2, 30), ("bun", 1, 50), ("rum", 1, 5)]
        assert since(20) == [("milk", 2, 40), ("bun", 1, 50), ("tea", 1, 30)]
        assert since(51) == []

    def test_outcomes_of_an_experiment(self, service: Opened) -> None:
        shown = [
            Exposure("r1", "fresh", "a", "ann", ["tea", 1], 1),
            Exposure("r1", "fresh", "b", "bob", ["tea"], 1),  # one request, two users
            Exposure("r2", "fresh", "a", "ann", ["rum"], 2),
            Exposure("r2", "fresh", "a", "ann", ["rum"], 2),  # told twice
            Exposure("r2", "other", "b", "ann", ["rum"], 2),
            Exposure("r3", "fresh", "b", 7, [], 3),
        ]
        for exposure in shown:
            service.writer.expose(exposure)
        service.append(
            an_event(1, "ann", request_id="r1", kind="buy"),
            an_event(2, "ann", request_id="r1"),  # two events for one list
            an_event(3, "bob", request_id="r2"),  # a list of somebody else's
            an_event(4, "7", request_id="r3"),  # another id than 7
            an_event(5, "bob"),
        )
        outcomes = service.reader.outcomes
        assert sorted(outcomes("fresh"), key=str) == [
            Outcome("a", "ann", 2, 1),
            Outcome("b", "bob", 1, 0),
            Outcome("b", 7, 1, 0),
        ]
        assert outcomes("fresh", kind="click")[0] == Outcome("a", "ann", 2, 1)
        assert outcomes("fresh", kind="view")[0] == Outcome("a", "ann", 2, 0)
        assert outcomes("other") == [Outcome("b", "ann", 1, 0)]
        assert outcomes("none") == []
        assert exposures(service.reader)[0] == ("r1", "fresh", "a", '"ann"', '["tea",1]')
        assert [row[0] for row in exposures(service.reader)] == ["r1", "r1", "r2", "r2", "r3"]

    def test_a_user_is_erased_and_nobody_else(self, service: Opened) -> None:
        service.append(*(an_event(at, "ann" if at % 2 else 1) for at in range(10)))
        service.append(an_event(10, "1"))
        service.writer.expose(Exposure("r", "x", "a", 1, ["tea"], 1))
        service.writer.expose(Exposure("r", "x", "a", "1", ["tea"], 1))
        erased = service.writer.erase(1).result()
        assert (erased.events, erased.exposures) == (5, 1)
        records = service.reader.after(0)
        assert records[-1] == Change(erased.seq, "erase", {"user": 1}) == service.applied[-1]
        assert [event.user for event in service.events()] == ["ann"] * 5 + ["1"]
        assert service.reader.count() == 6
        assert [outcome.user for outcome in service.reader.outcomes("x")] == ["1"]
        nothing = service.writer.erase("nobody").result()
        assert (nothing.events, nothing.exposures) == (0, 0)
        assert nothing.seq > erased.seq

    def test_a_retry_does_not_bring_back_what_was_erased(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as service:
            service.append(an_event(1), an_event(2, "bob"))
            erased = service.writer.erase("ann").result()
            retry = service.append(an_event(1), an_event(3))
            assert (retry.accepted, retry.duplicates) == (1, 1)
            assert retry.seq > erased.seq
        with self.opened(tmp_path) as service:
            assert service.append(an_event(1)).duplicates == 1
            assert {event.event_id for event in service.reader.events_of("ann", 9)} == {"e3"}

    def test_the_record_of_an_erasure_can_go_and_its_place_stays(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as service:
            service.append(an_event(1))
            first = service.writer.erase("ann").result().seq
            last = service.writer.erase("bob").result().seq
            service.writer.forget(first).result()
            assert [change.body for change in service.reader.changes("erase")] == [{"user": "bob"}]
            service.writer.forget(last).result()
            assert service.reader.after(0) == []
            assert service.reader.last_seq() == last
        with self.opened(tmp_path) as service:
            assert service.sequence.value == last
            assert service.append(an_event(2)).seq > last

    def test_places_begin_above_the_floor(self, tmp_path: Path) -> None:
        self.open_log(tmp_path, floor=40).close()
        with self.opened(tmp_path) as service:
            assert service.reader.last_seq() == service.sequence.value == 40
            assert service.append(an_event(1)).seq == 41
        log = self.open_log(tmp_path, floor=7)
        assert log.last_seq == 41
        log.close()

    def test_an_erased_event_is_forgotten_after_a_month(
        self, service: Opened, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        service.append(an_event(1))
        service.writer.erase("ann").result()
        later = time.time() + RETRIES + 10
        monkeypatch.setattr(time, "time", lambda: later)
        assert service.append(an_event(1)).duplicates == 1
        service.writer.erase("bob").result()
        assert service.append(an_event(1)).accepted == 1

    def test_a_batch_that_breaks_in_its_middle_leaves_nothing(self, tmp_path: Path) -> None:
        log = self.open_log(tmp_path)
        rows, changes = log.rows([an_event(1)]), [[new_change("item", {"id": 1})]]
        shown = log.exposure_row(Exposure("r", "x", "a", "ann", [], 1))
        with pytest.raises((StorageFailed, OverflowError)):
            log.write(Batch([rows], changes, [shown, (*shown[:-1], 2**70)]))
        assert log.last_seq == 0
        written = log.write(Batch([rows], changes))
        assert [record.seq for record in written.records] == [1, 2]
        reader = self.open_reader(tmp_path)
        assert reader.after(0) == written.records
        reader.close()
        log.close()

    def test_a_reader_cannot_write(self, service: Opened) -> None:
        with pytest.raises(StorageFailed, match=r"takes no writes|may not be written to"):
            service.reader.rows("DELETE FROM events")

    def test_many_clients_at_once(self, service: Opened) -> None:
        """Each event once, whoever sends it, and everybody is told the truth."""
        calls = [[an_event(at + step, f"user{at}") for step in range(4)] for at in range(0, 100, 4)]

        def client(number: int) -> int:
            return sum(service.append(*events).accepted for events in calls)

        with ThreadPoolExecutor(8) as threads:
            assert sum(threads.map(client, range(8))) == 100
        assert len({event.event_id for event in service.events()}) == 100
        assert service.applied == service.reader.after(0)

    def test_many_readers_while_it_is_written(self, service: Opened) -> None:
        """Each sees whole calls, in order, and nothing twice."""
        done = threading.Event()

        def follow() -> list[int]:
            places = [0]
            while not done.is_set() or places[-1] < service.sequence.value:
                places += [record.seq for record in service.reader.after(places[-1], 50)]
                assert service.reader.count() % 3 == 0
            return places

        with ThreadPoolExecutor(4) as threads:
            followers = [threads.submit(follow) for _ in range(4)]
            for at in range(30):
                service.append(*(an_event(3 * at + step) for step in range(3)))
            done.set()
            for places in (follower.result(PATIENCE) for follower in followers):
                assert len(places) == 91
                assert places == sorted(set(places))

    def test_closing_writes_what_waits(self, tmp_path: Path) -> None:
        with self.opened(tmp_path) as service:
            futures = [service.writer.append([an_event(at)]) for at in range(200)]
            service.writer.expose(Exposure("r", "x", "a", "ann", [], 1))
            service.writer.close()
            assert sum(future.result(0).accepted for future in futures) == 200
            with pytest.raises(StorageFailed, match="ending"):
                service.writer.append([an_event(1)])
        with self.opened(tmp_path) as service:
            assert service.reader.count() == 200
            assert len(exposures(service.reader)) == 1

    def test_an_answer_that_nobody_waits_for(self, service: Opened) -> None:
        """A client goes away (its task is cancelled): the writer goes on."""
        futures = [service.writer.append([an_event(at)]) for at in range(50)]
        gone = {at for at, future in enumerate(futures) if at % 2 and future.cancel()}
        assert service.append(an_event(100)).accepted == 1
        kept = {event.event_id for event in service.events()}
        assert kept == {f"e{at}" for at in range(50) if at not in gone} | {"e100"}

    def test_a_copy_has_what_was_acknowledged_and_appends_go_on(
        self, service: Opened, tmp_path: Path
    ) -> None:
        service.append(*(an_event(at) for at in range(3_000)))
        service.writer.change("item", {"id": 1}).result()
        copied = service.writer.backup(tmp_path / "copy" / "events.db")
        later = [service.writer.append([an_event(10_000 + at)]) for at in range(20)]
        copied.result(PATIENCE)
        assert all(future.result(PATIENCE).accepted == 1 for future in later)
        (tmp_path / "copy" / "sequence").touch()
        with self.opened(tmp_path / "copy") as copy:
            records = copy.reader.after(0)
            assert records == service.reader.after(0)[: len(records)]
            assert len(records) >= 3_001
            assert copy.append(an_event(1)).duplicates == 1
            assert copy.append(an_event(99_999)).accepted == 1

    def test_against_a_dictionary(self, tmp_path_factory: pytest.TempPathFactory) -> None:
        """Events, duplicates, erasures and new starts in any order."""

        class Machine(LogMachine):
            kit = self
            folders = tmp_path_factory

        few = settings(max_examples=8, stateful_step_count=15, deadline=None)
        run_state_machine_as_test(Machine, settings=few)


class LogMachine(RuleBasedStateMachine):
    """A log, and what it should hold. kit: opens it; folders: where to."""

    kit: EventLogTests
    folders: pytest.TempPathFactory
    numbers = st.lists(st.integers(0, 12), min_size=1, max_size=5)
    users = st.sampled_from((1, "1", "ann", "\0"))

    @initialize()
    def start(self) -> None:
        self.folder = self.folders.mktemp("log")
        self.events: dict[str, NewEvent] = {}
        self.taken: set[str] = set()
        self.last = 0
        self._open()

    def _open(self) -> None:
        self.stack = ExitStack()
        self.service = self.stack.enter_context(self.kit.opened(self.folder))
        assert self.service.sequence.value == self.last

    @rule(numbers=numbers, user=users)
    def append(self, numbers: list[int], user: Any) -> None:
        events = [an_event(number, user) for number in numbers]
        new = {event.event_id: event for event in events if event.event_id not in self.taken}
        answer = self.service.append(*events)
        assert (answer.accepted, answer.duplicates) == (len(new), len(events) - len(new))
        assert answer.seq >= self.last + len(new)
        self.events.update(new)
        self.taken.update(new)
        self.last = answer.seq

    @rule(user=users)
    def erase(self, user: Any) -> None:
        before = len(self.events)
        self.events = {
            name: event
            for name, event in self.events.items()
            if (type(event.user), event.user) != (type(user), user)
        }
        erased = self.service.writer.erase(user).result(PATIENCE)
        assert erased.events == before - len(self.events)
        assert erased.seq > self.last
        self.last = erased.seq

    @rule()
    def change(self) -> None:
        seq = self.service.writer.change("item", {"id": self.last}).result(PATIENCE)
        assert seq > self.last
        self.last = seq

    @rule()
    def start_again(self) -> None:
        self.stack.close()
        self._open()

    @invariant()
    def agree(self) -> None:
        kept = [NewEvent(*event[1:]) for event in self.service.events()]
        assert kept == [*self.events.values()]
        assert self.service.reader.last_seq() == self.last
        for user in (1, "1"):
            of_user = [e.event_id for e in self.events.values() if type(e.user) is type(user)]
            of_user = [name for name in of_user if self.events[name].user == user]
            found = self.service.reader.events_of(user, 100)
            assert [event.event_id for event in found] == of_user[::-1]

    def teardown(self) -> None:
        if hasattr(self, "stack"):
            self.stack.close()
