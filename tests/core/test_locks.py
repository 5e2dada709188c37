"""One writer at a time."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.support.waiting import PATIENCE
from xorec.core import locks
from xorec.core.errors import XorecError
from xorec.core.locks import locked

HOLD = """
import sys
from xorec.core.locks import locked
with locked(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.read()
"""


def holder(path: Path) -> subprocess.Popen[str]:
    """A process that holds the lock of `path` until it is killed or its input is closed."""
    command = [sys.executable, "-c", HOLD, str(path)]
    process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


@pytest.mark.process
def test_who_waits_in_vain_is_told_for_whom(tmp_path: Path) -> None:
    """Also where a link leads to the file."""
    path, link = tmp_path / "m", tmp_path / "link"
    link.symlink_to(path)
    process = holder(link)
    try:
        with pytest.raises(XorecError, match=rf"process {process.pid} \(since .*m, and 0.1 s"):
            take(path, wait=0.1)
    finally:
        process.kill()
        process.communicate()
    take(path, wait=0)  # the lock of a killed process is none, and its file goes with the next
    assert os.listdir(tmp_path) == ["link"]


def take(path: Path, wait: float) -> None:
    with locked(path, wait):
        pass


@pytest.mark.process
def test_who_waits_long_is_told_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path, notes, tries = tmp_path / "m", list[str](), list[int]()
    process, take = holder(path), locks._take

    def tried(lock: Path, release: ExitStack) -> bool:
        """Ten times more after the note, the lock is let go."""
        tries.append(len(notes))
        if sum(tries) == 10 and process.stdin is not None:
            process.stdin.close()
        return take(lock, release)

    monkeypatch.setattr(locks, "_take", tried)
    with locked(path, PATIENCE, notes.append):
        pass
    process.wait(PATIENCE)
    assert process.stdout is not None
    process.stdout.close()
    assert len(notes) == 1
    assert f"process {process.pid}" in notes[0]


def test_threads_take_turns_and_one_may_take_it_twice(tmp_path: Path) -> None:
    inside, seen = set[int](), set[int]()

    def work(number: int) -> None:
        with locked(tmp_path / "m"), locked(tmp_path / "m"):
            inside.add(number)
            seen.add(len(inside))
            time.sleep(0.001)
            inside.remove(number)

    with ThreadPoolExecutor(4) as threads:
        list(threads.map(work, range(20)))
    assert seen == {1}
    assert os.listdir(tmp_path) == []


def test_a_folder_that_cannot_be_written_to_is_said_so(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(XorecError, match=r"cannot write .*file/m"):
        take(tmp_path / "file" / "m", wait=0)


def test_an_error_inside_lets_go_and_passes(tmp_path: Path) -> None:
    """A lock file of others is no trouble."""
    (tmp_path / ".m.lock").write_bytes(b"\xff\xff not JSON")
    with pytest.raises(OSError, match="mine"), locked(tmp_path / "m"):
        raise OSError("mine")
    take(tmp_path / "m", wait=0)
    assert os.listdir(tmp_path) == []


def test_a_lock_on_a_file_that_was_removed_is_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Who waited has opened the file before its holder removed it; the next one makes a new one."""
    lock = tmp_path / ".m.xorec.lock"
    lock.touch()
    opened, real_open = [os.open(lock, os.O_RDWR)], os.open
    lock.unlink()
    monkeypatch.setattr(os, "open", lambda *how: opened.pop() if opened else real_open(*how))
    with ExitStack() as release:
        assert not locks._take(lock, release)
        assert locks._take(lock, release)
