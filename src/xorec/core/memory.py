"""Too little memory: checked before polars starts, and recognised in errors of other libraries.

polars aborts or hangs where the system refuses it memory, which nothing can catch. So readers of
data check the address space (`ulimit -v`) first.
"""

from __future__ import annotations

import errno
import os
import sys

from xorec.core.errors import XorecError

NEEDED = 2 << 30
"""Address space that polars, numba and their threads reserve, for any data; most is never used."""
_SIGNS = (
    "cannot allocate memory",
    "failed to map segment",  # a library that is loaded
    "can't start new thread",
    "could not spawn threads",
    "memory allocation",
)


def require_address_space() -> None:
    """Refuse a limit that compiled libraries would not survive."""
    if sys.platform == "win32":
        return
    import resource

    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < NEEDED:
        raise XorecError(
            f"the address space is limited to {limit / 2**30:.1f} GB and {NEEDED / 2**30:.0f} GB "
            "are needed: raise it (ulimit -v unlimited) and bound memory itself, by a cgroup, say."
        )


def physical_memory() -> int:
    """Bytes of this machine's memory; 8 GB where unknown."""
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return 8 << 30


def is_shortage(error: BaseException | None) -> bool:
    """Whether an error, or one that it came from, is for want of memory."""
    if error is None:
        return False
    if isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM:
        return True
    said = str(error).lower()
    return (
        any(sign in said for sign in _SIGNS)
        or is_shortage(error.__cause__)
        or is_shortage(error.__context__)
    )
