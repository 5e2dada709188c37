"""Comparisons of two models that were made: they hold until a generation or the events change."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Hashable
from typing import TYPE_CHECKING

from xorec.service.http.problems import busy

if TYPE_CHECKING:
    from xorec.service.schemas.comparing import CompareAnswer

_FRESH = 30.0
"""Seconds for which one holds though events have come; without any it holds for good."""
_KEPT = 16


class Comparisons:
    """The last ones; one is made at a time."""

    def __init__(self) -> None:
        self._made: OrderedDict[Hashable, tuple[float, CompareAnswer]] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, key: Hashable, seq: int, make: Callable[[], CompareAnswer]) -> CompareAnswer:
        """One that still holds at this place of the log, or a new one; 503 if others are made."""
        if not self._lock.acquire(timeout=1):
            raise busy("another comparison is being made: come again.")
        try:
            kept = self._made.get(key)
            now = time.monotonic()
            if kept is None or (kept[1].seq != seq and now - kept[0] > _FRESH):
                kept = self._made[key] = now, make()
                while len(self._made) > _KEPT:
                    self._made.popitem(last=False)
            return kept[1]
        finally:
            self._lock.release()
