"""Follower: a thread that applies what others write to the log, also while nobody asks."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Protocol

from xorec.core.errors import XorecError
from xorec.core.progress import logger

_PAUSE = 0.05
"""Seconds between two looks."""
_PAUSE_AFTER_FAILURE = 0.5


class Models(Protocol):
    """What follows."""

    applied_seq: int

    def catch_up(self, last: int = 0) -> int: ...


class Sequence(Protocol):
    """The last place, as the workers of this machine know it."""

    @property
    def value(self) -> int: ...

    def advance(self, seq: int) -> None: ...


class Follower:
    """Looks at the log again and again.

    last_seq: asks the log for its last place, where other machines write to it, too: the workers of
    this machine then learn of it by `sequence`. on_applied: called after something was applied.
    """

    def __init__(
        self,
        models: Models,
        sequence: Sequence,
        last_seq: Callable[[], int] | None = None,
        on_applied: Callable[[], None] = lambda: None,
    ) -> None:
        self._models, self._sequence = models, sequence
        self._last_seq, self._on_applied = last_seq, on_applied
        self._wake, self._ending = threading.Event(), False
        self.is_failing = False
        """Whether the last look failed: the log is away."""
        self._failures = 0
        self._thread = threading.Thread(target=self._run, name="follow", daemon=True)
        self._thread.start()

    def look(self, *, at_once: bool = False) -> None:
        """Apply what is new. at_once: also where `sequence` does not know of it yet."""
        if self._last_seq is not None:
            self._sequence.advance(self._last_seq())
        last = self._sequence.value
        if (at_once or last > self._models.applied_seq) and self._models.catch_up(last):
            self._on_applied()

    async def reach(self, seq: int, seconds: float) -> bool:
        """Whether everything up to this place is known, after waiting for it if need be; not longer
        than until a look has failed."""
        loop = asyncio.get_running_loop()
        deadline, failures = loop.time() + seconds, self._failures
        while seq > self._models.applied_seq:
            if self._failures > failures or loop.time() > deadline:
                return False
            self._wake.set()
            await asyncio.sleep(0.002)
        return True

    def close(self) -> None:
        """Follow no more."""
        self._ending = True
        self._wake.set()
        self._thread.join(2)

    def _run(self) -> None:
        while True:
            woken = self._wake.wait(_PAUSE_AFTER_FAILURE if self.is_failing else _PAUSE)
            if self._ending:
                return
            self._wake.clear()
            try:
                self.look(at_once=woken)
            except XorecError as error:  # it is tried again; once is enough to know
                if not self.is_failing:
                    logger.warning("cannot follow the log: %s", error, extra={"event": "follow"})
                self._fail()
            except Exception:
                logger.exception("cannot follow the log")
                self._fail()
            else:
                if self.is_failing:
                    logger.warning("follows the log again", extra={"event": "follows again"})
                self.is_failing = False

    def _fail(self) -> None:
        self.is_failing = True
        self._failures += 1
