from __future__ import annotations

import errno
import os
import resource

import pytest

import xorec
from xorec.core.errors import XorecError
from xorec.core.memory import NEEDED, is_shortage


def test_an_address_space_that_polars_would_not_survive_is_refused() -> None:
    """In a child: a limit cannot be taken back where the hard one is as low."""
    child = os.fork()
    if child == 0:
        try:
            resource.setrlimit(resource.RLIMIT_AS, (NEEDED // 2, resource.RLIM_INFINITY))
            xorec.read([("ann", "tea")])
        except XorecError as error:
            os._exit(0 if "limited to 1.0 GB and 2 GB are needed" in str(error) else 1)
        finally:
            os._exit(2)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.parametrize(
    "error",
    [
        MemoryError(),
        OSError(errno.ENOMEM, "Cannot allocate memory"),
        ImportError("libx.so: failed to map segment from shared object"),
        RuntimeError("can't start new thread"),
    ],
)
def test_a_shortage_is_known_by_whatever_name(error: Exception) -> None:
    assert is_shortage(error)
    outer = OSError("Could not find/load shared object file")
    outer.__context__ = error
    assert is_shortage(outer)
    assert not is_shortage(OSError(errno.ENOSPC, "No space left on device"))
    assert not is_shortage(ValueError("memory of an elephant"))
