"""Stamps: which files were verified already, so that opening one again costs nothing.

A stamp is an empty file in a private folder of the user. Its name is a hash of what the system says
of the model file (device, inode, size, time of change and of its inode, which no program can set)
and of the code of the checks: whatever changes, there is no stamp, and the file is verified again.
"""

from __future__ import annotations

import hashlib
import os
import stat
from contextlib import suppress
from pathlib import Path

from xorec.core.paths import user_cache
from xorec.core.source_digest import source_digest
from xorec.recommender.storage import OpenFile

FOLDER = "XOREC_STAMPS"
"""The environment variable: a folder, or "off" for no stamps."""
MOST = 512
"""Stamps that are kept; the oldest go."""
_SETTLED = 2_000_000_000
"""Nanoseconds since the last change before a stamp is made: clocks of file systems are coarse, and
a change right after reading may leave the time as it was."""
_CHECKS = (
    "core/bits.py",
    "core/schema.py",
    "recommender/model_file.py",
    "recommender/storage.py",
    "representations",
    "search/filters.py",
    "search/hamming/mih.py",
    "search/hamming/segment.py",
)
"""Where the checks are, in files and in folders of the package."""


def has_stamp(file: OpenFile) -> bool:
    """Whether this very file was verified by these checks and nothing has happened to it since."""
    folder = _folder()
    if folder is None or not _is_private(folder):
        return False
    with suppress(OSError):
        return stat.S_ISREG(os.lstat(folder / _name(file.status)).st_mode)
    return False


def add_stamp(file: OpenFile) -> None:
    """Note that this file is verified; not where it changed just now, or a moment ago."""
    folder = _folder()
    settled = file.status.st_ctime_ns < file.opened_ns - _SETTLED
    if folder is None or not settled or not file.is_unchanged():
        return
    with suppress(OSError):
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        if not _is_private(folder):
            return
        flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY
        os.close(os.open(folder / _name(file.status), flags, mode=0o600))
        _drop_oldest(folder)


def _folder() -> Path | None:
    """Where stamps are kept, if anywhere: only POSIX systems tell when an inode has changed."""
    chosen = os.environ.get(FOLDER, "")
    if os.name != "posix" or chosen == "off":
        return None
    try:
        return Path(chosen).expanduser() if chosen else user_cache() / "verified"
    except RuntimeError:  # there is no home folder
        return None


def _is_private(folder: Path) -> bool:
    """A folder of this user that no other user may write to or look into."""
    with suppress(OSError):
        found = os.lstat(folder)
        mine = found.st_uid == os.geteuid()
        return mine and stat.S_ISDIR(found.st_mode) and not found.st_mode & 0o077
    return False


def _name(status: os.stat_result) -> str:
    times = (status.st_mtime_ns, status.st_ctime_ns)
    facts = (status.st_dev, status.st_ino, status.st_size, *times, source_digest(_CHECKS))
    return hashlib.blake2b(repr(facts).encode(), digest_size=16).hexdigest()


def _drop_oldest(folder: Path) -> None:
    with os.scandir(folder) as entries:
        stamps = sorted((entry.stat().st_mtime_ns, entry.path) for entry in entries)
    for _, path in stamps[:-MOST]:
        with suppress(FileNotFoundError):
            os.unlink(path)
