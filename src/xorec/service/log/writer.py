"""LogWriter: group commit by one thread. SharedSequence: the last committed seq, for all."""

from __future__ import annotations

import mmap
import os
import sys
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

from xorec.core.errors import XorecError
from xorec.core.files import cannot_write
from xorec.core.progress import logger
from xorec.service.log.base import Log, StorageFailed
from xorec.service.log.records import (
    Appended,
    Batch,
    Erased,
    Exposure,
    Id,
    NewEvent,
    Record,
    Row,
    id_text,
    new_change,
)

SIZE = 16
"""Bytes of the file: the seq, and eight to spare."""


class SharedSequence:
    """A number in a mapped file: a look costs a tenth of a microsecond and no call of the system.

    It is written in one store of eight aligned bytes, so no reader sees half of it. It says at most
    what is committed: the writer publishes after the commit, and once at its start.

    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     writer, follower = (SharedSequence(Path(folder) / "sequence") for _ in range(2))
    ...     writer.publish(7)
    ...     print(follower.value)
    ...     writer.close(), follower.close()
    7
    (None, None)
    """

    def __init__(self, path: Path) -> None:
        try:
            handle = os.open(path, os.O_RDWR | os.O_CREAT, 0o666)
            try:  # give it its size, never a hole that a full disk would not fill later (SIGBUS)
                if sys.platform == "linux":
                    os.posix_fallocate(handle, 0, SIZE)
                elif os.fstat(handle).st_size < SIZE:
                    os.ftruncate(handle, SIZE)
                self._map = mmap.mmap(handle, SIZE)
            finally:
                os.close(handle)
        except OSError as error:
            raise cannot_write(path, error) from None
        self._numbers = memoryview(self._map).cast("Q")
        self._lock = threading.Lock()

    @property
    def value(self) -> int:
        return self._numbers[0]

    def publish(self, seq: int) -> None:
        """Everything up to `seq` is committed."""
        self._numbers[0] = seq

    def advance(self, seq: int) -> None:
        """The same, from several threads of one process: it never goes back."""
        with self._lock:
            if seq > self._numbers[0]:
                self._numbers[0] = seq

    def close(self) -> None:
        """Let go of the file."""
        self._numbers.release()
        self._map.close()


GROUP = 1_000
"""Events of one transaction at most; a larger call has one of its own."""
EXPOSURE_WAIT = 0.05
"""Seconds that an exposure waits for a transaction to go with."""
_EXPOSURES = 100_000
"""That are kept while the disk is full."""
_TIDY_WAIT = 0.25


@dataclass
class _Call:
    """A request to the writer thread: its rows, user, seq or path, and where the result goes."""

    kind: Literal["append", "change", "erase", "forget", "backup"]
    what: Any
    future: Future[Any] = field(default_factory=Future)


class LogWriter:
    """Appends to a log from any thread, by futures.

    A future is done when its call is committed, the seq published, and `on_commit` has had the
    new records, in that order; it fails by StorageFull or StorageFailed, and then nothing of its
    call is in the log. on_commit runs on the writer's thread. on_group(events, seconds) is told of
    each transaction. The writer closes the log.
    """

    def __init__(
        self,
        log: Log,
        sequence: SharedSequence,
        on_commit: Callable[[list[Record]], None] = lambda records: None,
        on_group: Callable[[int, float], None] = lambda events, seconds: None,
    ) -> None:
        self._log, self._sequence = log, sequence
        self._on_commit, self._on_group = on_commit, on_group
        self._calls: deque[_Call] = deque()
        self._exposures: list[Row] = []
        self._expose_by = 0.0
        self._tidy = False
        self._closing = False
        self._failing = False
        self._wake = threading.Condition()
        sequence.publish(log.last_seq)  # a kill may have come between a commit and its publication
        self._thread = threading.Thread(target=self._run, name="xorec-log", daemon=True)
        self._thread.start()

    def append(self, events: Sequence[NewEvent]) -> Future[Appended]:
        """All of these events or none; those that the log has are told as duplicates."""
        return self._put(_Call("append", self._log.rows(events)))

    def change(self, kind: str, body: Mapping[str, Any]) -> Future[int]:
        """A change of what is served; gives its seq."""
        return self.changes([(kind, body)])

    def changes(self, changes: Iterable[tuple[str, Mapping[str, Any]]]) -> Future[int]:
        """Several, all or none; gives the seq of the last."""
        return self._put(_Call("change", [new_change(*change) for change in changes]))

    def erase(self, user: Id) -> Future[Erased]:
        """Forget a user; what was handed in before goes, too."""
        id_text(user)
        return self._put(_Call("erase", user))

    def forget(self, seq: int) -> Future[None]:
        """The records of erasures up to this seq go, for they name whom they erased: call it
        when no model file and no follower that is older than them is left."""
        return self._put(_Call("forget", seq))

    def backup(self, path: Path) -> Future[None]:
        """A consistent copy of the log, with all that was acknowledged before; appends go on."""
        return self._put(_Call("backup", path))

    def expose(self, exposure: Exposure) -> None:
        """Keep that a list was shown, soon, without waiting for the commit."""
        row = self._log.exposure_row(exposure)
        with self._wake:
            if self._closing:
                return
            if not self._exposures:
                self._expose_by = time.monotonic() + EXPOSURE_WAIT
                self._wake.notify()
            self._exposures.append(row)

    def close(self) -> None:
        """Write what waits, then end. Calls after this fail."""
        with self._wake:
            self._closing = True
            self._wake.notify()
        self._thread.join()

    def _put(self, call: _Call) -> Future[Any]:
        with self._wake:
            if self._closing:
                raise StorageFailed("the service is ending and writes no more: try again later.")
            self._calls.append(call)
            self._wake.notify()
        return call.future

    def _run(self) -> None:
        try:
            while self._wait():
                self._step(nested=False)
        finally:
            with self._wake:
                self._closing = True
                left, self._calls = [*self._calls], deque()
            for call in left:
                if call.future.set_running_or_notify_cancel():
                    call.future.set_exception(StorageFailed("the writer of the log has ended."))
            self._log.close()

    def _wait(self) -> bool:
        """Until there is something to do; False: no more, we are closing."""
        with self._wake:
            while not self._calls:
                if self._closing:
                    return bool(self._exposures)
                wait = _TIDY_WAIT if self._tidy else None
                if self._exposures:
                    wait = self._expose_by - time.monotonic()
                if wait is not None and wait <= 0:
                    return True
                if not self._wake.wait(wait):
                    return True
        return True

    def _step(self, *, nested: bool) -> None:
        """One transaction, or one backup. nested: we are called by a backup that goes on."""
        with self._wake:
            group = self._take(nested)
            exposures, self._exposures = self._exposures, []
        group = [call for call in group if call.future.set_running_or_notify_cancel()]
        try:
            if group and group[0].kind == "backup":
                self._keep(exposures, EXPOSURE_WAIT)
                self._log.backup(group[0].what, lambda: self._step(nested=True))
                group[0].future.set_result(None)
            elif group or exposures:
                self._commit(group, exposures)
        except BaseException as error:
            self._fail([call for call in group if not call.future.done()], error)
            if not isinstance(error, Exception):  # the thread ends by it
                raise
        try:
            self._tidy = not self._log.tidy()
        except XorecError as error:  # no call waits for it; the next write tells
            logger.warning("event log: %s", error, extra={"event": "tidy"})
            self._tidy = True

    def _take(self, nested: bool) -> list[_Call]:
        """The calls of the next transaction. An erasure ends one; a backup stands alone."""
        group: list[_Call] = []
        size, calls = 0, self._calls
        while calls:
            call = calls[0]
            if call.kind == "backup":
                if not group and not nested:
                    group.append(calls.popleft())
                break
            size += len(call.what) if call.kind in ("append", "change") else 1
            if group and size > GROUP:
                break
            group.append(calls.popleft())
            if call.kind in ("erase", "forget"):
                break
        return group

    def _commit(self, group: list[_Call], exposures: list[Row]) -> None:
        wanted: dict[str, list[Any]] = {"append": [], "change": [], "erase": [], "forget": []}
        for call in group:
            wanted[call.kind].append(call.what)
        erase, forget = (next(iter(wanted[kind]), None) for kind in ("erase", "forget"))
        batch = Batch(wanted["append"], wanted["change"], exposures, erase, forget)
        began = time.perf_counter()
        try:
            written = self._log.write(batch)
        except Exception:
            self._keep(exposures, 1.0)
            raise
        self._sequence.advance(written.last_seq)
        seconds = time.perf_counter() - began
        if self._failing:
            logger.warning("event log: writes again", extra={"event": "writes again"})
            self._failing = False
        try:
            self._on_group(len(written.records), seconds)
            if written.records:
                self._on_commit(written.records)
        except Exception:  # they are in the log, and that is what the answer says
            logger.exception("event log: what follows a commit failed")
        results: dict[str, Iterator[Any]] = {
            "append": iter(written.appended),
            "change": iter(written.changed),
            "erase": iter([written.erased]),
            "forget": iter([None]),
        }
        for call in group:
            call.future.set_result(next(results[call.kind]))

    def _fail(self, group: list[_Call], error: BaseException) -> None:
        if not isinstance(error, XorecError):
            logger.exception("event log: a transaction failed")
            error = StorageFailed(f"the event log: {error!r}.")
        if not self._failing:
            logger.warning("event log: %s", error, extra={"event": "write failed"})
            self._failing = True
        for call in group:
            call.future.set_exception(error)

    def _keep(self, exposures: list[Row], wait: float) -> None:
        """Exposures go with a later transaction; at the end there is none."""
        if not exposures or self._closing:
            return
        with self._wake:
            self._exposures[:0] = exposures
            del self._exposures[:-_EXPOSURES]
            self._expose_by = time.monotonic() + wait
