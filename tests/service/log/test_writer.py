"""The thread of the writer: groups, order, and what happens when something breaks."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.event_logs import an_event
from tests.support.waiting import PATIENCE, until
from xorec.core.errors import XorecError
from xorec.service.log.base import StorageFailed
from xorec.service.log.records import Batch, Exposure, Record, Written
from xorec.service.log.sqlite import SqliteLog
from xorec.service.log.writer import GROUP, SIZE, LogWriter, SharedSequence


class GatedLog(SqliteLog):
    """Waits before each transaction until it may, and keeps what it was given, and what it wrote.

    arrived: set when the writer's thread is at the gate.
    """

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        self.gate, self.arrived = threading.Event(), threading.Event()
        self.batches: list[Batch] = []
        self.written: list[Batch] = []
        self.error: BaseException | None = None

    def write(self, batch: Batch) -> Written:
        self.arrived.set()
        assert self.gate.wait(PATIENCE)
        self.batches.append(batch)
        if self.error is not None:
            raise self.error
        found = super().write(batch)
        self.written.append(batch)
        return found


Start = Callable[..., tuple[LogWriter, GatedLog, SharedSequence]]


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    writers: list[LogWriter] = []

    def start(**hooks: Any) -> tuple[LogWriter, GatedLog, SharedSequence]:
        log, sequence = GatedLog(tmp_path / "events.db"), SharedSequence(tmp_path / "sequence")
        writers.append(LogWriter(log, sequence, **hooks))
        return writers[-1], log, sequence

    yield start
    for writer in writers:
        writer.close()


def test_a_group_takes_what_waits_up_to_its_size(start: Start) -> None:
    writer, log, _ = start()
    first = writer.append([an_event(0)])
    assert log.arrived.wait(PATIENCE)
    sizes = (400, 500, 100, 1, GROUP + 500, 3, 999)
    numbers = iter(range(1, 100_000))
    futures = [writer.append([an_event(next(numbers)) for _ in range(size)]) for size in sizes]
    log.gate.set()
    assert [future.result(PATIENCE).accepted for future in futures] == [*sizes]
    assert first.result(PATIENCE).accepted == 1
    groups = [[len(rows) for rows in batch.events] for batch in log.batches]
    assert groups == [[1], [400, 500, 100], [1], [GROUP + 500], [3], [999]]


def test_what_was_handed_in_before_an_erasure_goes_and_what_comes_later_stays(start: Start) -> None:
    writer, log, _ = start()
    before = [writer.append([an_event(at)]) for at in range(3)]
    erased = writer.erase("ann")
    after = writer.append([an_event(7)])
    log.gate.set()
    assert sum(future.result(PATIENCE).accepted for future in before) == 3
    assert erased.result(PATIENCE).events == 3
    assert after.result(PATIENCE).accepted == 1
    assert after.result().seq > erased.result().seq


def test_first_the_commit_then_the_place_then_the_hook_then_the_answer(start: Start) -> None:
    seen: list[Any] = []

    def hook(records: list[Record]) -> None:
        seen.append((sequence.value, records[-1].seq, [future.done() for future in futures]))
        assert threading.current_thread().name == "xorec-log"

    futures: list[Any] = []
    writer, log, sequence = start(on_commit=hook)
    futures += [writer.append([an_event(at)]) for at in range(2)]
    log.gate.set()
    seqs = [future.result(PATIENCE).seq for future in futures]
    assert all(value == seq and not any(done[-1:]) for value, seq, done in seen)
    assert seen[-1][0] == seqs[-1]


def test_a_hook_that_fails_does_not_unsay_the_commit(
    start: Start, caplog: pytest.LogCaptureFixture
) -> None:
    def hook(records: list[Record]) -> None:
        raise RuntimeError("no model")

    writer, log, _ = start(on_commit=hook)
    log.gate.set()
    with caplog.at_level(logging.ERROR, "xorec"):
        assert writer.append([an_event(1)]).result(PATIENCE).accepted == 1
    assert "no model" in caplog.text
    assert writer.append([an_event(1)]).result(PATIENCE).duplicates == 1


def test_an_error_that_nobody_thought_of_fails_its_group_only(start: Start) -> None:
    writer, log, sequence = start()
    log.gate.set()
    log.error = RuntimeError("a cosmic ray")
    with pytest.raises(StorageFailed, match="a cosmic ray"):
        writer.append([an_event(1)]).result(PATIENCE)
    assert sequence.value == 0
    log.error = None
    assert writer.append([an_event(1)]).result(PATIENCE).accepted == 1


@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
def test_nobody_waits_for_a_thread_that_has_ended(start: Start) -> None:
    writer, log, _ = start()
    futures = [writer.append([an_event(0)])]
    assert log.arrived.wait(PATIENCE)
    futures += [writer.append([an_event(1)]), writer.erase("ann")]  # type: ignore[list-item]
    log.error = SystemExit("ended")
    log.gate.set()
    for future in futures:
        with pytest.raises(StorageFailed):
            future.result(PATIENCE)
    writer.close()
    with pytest.raises(StorageFailed, match="ending"):
        writer.append([an_event(2)])


def test_exposures_are_kept_soon_without_a_call_that_waits(start: Start) -> None:
    writer, log, sequence = start()
    for at in range(20):
        writer.expose(Exposure(f"r{at}", "x", "a", "ann", [1], at))
    log.gate.set()
    until(lambda: sum(len(batch.exposures) for batch in log.written) >= 20)
    assert sum(len(batch.exposures) for batch in log.written) == 20
    assert len(log.batches) <= 2  # those that the first transaction took, and all others
    assert sequence.value == 0


def test_exposures_outlive_a_transaction_that_failed(start: Start) -> None:
    writer, log, _ = start()
    log.gate.set()
    log.error = StorageFailed("for now")
    writer.expose(Exposure("r", "x", "a", "ann", [1], 1))
    with pytest.raises(StorageFailed):
        writer.append([an_event(1)]).result(PATIENCE)
    log.error = None
    writer.append([an_event(1)]).result(PATIENCE)
    assert sum(len(batch.exposures) for batch in log.batches) >= 2
    assert sum(len(batch.exposures) for batch in log.written) == 1


def test_closing_with_a_failing_log_ends(start: Start) -> None:
    writer, log, _ = start()
    log.error = StorageFailed("for ever")
    writer.expose(Exposure("r", "x", "a", "ann", [1], 1))
    future = writer.append([an_event(1)])
    log.gate.set()
    closing = threading.Thread(target=writer.close, daemon=True)
    closing.start()
    closing.join(PATIENCE)
    assert not closing.is_alive()
    with pytest.raises(StorageFailed, match="for ever"):
        future.result(0)


def test_the_place_is_published_at_the_start(tmp_path: Path) -> None:
    """A kill between a commit and its publication."""
    log = SqliteLog(tmp_path / "events.db")
    log.write(Batch([log.rows([an_event(1), an_event(2)])]))
    log.close()
    sequence = SharedSequence(tmp_path / "sequence")
    assert sequence.value == 0
    writer = LogWriter(SqliteLog(tmp_path / "events.db"), sequence)
    assert sequence.value == 2
    writer.close()
    sequence.close()


READ = (
    "import sys; from pathlib import Path; "
    "from xorec.service.log.writer import SharedSequence; "
    "print(SharedSequence(Path(sys.argv[1])).value)"
)


@pytest.mark.process
def test_other_processes_see_it_and_it_stays(tmp_path: Path) -> None:
    path = tmp_path / "sequence"
    sequence = SharedSequence(path)
    assert sequence.value == 0
    follower = SharedSequence(path)
    for seq in (1, 255, 256, 2**32, 2**53 + 1):
        sequence.publish(seq)
        assert follower.value == seq
    command = [sys.executable, "-c", READ, str(path)]
    told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    assert int(told) == 2**53 + 1
    sequence.close()
    follower.close()
    assert path.stat().st_size == SIZE
    assert int.from_bytes(path.read_bytes()[:8], "little") == 2**53 + 1
    again = SharedSequence(path)
    assert again.value == 2**53 + 1
    again.close()


def test_a_full_disk_is_told_at_the_start_and_does_no_harm_later(small_disk: Path) -> None:
    sequence = SharedSequence(small_disk / "sequence")
    with pytest.raises(OSError, match="No space"):
        (small_disk / "filler").write_bytes(bytes(1 << 22))
    sequence.publish(7)
    assert sequence.value == 7
    sequence.close()
    with pytest.raises(XorecError, match=r"no space left on the disk of .*another"):
        SharedSequence(small_disk / "another")


def test_a_folder_that_is_missing(tmp_path: Path) -> None:
    with pytest.raises(XorecError, match=r"cannot write .*sequence"):
        SharedSequence(tmp_path / "nowhere" / "sequence")


def test_several_threads_may_advance_it_and_it_never_goes_back(tmp_path: Path) -> None:
    sequence = SharedSequence(tmp_path / "sequence")
    sequence.publish(9)
    for seq in (7, 12, 3):
        sequence.advance(seq)
    assert sequence.value == 12
    sequence.publish(4)  # a log that begins anew
    assert sequence.value == 4
    sequence.close()
