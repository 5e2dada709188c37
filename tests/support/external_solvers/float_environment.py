"""How the processor rounds, kept while foreign code runs.

Xpress leaves the x87 unit at the precision of doubles in the thread that called it. OpenBLAS
computes norms on that unit, so LAPACK's last digits differed from then on.
"""

from __future__ import annotations

import ctypes
import ctypes.util
from collections.abc import Iterator
from contextlib import contextmanager

_BYTES = 256
"""More than C's fenv_t has anywhere."""


@contextmanager
def kept_float_environment() -> Iterator[None]:
    """Inside, foreign code may set what it likes; afterwards this thread rounds as before."""
    library = ctypes.CDLL(ctypes.util.find_library("m"))
    kept = ctypes.create_string_buffer(_BYTES)
    library.fegetenv(kept)
    try:
        yield
    finally:
        library.fesetenv(kept)
