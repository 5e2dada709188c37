"""Files that are never half-written: a temporary name beside the target, then a rename."""

from __future__ import annotations

import errno
import os
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from xorec.errors import XorecError


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Write to the temporary path that this yields; it takes the name `path` only if all went well.

    On any failure, Ctrl-C included, the temporary file goes and an older file at `path` stays.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".tmp", dir=path.parent)
        os.close(handle)
    except OSError as error:
        raise _cannot_write(path, error) from None
    temporary = Path(name)
    try:
        yield temporary
        _flush(temporary)
        temporary.chmod(0o666 & ~_umask())
        os.replace(temporary, path)
    except OSError as error:
        raise _cannot_write(path, error) from None
    finally:
        with suppress(FileNotFoundError):
            temporary.unlink()


def _flush(path: Path) -> None:
    """Have the bytes on the disk before the rename, so that a power cut leaves old or new."""
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def _cannot_write(path: Path, error: OSError) -> XorecError:
    if error.errno == errno.ENOSPC:
        return XorecError(f"no space left on the disk of {path}: free some and run again.")
    reason = error.strerror or error
    return XorecError(f"cannot write {path}: {reason}. Choose a place that you may write to.")
