"""Real processes: start-up time, Ctrl-C, kill -9 and resume."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import xorec
from tests.support import endings
from tests.support.holding import held_command

pytestmark = pytest.mark.process

XOREC = [sys.executable, "-m", "xorec"]
UPDATE = next(command for command in endings.COMMANDS if command.name == "update")


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; import xorec.cli.main; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    heavy = {"numpy", "numba", "polars", "scipy", "pydantic", "narwhals", "torch"}
    assert not heavy & set(loaded)


def test_a_command_imports_no_other() -> None:
    code = """
import atexit, sys
atexit.register(lambda: print(*sys.modules, file=sys.stderr))
sys.argv = ["xorec", "serve", "--help"]
import xorec.cli.main
xorec.cli.main.main()
"""
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert "Serve MODEL over HTTP" in done.stdout
    loaded = set(done.stderr.split())
    assert "xorec.cli.serve" in loaded
    assert not {"xorec.cli.fit", "xorec.cli.bench", "xorec.cli.data"} & loaded


def fit(ratings: Path, out: Path, *more: str) -> list[str]:
    words = ["fit", ratings, "-o", out, "--model", "bpr", "--epochs", "1200", "-q", *more]
    return [str(word) for word in words]


def start_fit(ratings: Path, out: Path, *more: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*XOREC, *fit(ratings, out, *more)],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
    )  # fmt: skip


def ends(process: subprocess.Popen[str]) -> int:
    process.communicate(timeout=300)
    return process.returncode


def test_kill_9_then_resume_gives_the_same_bytes(ratings: Path, tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole.xorec", tmp_path / "broken.xorec"
    assert ends(start_fit(ratings, whole)) == 0
    checkpoint = Path(f"{broken}.checkpoint")
    killed = held_command(fit(ratings, broken), checkpoint)
    killed.kill()
    assert ends(killed) == -signal.SIGKILL
    assert checkpoint.exists()
    assert not broken.exists()
    assert ends(start_fit(ratings, broken, "--resume")) == 0
    assert broken.read_bytes() == whole.read_bytes()
    assert not checkpoint.exists()


def test_ctrl_c_is_130_says_how_to_go_on_and_leaves_no_model(ratings: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.xorec"
    process = held_command(fit(ratings, out), Path(f"{out}.checkpoint"))
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=120)
    assert process.returncode == 130, errors
    assert "--resume" in errors
    assert "Traceback" not in errors
    assert not out.exists()
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]


@pytest.fixture(scope="module")
def place(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("endings")
    endings.prepare(folder, users=60)
    return folder


@pytest.fixture(scope="module")
def whole_update(place: Path) -> bytes | None:
    return endings.unbroken(place, UPDATE)[1]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
@pytest.mark.parametrize("after", [0.0, 0.15, 0.6])
def test_a_signal_at_any_moment_is_quiet_and_leaves_nothing(
    place: Path, whole_update: bytes | None, number: signal.Signals, after: float
) -> None:
    """A sample of `benchmarks/signals.py`."""
    how, wrong = endings.interrupt(place, UPDATE, number, after, whole_update)
    assert not wrong, how


def test_a_killed_update_leaves_a_whole_file_and_what_it_left_goes(
    place: Path, whole_update: bytes | None
) -> None:
    """A sample of `benchmarks/kills.py`."""
    _, wrong = endings.kill(place, UPDATE, 0.8, whole_update)
    assert not wrong


def test_updates_of_one_file_at_once_are_all_in_it(place: Path, tmp_path: Path) -> None:
    shutil.copy(place / "als.xorec", tmp_path / "m.xorec")
    processes = []
    for number in range(4):
        (tmp_path / f"{number}.csv").write_text(f"user,item\nnew{number},3\nnew{number},5\n")
        words = ["update", "m.xorec", f"{number}.csv", "-q"]
        processes.append(
            subprocess.Popen([*XOREC, *words], cwd=tmp_path, stdout=subprocess.DEVNULL)
        )
    assert [process.wait(timeout=300) for process in processes] == [0] * 4
    users = xorec.Recommender.load(tmp_path / "m.xorec").user_ids
    assert all(f"new{number}" in users for number in range(4))
    assert sorted(os.listdir(tmp_path)) == ["0.csv", "1.csv", "2.csv", "3.csv", "m.xorec"]


def test_a_line_tells_that_kernels_compile(tmp_path: Path) -> None:
    """Once, and not when they are only loaded."""
    (tmp_path / "d.csv").write_text("user,item\n1,2\n1,3\n2,3\n")
    kept = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path / "kept")}
    words = [*XOREC, "data", "info", str(tmp_path / "d.csv"), "--json"]
    told = []
    for _ in range(2):
        done = subprocess.run(words, env=kept, capture_output=True, text=True, check=True)
        told.append(done.stderr.count("compiling kernels"))
    assert told == [1, 0]
