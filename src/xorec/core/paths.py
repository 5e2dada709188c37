"""Paths from outside, checked before they are opened; the cache folder.

A pipe without a writer, a device or a socket would block a reader for ever; for a loop of links, or
a file taken for a folder, the system's error says too little.
"""

from __future__ import annotations

import errno
import os
import stat
import sys
import time
from difflib import get_close_matches
from itertools import islice
from pathlib import Path
from typing import BinaryIO

from xorec.core.errors import XorecError
from xorec.core.printable import LONGEST_VALUE, quoted


def user_cache() -> Path:
    """xorec's folder among the user's caches; it may not exist. RuntimeError: no home folder."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        chosen = Path(os.environ.get("XDG_CACHE_HOME", ""))
        base = chosen if chosen.is_absolute() else _home() / ".cache"
    return base / "xorec"


def _home() -> Path:
    """The user's home; that of the system's user database where HOME is empty."""
    if os.environ.get("HOME", "-"):
        return Path.home()
    import pwd

    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        raise RuntimeError("this user has no home folder") from None


MOST_NAMES = 1000
"""Names of a folder that a missing file's name is compared with, at most."""
WAIT_FOR_WRITER = 5.0
"""Seconds to wait for the writer of a named pipe."""
_KINDS = (
    (stat.S_ISDIR, "a folder"),
    (stat.S_ISFIFO, "a pipe"),
    (stat.S_ISSOCK, "a socket"),
    (stat.S_ISCHR, "a device or a terminal"),
    (stat.S_ISBLK, "a device"),
)
_REASONS = {
    errno.ELOOP: "its links lead in a circle",
    errno.ENOTDIR: "a part of its path is a file, not a folder",
    errno.ENAMETOOLONG: "the name is too long",
}


def reason(error: OSError | ValueError) -> str:
    """Why a path cannot be used, in words."""
    if isinstance(error, OSError):
        return _REASONS.get(error.errno or 0) or error.strerror or str(error)
    return "the name has a zero byte"


def what_is_at(path: Path, error: type[XorecError] = XorecError) -> str:
    """ "a file", "a folder", "a pipe", ...; "" if there is nothing."""
    try:
        return _kind(path.stat().st_mode)
    except FileNotFoundError:
        return ""
    except (OSError, ValueError) as problem:
        raise error(f"cannot read {path}: {reason(problem)}.") from None


def require_file(path: Path, error: type[XorecError], use: str) -> None:
    """Refuse what exists and is no plain file; use: what it was meant for, as "model file"."""
    found = what_is_at(path, error)
    if found not in ("", "a file"):
        raise error(f"{path} is {found}: give a {use}, which is read more than once.")


def require_writable(path: Path) -> None:
    """Refuse to replace a device, a pipe or a socket by a file."""
    try:
        found = _kind(path.stat().st_mode)
    except (OSError, ValueError):  # writing will say why, or make it
        return
    if found not in ("a file", "a folder"):
        raise XorecError(f"cannot write {path}: it is {found}; give the name of a file.")


def near_file(path: Path) -> Path | None:
    """A file beside a missing `path` with a similar name, or None.

    Compared without case and suffix, with the first files of the folder that have its suffix.
    """
    ending = path.suffix.lower()
    try:
        with os.scandir(path.parent) as found:
            names = [one.name for one in islice(found, MOST_NAMES)]
    except (OSError, ValueError):
        return None
    names = [name for name in names if name.lower().endswith(ending) and name[0] != "."]
    stems = {name: _stem(name) for name in sorted(names)}
    near = get_close_matches(_stem(path.name), stems.values(), n=1, cutoff=0.75)
    return next((path.parent / name for name, stem in stems.items() if [stem] == near), None)


def did_you_mean_file(path: Path) -> str:
    """ " Did you mean 'shop.csv'?", with a blank before it, or "": see `near_file`."""
    near = near_file(path)
    return "" if near is None else f" Did you mean {quoted(str(near))}?"


def _stem(name: str) -> str:
    return name[:LONGEST_VALUE].partition(".")[0].lower()


def open_once(path: Path, error: type[XorecError]) -> tuple[BinaryIO, bool]:
    """Open a file or a pipe for reading, without waiting: (the open file, whether it is a pipe).

    Anything else is refused; the check is of the opened file itself.
    """
    try:
        handle = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except FileNotFoundError:
        raise error(f"there is no file {path}: check the path.{did_you_mean_file(path)}") from None
    except (OSError, ValueError) as problem:
        found = what_is_at(path, error)
        if found not in ("a file", ""):
            raise error(f"{path} is {found}: give a file or a pipe.") from None
        raise error(f"cannot read {path}: {reason(problem)}.") from None
    found = _kind(os.fstat(handle).st_mode)
    if found not in ("a file", "a pipe"):
        os.close(handle)
        raise error(f"{path} is {found}: give a file or a pipe.")
    if found == "a file":
        return os.fdopen(handle, "rb"), False
    try:
        return _pipe(handle, path, error), True
    except BaseException:
        os.close(handle)
        raise


def _pipe(handle: int, path: Path, error: type[XorecError]) -> BinaryIO:
    """The pipe as a blocking file, once it has a writer."""
    end = time.monotonic() + WAIT_FOR_WRITER
    while True:
        try:
            first = os.read(handle, 1 << 16)
        except BlockingIOError:  # a writer holds it open and has written nothing yet
            first = b""
            break
        if first:
            break
        if time.monotonic() > end:
            raise error(f"nobody writes to the pipe {path}: start the writer first.")
        time.sleep(0.02)
    os.set_blocking(handle, True)
    return _Pipe(handle, first)  # type: ignore[return-value]


class _Pipe:
    """A file of the bytes that were already read, then of the rest."""

    def __init__(self, handle: int, first: bytes) -> None:
        self._file, self._first = os.fdopen(handle, "rb", buffering=0), first

    def read(self, size: int) -> bytes:
        first, self._first = self._first, b""
        return first or self._file.read(size) or b""

    def close(self) -> None:
        self._file.close()


def _kind(mode: int) -> str:
    return next((name for test, name in _KINDS if test(mode)), "a file")
