"""Signals: one thread answers them, whatever the others do."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from xorec.core import interrupts

pytestmark = pytest.mark.process

_BEGIN = """
import threading, os, signal, sys, time
from pathlib import Path
from xorec.core import interrupts
signal.signal(signal.SIGINT, signal.default_int_handler)
interrupts.listen()
from xorec.core.files import replacing, temporary_folder
def press(number):
    os.kill(os.getpid(), number)
"""


def run(code: str, folder: Path, *more: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [*more, sys.executable, "-c", _BEGIN + code],
        cwd=folder, env={**os.environ, "TMPDIR": str(folder)}, capture_output=True, text=True,
        check=False, timeout=300,
    )  # fmt: skip


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_what_is_temporary_goes_and_one_line_says_how_to_go_on(tmp_path: Path, name: str) -> None:
    (tmp_path / "file").write_text("old")
    code = f"""
with (
    interrupts.interrupt_hint(lambda: "Run it again with --resume."),
    replacing(Path("file")) as temporary,
    temporary_folder() as folder,
):
    temporary.write_text("half")
    (folder / "below").mkdir()
    press(signal.{name})
    time.sleep(600)
"""
    done = run(code, tmp_path)
    assert done.returncode == 128 + getattr(signal, name), done.stderr
    assert done.stderr == "interrupted. Run it again with --resume.\n"
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
    assert (tmp_path / "file").read_text() == "old"


@pytest.mark.parametrize(
    "work",
    [
        "sorted(range(10**7), key=lambda n: press(signal.SIGINT) if n == 0 else time.sleep(1))",
        "press(signal.SIGINT); threading.Event().wait()",
        "lock = threading.Lock(); lock.acquire(); press(signal.SIGINT); lock.acquire()",
    ],
    ids=["callback", "waiting", "deadlock"],
)
def test_nothing_keeps_the_process_from_ending(tmp_path: Path, work: str) -> None:
    done = run(work, tmp_path)
    assert (done.returncode, done.stderr) == (130, "interrupted.\n")


@pytest.mark.parametrize(
    ("hint", "said"),
    [
        ("(press(signal.SIGINT), time.sleep(0.1), 'Go on.')[2]", "interrupted. Go on.\n"),
        ("1 / 0", ""),
    ],
)
def test_a_second_press_and_a_hint_that_fails_change_nothing(
    tmp_path: Path, hint: str, said: str
) -> None:
    code = f"with interrupts.interrupt_hint(lambda: {hint}):\n    press(2); time.sleep(600)"
    done = run(code, tmp_path)
    assert (done.returncode, done.stderr if said else "") == (130, said)


def test_a_thread_from_before_does_no_harm(tmp_path: Path) -> None:
    """It lets a signal through: the main thread answers it then."""
    code = """
signal.pthread_sigmask(signal.SIG_UNBLOCK, interrupts.SIGNALS)
threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
signal.pthread_sigmask(signal.SIG_BLOCK, interrupts.SIGNALS)
press(signal.SIGINT)
for _ in range(6000):
    time.sleep(0.1)
"""
    done = run(code, tmp_path)
    assert (done.returncode, done.stderr) == (130, "interrupted.\n")


def test_after_the_work_a_signal_is_the_systems(tmp_path: Path) -> None:
    done = run("interrupts.forget(); press(signal.SIGINT); time.sleep(600)", tmp_path)
    assert (done.returncode, done.stderr) == (-signal.SIGINT, "")


def test_a_signal_that_is_ignored_stays_ignored(tmp_path: Path) -> None:
    """As after nohup."""
    done = run("press(signal.SIGHUP); time.sleep(0.2); print('went on')", tmp_path, "nohup")
    assert done.stdout == "went on\n", done.stderr


@pytest.mark.parametrize(
    ("error", "said"), [(KeyboardInterrupt(), "go on"), (SystemError("mine"), "mine")]
)
def test_the_hint_of_the_library_is_in_the_exception(error: BaseException, said: str) -> None:
    with pytest.raises(type(error), match=said), interrupts.interrupt_hint(lambda: "go on"):
        raise error
