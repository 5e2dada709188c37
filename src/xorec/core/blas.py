"""BLAS with one thread, for products that are too small to share.

A product of one query that BLAS cuts in two waits for its other thread at a barrier, turning
around. Where that thread has no core of its own just then, the wait is a slice of the scheduler's:
20,000 items x 64 took 42 us or 8,000 us with two threads, for seconds on end, and 80 us with one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from typing import Any


@contextmanager
def one_blas_thread() -> Iterator[None]:
    """One BLAS thread inside the block, then as many as before; costs some microseconds.

    The number belongs to the process, or to the thread where BLAS uses OpenMP. A block that finds
    it at 1 leaves it alone, so blocks that overlap in several threads do not leave it at 1.

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
    """The BLAS libraries of this process; NumPy's is there from the beginning."""
    from threadpoolctl import ThreadpoolController

    found = ThreadpoolController().lib_controllers
    return tuple(library for library in found if library.user_api == "blas")
