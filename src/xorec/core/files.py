"""Files that are never half-written: a temporary name in the same folder, then a rename.

A temporary file that `kill -9` left is removed when the same file is next written: a writer holds a
lock on its own (flock, which ends with the process), so an unlocked one is left over.
"""

from __future__ import annotations

import errno
import glob
import os
import re
import secrets
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xorec.core import interrupts
from xorec.core.errors import XorecError
from xorec.core.paths import require_writable

if TYPE_CHECKING:
    import polars as pl

if sys.platform != "win32":
    import fcntl


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Write to the temporary path that this yields; it takes the name `path` only if all went well.

    On any failure, Ctrl-C included, the temporary file is removed and an older file at `path`
    stays. A link stays a link: its target is replaced. An older file keeps its rights; a new one
    has those that the umask leaves.

    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with replacing(Path(folder) / "a.txt") as temporary:
    ...         _ = temporary.write_text("all of it")
    ...     (Path(folder) / "a.txt").read_text()
    'all of it'
    """
    require_writable(path)
    try:
        target = real_file(path)
        target.parent.mkdir(parents=True, exist_ok=True)
        _remove_stale(target)
        with _temporary_beside(target) as temporary:
            rights = stat.S_IMODE((target if target.exists() else temporary).stat().st_mode)
            yield temporary
            os.chmod(temporary, rights)  # a library may have put a private file in its place
            put_in_place(temporary, target)
    except OSError as error:
        raise cannot_write(path, error) from None


def write_text(path: Path, text: str) -> None:
    """Write a text file, whole or not at all."""
    with replacing(path) as temporary:
        temporary.write_text(text, encoding="utf-8")


def real_file(path: Path) -> Path:
    """Where a file is or will be, links followed; an OSError if something else is there."""
    target = Path(os.path.realpath(path))
    with suppress(FileNotFoundError):
        mode = target.lstat().st_mode
        if stat.S_ISLNK(mode):
            raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
        if stat.S_ISDIR(mode):
            raise OSError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(mode):
            raise OSError(errno.EINVAL, "It is not a file")
    return target


@contextmanager
def _new_folder(folder: Path, mode: int = 0o777) -> Iterator[Path]:
    """A new folder, removed at the end if it still has this name, Ctrl-C included."""
    with interrupts.removing(folder):
        try:
            with interrupts.making:
                folder.mkdir(mode)
            yield folder
        finally:
            shutil.rmtree(folder, ignore_errors=True)


@contextmanager
def temporary_folder() -> Iterator[Path]:
    """A private folder among the system's temporary files, removed at the end."""
    with _new_folder(
        Path(tempfile.gettempdir()) / f"xorec-{secrets.token_hex(8)}", 0o700
    ) as folder:
        yield folder


@contextmanager
def _filling(path: Path, put: Callable[[Path, Path], None]) -> Iterator[Path]:
    """A temporary folder, which `put` gives the name `path` if all went well."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with _new_folder(path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")) as temporary:
            yield temporary
            for file in temporary.iterdir():
                _flush(file)
            put(temporary, path)
    except OSError as error:
        raise cannot_write(path, error) from None


@contextmanager
def new_folder(path: Path) -> Iterator[Path]:
    """Fill the temporary folder that this yields; it takes the name `path` only if all went well.

    A folder that is not empty is refused.
    """
    if path.exists() and not (path.is_dir() and not any(path.iterdir())):
        raise XorecError(f"{path} exists and is not an empty folder: choose another name.")
    with _filling(path, _rename) as temporary:
        yield temporary


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Fill the temporary folder that this yields; it takes the name `path` only if all went well.

    An older folder at `path` stays whole until then. On Linux the two change places in one step,
    elsewhere the old one moves away just before. The caller holds a lock: temporary folders that
    killed writers left are removed.
    """
    for left in path.parent.glob(f".{glob.escape(path.name)}.????????.tmp"):
        shutil.rmtree(left, ignore_errors=True)
    with _filling(path, _exchange) as temporary:
        yield temporary


def _exchange(one: Path, other: Path) -> None:
    """Two folders beside each other change their names; the other one may not exist."""
    if not other.exists():
        _rename(one, other)
        return
    if sys.platform == "linux":
        import ctypes

        here, exchange = -100, 2  # AT_FDCWD, RENAME_EXCHANGE
        call = getattr(ctypes.CDLL(None, use_errno=True), "renameat2", None)
        names = os.fsencode(one), os.fsencode(other)
        if call is not None and call(here, names[0], here, names[1], exchange) == 0:
            flush_folder(other.parent)
            return
    away = one.with_name(f".{other.name}.{secrets.token_hex(4)}.tmp")
    with interrupts.removing(away):
        os.replace(other, away)
        _rename(one, other)
        shutil.rmtree(away, ignore_errors=True)


def save_tensors(
    path: Path, tensors: Mapping[str, npt.NDArray[Any]], metadata: dict[str, str]
) -> None:
    """Write a safetensors file, whole or not at all. Equal input gives equal bytes as long as
    `metadata` has one key: safetensors keeps no order among several."""
    from safetensors import SafetensorError
    from safetensors.numpy import save_file

    arrays = {name: np.ascontiguousarray(tensors[name]) for name in sorted(tensors)}
    with replacing(path) as temporary, system_errors(SafetensorError):
        save_file(arrays, temporary, metadata=metadata)


@contextmanager
def system_errors(*kinds: type[Exception]) -> Iterator[None]:
    """A compiled library's error that quotes an error of the system is raised as an OSError.

    >>> with system_errors(ValueError):
    ...     raise ValueError("underlying IO error: No space left on device (os error 28)")
    Traceback (most recent call last):
        ...
    OSError: [Errno 28] No space left on device
    """
    try:
        yield
    except kinds as error:
        code = re.search(r"os error (\d+)", str(error))
        if code is None:
            raise
        raise OSError(int(code[1]), os.strerror(int(code[1]))) from None


@contextmanager
def _temporary_beside(path: Path) -> Iterator[Path]:
    """An empty, locked file with a name of its own; removed at the end if it is still there."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    handle = -1
    with interrupts.removing(temporary):
        try:
            while handle < 0 or not os.fstat(handle).st_nlink:  # taken for a stale one: once more
                with interrupts.making:  # rights: those that the umask leaves, as of any file
                    handle = os.open(temporary, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o666)
                lock(handle, wait=True)
            yield temporary
        finally:
            with suppress(OSError):
                temporary.unlink()
            if handle >= 0:
                os.close(handle)


def _remove_stale(path: Path) -> None:
    """Remove what killed writers of `path` have left."""
    for left in path.parent.glob(f".{glob.escape(path.name)}.????????.tmp"):
        with suppress(OSError):
            handle = os.open(left, os.O_RDWR)
            try:
                if lock(handle):
                    left.unlink()
            finally:
                os.close(handle)


def lock(handle: int, *, wait: bool = False) -> bool | None:
    """Whether this handle has the file for itself now (flock); None where there are no locks."""
    if sys.platform == "win32":
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:  # a file system without locks
        return None
    return True


def put_in_place(temporary: Path, path: Path) -> None:
    """Give a finished file its name. After a power cut the old file or the new one is there, whole:
    bytes are on the disk before the rename, and the rename before this returns."""
    _flush(temporary)
    _rename(temporary, path)


def _flush(path: Path) -> None:
    with path.open("rb") as file:
        os.fsync(file.fileno())


def _rename(temporary: Path, path: Path) -> None:
    os.replace(temporary, path)
    if sys.platform != "win32":
        flush_folder(path.parent)


def flush_folder(folder: Path) -> None:
    """Names in a folder are on the disk when this returns, if its file system can promise that."""
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    except OSError as error:
        if error.errno not in (errno.EINVAL, errno.ENOTSUP):  # a file system that cannot
            raise
    finally:
        os.close(handle)


def cannot_write(path: Path, error: OSError) -> XorecError:
    """The error in words that name the path and the way out."""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return XorecError(f"no space left on the disk of {path}: free some and run again.")
    reason = error.strerror or error
    return XorecError(f"cannot write {path}: {reason}. Choose a place that you may write to.")


def write_frames(
    frames: Iterator[pl.DataFrame], schema: Any, path: Path, *, csv: bool = False
) -> None:
    """Write frames of one schema to a Parquet file (or CSV), as they come.

    Errors of `frames` are raised as they are, errors of the system as OSError.
    """
    from polars.exceptions import PolarsError
    from polars.io.plugins import register_io_source

    ours: list[BaseException] = []

    def source() -> Iterator[pl.DataFrame]:
        try:
            yield from frames
        except BaseException as error:  # polars would tell of it in its own words
            ours.append(error)
            raise

    with system_errors(PolarsError, OSError):
        lazy = register_io_source(lambda *_: source(), schema=schema, is_pure=False)
        try:
            (lazy.sink_csv if csv else lazy.sink_parquet)(path, maintain_order=True)
        except Exception as error:
            raise (ours or [error])[0] from None
