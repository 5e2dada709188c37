"""A pool of threads for kernels that run without Python's lock; properties and caches for threads.

The pool has ordinary threads, which sleep when they wait. numba's own (OpenMP) spin at every
barrier, which is slow on busy cores. BLAS spins, too, so small products use one BLAS thread: where
its other thread has no core, 20,000 items x 64 take 8,000 us with two threads, and 80 us with one.
"""

from __future__ import annotations

import os
from collections import OrderedDict
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import contextmanager, suppress
from functools import cache, cached_property
from itertools import count
from threading import Lock, RLock
from typing import TYPE_CHECKING, Any, Generic, Self, TypeVar

T = TypeVar("T")


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """One BLAS thread inside the block, then as many as before; costs some microseconds.

    The number belongs to the process (with OpenMP, to the thread). A block that finds it at 1
    leaves it alone, so overlapping blocks do not leave it at 1.

    >>> with one_blas_thread():
    ...     {library.get_num_threads() for library in _libraries()} == {1}
    True
    """
    counts = [(library, library.get_num_threads()) for library in _libraries()]
    many = [(library, count) for library, count in counts if count > 1]
    for library, _ in many:
        library.set_num_threads(1)
    try:
        yield
    finally:
        for library, count in many:
            library.set_num_threads(count)


@cache
def _libraries() -> tuple[Any, ...]:
    """The BLAS libraries of this process; NumPy has loaded its own."""
    from threadpoolctl import ThreadpoolController

    found = ThreadpoolController().lib_controllers
    return tuple(library for library in found if library.user_api == "blas")


class ThreadPool:
    """Threads that share pieces of work; the calling thread is one of them.

    >>> squares = [0] * 5
    >>> with ThreadPool(2) as pool:
    ...     pool.map(5, lambda piece: squares.__setitem__(piece, piece**2))
    >>> squares
    [0, 1, 4, 9, 16]
    """

    def __init__(self, threads: int) -> None:
        self.threads = threads
        self._helpers = ThreadPoolExecutor(threads - 1) if threads > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self._helpers is not None:
            self._helpers.shutdown(wait=True, cancel_futures=True)

    def map(self, pieces: int, work: Callable[[int], object]) -> None:
        """work(piece) for every piece, each by a free thread; returns when all are done.

        The result of `work` must not depend on the thread or the order.
        """
        if self._helpers is None or pieces == 1:
            for piece in range(pieces):
                work(piece)
            return
        next_piece = count()

        def take_pieces() -> None:
            while (piece := next(next_piece)) < pieces:
                work(piece)

        futures: list[Future[None]] = []
        with suppress(RuntimeError):  # no memory for one more thread
            futures.extend(
                self._helpers.submit(take_pieces) for _ in range(min(self.threads, pieces) - 1)
            )
        try:
            take_pieces()
        finally:
            for future in futures:
                future.result()

    def map_ranges(
        self, length: int, work: Callable[[int, int], object], per_thread: int = 4
    ) -> None:
        """work(begin, end) for consecutive ranges that cover range(length)."""
        pieces = max(1, min(length, self.threads * per_thread))
        self.map(pieces, lambda at: work(length * at // pieces, length * (at + 1) // pieces))


def available_threads() -> int:
    """The cores that this process may run on (respects taskset and cgroup cpusets)."""
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on Linux
        return os.cpu_count() or 1


class lazy_property(cached_property[T]):  # noqa: N801 - used as a decorator
    """`functools.cached_property` with a lock for each object (Python 3.12 has none).

    Properties of one object may use each other.

    >>> class Circle:
    ...     radius = 2
    ...     @lazy_property
    ...     def area(self) -> float:
    ...         print("computed")
    ...         return 3 * self.radius**2
    >>> circle = Circle()
    >>> circle.area + circle.area
    computed
    24
    """

    if not TYPE_CHECKING:

        def __get__(self, instance, owner=None):
            if instance is None:
                return self
            with vars(instance).setdefault("_lazy_lock", RLock()):
                return super().__get__(instance, owner)


class LRUCache(Generic[T]):
    """The `most` last used objects, by key; threads may share it.

    For objects that a process builds from arrays that many blocks share.

    >>> kept = LRUCache[list[int]](most=1)
    >>> first = kept.get("a", lambda: [1])
    >>> kept.get("a", lambda: [2]) is first
    True
    >>> kept.get("b", lambda: [3]), kept.get("a", lambda: [4])
    ([3], [4])
    """

    def __init__(self, most: int = 2) -> None:
        self._most, self._made, self._lock = most, OrderedDict[str, T](), Lock()

    def get(self, key: str, make: Callable[[], T]) -> T:
        """The object of `key`, made now if it is missing."""
        with self._lock:
            found = self._made[key] if key in self._made else make()
            self._made[key] = found
            self._made.move_to_end(key)
            while len(self._made) > self._most:
                self._made.popitem(last=False)
            return found
