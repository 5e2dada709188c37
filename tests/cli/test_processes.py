"""Real processes: start-up time, Ctrl-C, kill -9 and resume."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

XOREC = [sys.executable, "-m", "xorec"]


def test_help_imports_nothing_heavy() -> None:
    code = "import sys; import xorec.cli.main; print(*sys.modules)"
    loaded = subprocess.check_output([sys.executable, "-c", code], text=True).split()
    heavy = {"numpy", "numba", "polars", "scipy", "pydantic", "narwhals", "torch"}
    assert not heavy & set(loaded)


def start_fit(ratings: Path, out: Path, *more: str) -> subprocess.Popen[str]:
    words = ["fit", ratings, "-o", out, "--model", "bpr", "--epochs", "1200", "-q", *more]
    return subprocess.Popen(
        [*XOREC, *map(str, words)], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def ends(process: subprocess.Popen[str]) -> int:
    process.communicate(timeout=120)
    return process.returncode


def wait_for(path: Path, process: subprocess.Popen[str]) -> None:
    for _ in range(1200):
        if path.exists():
            return
        assert process.poll() is None, process.communicate()
        time.sleep(0.05)
    raise AssertionError(f"{path} did not appear")


def test_kill_9_then_resume_gives_the_same_bytes(ratings: Path, tmp_path: Path) -> None:
    whole, broken = tmp_path / "whole.xorec", tmp_path / "broken.xorec"
    assert ends(start_fit(ratings, whole)) == 0
    checkpoint = Path(f"{broken}.checkpoint")
    killed = start_fit(ratings, broken)
    wait_for(checkpoint, killed)
    time.sleep(0.2)
    killed.kill()
    assert ends(killed) == -signal.SIGKILL
    assert checkpoint.exists()
    assert not broken.exists()
    assert ends(start_fit(ratings, broken, "--resume")) == 0
    assert broken.read_bytes() == whole.read_bytes()
    assert not checkpoint.exists()


def test_ctrl_c_is_130_says_how_to_go_on_and_leaves_no_model(ratings: Path, tmp_path: Path) -> None:
    out = tmp_path / "m.xorec"
    process = start_fit(ratings, out)
    wait_for(Path(f"{out}.checkpoint"), process)
    process.send_signal(signal.SIGINT)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 130, errors
    assert "--resume" in errors
    assert "Traceback" not in errors
    assert not out.exists()
    assert not [name for name in os.listdir(tmp_path) if name.endswith(".tmp")]


@pytest.mark.parametrize("where", ["readonly", "writable"])
def test_kernels_work_where_nothing_can_be_kept(tmp_path: Path, where: str) -> None:
    """A cache directory that cannot be used does no harm."""
    home = tmp_path / "home"
    home.mkdir()
    if where == "readonly":
        home.rmdir()
        home.write_text("a file where a folder should be")
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(home / "cache")}
    code = (
        "import numpy as np; from xorec.core import rng; print(rng.hash_integers(np.arange(2), 0))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
