"""Writes, flushes and renames that fail at the n-th call: what becomes of the files?

`check_writer` lets everything fail, once at every place and in every way: each file must be the old
one or the new one, whole; nothing else may lie about; the error must name a file; and the next run
must succeed. `file_size_limit` makes real writes fail, those of compiled libraries too.
"""

from __future__ import annotations

import builtins
import errno
import io
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from unittest import mock

from xorec.core.errors import XorecError

CALLS = ("write", "open", "fsync", "replace", "unlink", "mkdir")
"""What can fail: a write to a file that Python opened, and these functions of `os`."""
FAULTS: tuple[BaseException, ...] = (
    OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)),
    OSError(errno.EIO, os.strerror(errno.EIO)),
    PermissionError(errno.EACCES, os.strerror(errno.EACCES)),
    KeyboardInterrupt(),
    MemoryError(),
)
OLD = b"what was there before"


@dataclass
class Watch:
    """What happened: whether the fault came, and the calls in order, each with a file's inode."""

    fired: bool = False
    calls: list[tuple[str, int]] = field(default_factory=list)


@contextmanager
def failing(call: str = "", at: int = 0, fault: BaseException | None = None) -> Iterator[Watch]:
    """The `at`-th `call` from now on (the first is 1) raises `fault`; all calls are counted.

    >>> with failing("mkdir", 1, OSError("bad disk")) as watch:
    ...     os.mkdir("no/matter/where")
    Traceback (most recent call last):
        ...
    OSError: bad disk
    >>> watch.fired
    True
    """
    watch, seen = Watch(), count(1)

    def meet(name: str, inode: int) -> None:
        if name == call and next(seen) == at and fault is not None:
            watch.fired = True
            raise fault
        watch.calls.append((name, inode))

    real_open = io.open
    calls: dict[str, Any] = {name: _watched(name, meet) for name in CALLS[1:]}
    with mock.patch.multiple(os, **calls):
        opened = _watched_open(real_open, meet)
        with mock.patch.object(io, "open", opened), mock.patch.object(builtins, "open", opened):
            yield watch


def _watched(name: str, meet: Callable[[str, int], None]) -> Callable[..., Any]:
    real = getattr(os, name)

    def call(what: Any, *more: Any, **options: Any) -> Any:
        inode = -1
        if name in ("fsync", "replace"):
            inode = os.stat(what).st_ino
        meet(name, inode)
        if name != "fsync":  # a test has no power cut, and a busy disk takes its time
            return real(what, *more, **options)
        return None

    return call


def _watched_open(real: Any, meet: Callable[[str, int], None]) -> Callable[..., Any]:
    """open(), but whatever is written passes `meet`."""

    class File(io.FileIO):
        def write(self, data: Any) -> int:
            meet("write", self.fileno())
            return super().write(data)

    def opened(file: Any, mode: str = "r", buffering: int = -1, *more: Any, **options: Any) -> Any:
        if not set(mode) & set("wax+"):
            return real(file, mode, buffering, *more, **options)
        raw = File(file, mode.replace("b", "").replace("t", ""))
        if buffering == 0:
            return raw
        buffered = io.BufferedRandom(raw) if "+" in mode else io.BufferedWriter(raw)
        return buffered if "b" in mode else io.TextIOWrapper(buffered, *more, **options)

    return opened


def check_writer(write: Callable[[], object], folder: Path, *, anew: bool = False) -> int:
    """Let each call of `write` fail in each way, and see to what is then in `folder`.

    write: writes its files to `folder`, the same bytes each time. anew: it does so only where they
    are not there yet. Returns the number of faults that came.
    """
    write()
    new = contents(folder)
    came = 0
    for call in CALLS:
        for fault in FAULTS:
            for at in count(1):
                _lay_out(folder, new, anew)
                with failing(call, at, fault) as watch:
                    said = _outcome(write)
                if not watch.fired:
                    break
                came += 1
                where = f"{call} {at}: {fault!r}"
                _check_outcome(said, fault, folder, call, where)
                left = {name: text for name, text in contents(folder).items() if name not in new}
                allowed = 1 if call == "unlink" else 0  # what cannot be removed is still there
                assert len(left) <= allowed, (where, list(left))
                _check_contents(folder, new, anew, where)
    _lay_out(folder, new, anew)
    write()
    assert contents(folder) == new, "a run after all the faults"
    return came


def contents(folder: Path) -> dict[str, bytes]:
    """Every file below a folder."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return {str(path.relative_to(folder)): path.read_bytes() for path in paths}


def _lay_out(folder: Path, new: dict[str, bytes], anew: bool) -> None:
    for name in new:
        if anew:
            (folder / name).unlink(missing_ok=True)
        else:
            (folder / name).write_bytes(OLD)


def _outcome(write: Callable[[], object]) -> BaseException | None:
    try:
        write()
    except BaseException as error:  # what we look for
        return error
    return None


def _check_outcome(
    said: BaseException | None, fault: BaseException, folder: Path, call: str, where: str
) -> None:
    if isinstance(fault, OSError):
        if said is None:
            assert call in ("unlink", "mkdir"), where  # a folder that is there, a file that goes
            return
        assert isinstance(said, XorecError), (where, said)
        assert folder.name in str(said), (where, said)
    else:
        assert isinstance(said, type(fault)), (where, said)


def _check_contents(folder: Path, new: dict[str, bytes], anew: bool, where: str) -> None:
    there = contents(folder)
    for name in new:
        whole = (new[name], None if anew else OLD)
        assert there.get(name) in whole, f"{where}: {name} is neither the old nor the new file"


@contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """No file of this process may grow beyond `size` bytes: a real error, in any library."""
    import resource

    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)


def check_sizes(write: Callable[[], object], folder: Path, *, anew: bool = False) -> None:
    """Let the disk be full after any number of bytes (a sample): old files stay, no rubbish."""
    write()
    new = contents(folder)
    largest = max(map(len, new.values()))
    for size in sorted({0, 1, largest // 3, largest - 1}):
        _lay_out(folder, new, anew)
        with file_size_limit(size):
            said = _outcome(write)
        assert isinstance(said, XorecError), (size, said)
        assert folder.name in str(said)
        _check_contents(folder, new, anew, f"{size} bytes")
        assert set(contents(folder)) <= set(new), size
    _lay_out(folder, new, anew)
    write()
    assert contents(folder) == new
