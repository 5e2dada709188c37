"""Ctrl-C is remembered, whatever becomes of the exception."""

from __future__ import annotations

import signal
import subprocess
import sys

import pytest

from xorec.core import interrupts
from xorec.core.progress import SILENT


@pytest.fixture
def _pressed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(interrupts, "_pressed", True)


@pytest.mark.usefixtures("_pressed")
def test_a_bar_stops_at_its_next_step() -> None:
    with SILENT.task("work", 3) as task, pytest.raises(KeyboardInterrupt):
        task.advance()


@pytest.mark.usefixtures("_pressed")
def test_an_error_that_follows_the_press_is_the_interrupt() -> None:
    with (
        pytest.raises(KeyboardInterrupt, match="go on"),
        interrupts.interrupt_hint(lambda: "go on"),
    ):
        raise SystemError("returned a result with an exception set")


def test_other_errors_pass() -> None:
    with pytest.raises(SystemError, match="mine"), interrupts.interrupt_hint(lambda: "go on"):
        raise SystemError("mine")


@pytest.mark.parametrize("ignored", [True, False])
def test_who_was_told_to_ignore_the_press_goes_on_ignoring_it(ignored: bool) -> None:
    """As under nohup, or in the background of a script."""
    before = signal.getsignal(signal.SIGINT)
    try:
        signal.signal(signal.SIGINT, signal.SIG_IGN if ignored else signal.default_int_handler)
        interrupts.listen()
        assert (signal.getsignal(signal.SIGINT) is signal.SIG_IGN) is ignored
        assert (signal.getsignal(signal.SIGINT) is interrupts._press) is not ignored
    finally:
        signal.signal(signal.SIGINT, before)


def test_a_press_that_a_finaliser_swallows_still_ends_the_command() -> None:
    code = """
import os, signal
from xorec.core import interrupts
from xorec.cli import main as cli
from xorec.core.progress import SILENT

class Swallows:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGINT)

def work():
    Swallows()
    with SILENT.task("work") as task:
        task.advance()
    print("went on")

cli.app.command("work")(work)
import sys
sys.argv = ["xorec", "work"]
signal.signal(signal.SIGINT, signal.default_int_handler)
cli.main()
"""
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.returncode == 128 + signal.SIGINT, done.stderr
    assert "went on" not in done.stdout
