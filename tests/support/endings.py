"""Commands that are ended from outside, at any moment: what do they say, and what do they leave?

`benchmarks/signals.py` and `benchmarks/kills.py` do it hundreds of times; the tests a few.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import xorec
from xorec.testing.data import planted

PACKAGE = Path(xorec.__file__).parent
XOREC = [sys.executable, "-m", "xorec"]
OUT = "out"
"""The folder that a command writes to, below the one that it runs in."""
FINISHED, ENDED, PYTHON = "finished", "ended", "python's start"


@dataclass(frozen=True)
class Command:
    """Words after `xorec`, run in a folder that has what `prepare` put there.

    file: what it writes below OUT, given that an older one is there; None for a folder of reports.
    """

    words: str
    file: str | None

    @property
    def name(self) -> str:
        return self.words.partition(" ")[0]


COMMANDS = (
    Command("fit ../ratings.csv --model bpr --epochs 9 -o out/m.xorec -q", "m.xorec"),
    Command("recommend ../als.xorec --all-users -k 5 -o out/lists.parquet -q", "lists.parquet"),
    Command("update out/als.xorec ../new.csv -q", "als.xorec"),
    Command(
        "tune ../ratings.csv --model bpr --epochs 3 --trials 3 --study out/study -o out/s.toml -q",
        "s.toml",
    ),
    Command(
        "reproduce rq1 --quick --hashing dcf --bits 8 --data ../ratings.csv --out out -q", None
    ),
)


def prepare(folder: Path, users: int = 300) -> None:
    """Interactions, new ones, and a model that can be updated."""
    data = planted(users, 120, per_user=10)
    rows = zip(data.user_rows.tolist(), data.indices.tolist(), strict=True)
    lines = ["user,item", *(f"u{user},{item}" for user, item in rows)]
    (folder / "ratings.csv").write_text("\n".join(lines) + "\n")
    (folder / "new.csv").write_text("user,item\nsomebody,3\nsomebody,5\nu1,7\n")
    words = "fit ratings.csv --model als --epochs 2 --dimensions 8 -o als.xorec -q"
    subprocess.run([*XOREC, *words.split()], cwd=folder, check=True, stdout=subprocess.DEVNULL)


@contextmanager
def place(folder: Path, command: Command) -> Iterator[Path]:
    """A new folder to run a command in, with an older file where it will write."""
    here = folder / "here"
    (here / OUT).mkdir(parents=True)
    (here / "tmp").mkdir()
    if command.file is not None:
        shutil.copy(folder / "als.xorec", here / OUT / command.file)
    try:
        yield here
    finally:
        shutil.rmtree(here)


def start(command: Command, here: Path, *more: str) -> subprocess.Popen[str]:
    """The command in a process of its own, whose temporary files go to `tmp`."""
    environment = {**os.environ, "TMPDIR": str(here / "tmp")}
    if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # as in the background of a shell
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return subprocess.Popen(
        [*XOREC, *command.words.split(), *more],
        cwd=here, env=environment, text=True,
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
    )  # fmt: skip


def unbroken(folder: Path, command: Command) -> tuple[float, bytes | None]:
    """(seconds that the command takes, what it writes)."""
    with place(folder, command) as here:
        began = time.monotonic()
        process = start(command, here)
        _, said = process.communicate()
        assert process.returncode == 0, said
        return time.monotonic() - began, written(here, command)


def written(here: Path, command: Command) -> bytes | None:
    """What the command's file has now."""
    return (here / OUT / command.file).read_bytes() if command.file else None


def leftovers(here: Path) -> list[str]:
    """Temporary files and locks that still lie about."""
    hidden = [path for path in (here / OUT).rglob(".*") if path.suffix in (".tmp", ".lock")]
    return sorted(str(path.relative_to(here)) for path in [*hidden, *(here / "tmp").iterdir()])


def interrupt(
    folder: Path, command: Command, number: signal.Signals, after: float, whole: bytes | None
) -> tuple[str, list[str]]:
    """Run a command and signal it `after` seconds: (how it ended, what is wrong).

    whole: what it writes when nobody interrupts. Python itself prints a traceback where it is
    interrupted before the first line of xorec: that is told apart.
    """
    with place(folder, command) as here:
        process = start(command, here)
        time.sleep(after)
        process.send_signal(number)
        _, said = process.communicate(timeout=120)
        wrong = [f"left {name}" for name in leftovers(here)]
        old = (folder / "als.xorec").read_bytes() if command.file else None
        if written(here, command) not in (old, whole):
            wrong.append(f"{command.file} is neither the old file nor the new one")
        if process.returncode == 0:
            return FINISHED, wrong
        if "Traceback" in said and str(PACKAGE) not in said and not wrong:
            return PYTHON, []
        if process.returncode not in (-number, 128 + number):
            wrong.append(f"exit code {process.returncode}")
        lines = said.splitlines()
        if len(lines) > 1 or not all(line.startswith("interrupted.") for line in lines):
            wrong.append(f"said {said!r}")
        return ENDED, wrong


def kill(
    folder: Path,
    command: Command,
    after: float,
    whole: bytes | None,
    *,
    from_checkpoint: bool = False,
) -> tuple[str, list[str]]:
    """kill -9 a command `after` seconds and run it again: (what the kill left, what is wrong).

    from_checkpoint: count the seconds from its first checkpoint on, so that there is one.
    """
    old = (folder / "als.xorec").read_bytes()
    with place(folder, command) as here:
        process = start(command, here)
        while from_checkpoint and process.poll() is None and not _checkpoints(here):
            time.sleep(0.005)
        time.sleep(after)
        process.kill()
        process.communicate()
        now, found = written(here, command), leftovers(here)
        wrong = [] if now in (old, whole) else ["neither the old file nor the new one"]
        checkpoint = _checkpoints(here)
        more = ["--resume"] if command.name == "fit" else []
        if now == old or more:
            again = start(command, here, *more)
            _, said = again.communicate(timeout=300)
            if again.returncode or (said and "resumed" not in said):
                wrong.append(f"the second run ended with {again.returncode}: {said!r}")
            if written(here, command) != whole:
                wrong.append("the second run wrote other bytes")
            wrong += [f"the second run left {name}" for name in leftovers(here)]
            if any(path.name != command.file for path in (here / OUT).iterdir()):
                wrong.append(f"in the end there is {os.listdir(here / OUT)}")
    kinds = ["the new file" if now == whole else "", "a checkpoint" if checkpoint else ""]
    kinds.append("a temporary file or a lock" if found else "")
    return ", ".join(filter(None, kinds)) or "nothing", wrong


def _checkpoints(here: Path) -> bool:
    return any((here / OUT).glob("*.checkpoint*"))
