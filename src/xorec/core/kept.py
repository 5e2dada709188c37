"""What a process has made of what blocks share, kept for the blocks that follow."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable
from threading import Lock
from typing import Generic, TypeVar

T = TypeVar("T")


class Kept(Generic[T]):
    """The last `most` things that were made, by key; threads may share it.

    >>> kept = Kept[list[int]](most=1)
    >>> first = kept.get("a", lambda: [1])
    >>> kept.get("a", lambda: [2]) is first
    True
    >>> kept.get("b", lambda: [3]), kept.get("a", lambda: [4])
    ([3], [4])
    """

    def __init__(self, most: int = 2) -> None:
        self._most, self._made, self._lock = most, OrderedDict[str, T](), Lock()

    def get(self, key: str, make: Callable[[], T]) -> T:
        """What is kept under `key`, made now if it is not there."""
        with self._lock:
            found = self._made[key] if key in self._made else make()
            self._made[key] = found
            self._made.move_to_end(key)
            while len(self._made) > self._most:
                self._made.popitem(last=False)
            return found
