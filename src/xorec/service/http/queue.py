"""Requests that wait for the loop: so many at most, answered in short slices.

Handlers run in the loop itself, one after the other. While a slice runs nobody is read from, so a
slice is short: whoever is one too many learns it within milliseconds, however long the line is.
"""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable

SLICE = 2_000_000
"""Nanoseconds of answering between two looks at the sockets."""
Answer = Callable[[], None]


class RequestQueue:
    """First come, first served. more: further requests that are under way, elsewhere.

    Writes are short here and then wait for the disk: they are counted apart, so that many of them
    at once turn nobody away who asks for a list.
    """

    def __init__(
        self, loop: asyncio.AbstractEventLoop, most: int, writes: int, more: Callable[[], int]
    ) -> None:
        self._loop, self._most, self._more = loop, most, more
        self._most_writes, self._writes = writes, 0
        self._waiting: deque[tuple[Answer, bool]] = deque()
        self._scheduled = False

    def __len__(self) -> int:
        return len(self._waiting)

    def is_full(self, *, writes: bool) -> bool:
        """Whether one more would be too many. writes: one that will wait for the disk."""
        if writes:
            return self._writes >= self._most_writes
        return len(self._waiting) - self._writes + self._more() >= self._most

    def add(self, answer: Answer, *, writes: bool) -> None:
        """Call `answer` when it is its turn."""
        self._waiting.append((answer, writes))
        self._writes += writes
        if not self._scheduled:
            self._scheduled = True
            self._loop.call_soon(self._work)

    def _work(self) -> None:
        waiting, until = self._waiting, time.perf_counter_ns() + SLICE
        while waiting:
            answer, writes = waiting.popleft()
            self._writes -= writes
            answer()
            if time.perf_counter_ns() > until and waiting:
                self._loop.call_soon(self._work)
                return
        self._scheduled = False
