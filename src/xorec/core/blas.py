"""BLAS with one thread, for products that are too small to share.

A product of one query that BLAS cuts in two waits for its other thread at a barrier, turning
around. Where that thread has no core of its own just then, the wait is a slice of the scheduler's:
20,000 items x 64 took 42 us or 8,000 us with two threads, for seconds on end, and 80 us with one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from threading import Lock
from typing import Any

_lock = Lock()
_before: list[int] = []
_inside = 0


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """One BLAS thread inside the block; when the last block is left, as many as before.

    The number belongs to the whole process; blocks in several threads do not disturb each other.

    >>> with one_blas_thread():
    ...     [library.get_num_threads() for library in _libraries()] == [1] * len(_libraries())
    True
    """
    global _inside
    with _lock:
        if _inside == 0:
            _before[:] = [library.get_num_threads() for library in _libraries()]
            for library in _libraries():
                library.set_num_threads(1)
        _inside += 1
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0:
                for library, count in zip(_libraries(), _before, strict=True):
                    library.set_num_threads(count)


@cache
def _libraries() -> tuple[Any, ...]:
    """The BLAS libraries of this process; NumPy's is there from the beginning."""
    from threadpoolctl import ThreadpoolController

    found = ThreadpoolController().lib_controllers
    return tuple(library for library in found if library.user_api == "blas")
