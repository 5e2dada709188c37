"""The jobs of `xorec doctor --compile`."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from xorec.core.errors import OptionError
from xorec.core.options import RunOptions
from xorec.lab import kernel_jobs
from xorec.lab.kernel_jobs import JOBS, compile_kernels, run_job

_RUN = "from xorec.lab.kernel_jobs import run_job; print(run_job('item-knn').functions)"


@pytest.mark.process
def test_what_a_job_has_compiled_the_next_process_loads(tmp_path: Path) -> None:
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    first, second = (
        int(subprocess.check_output([sys.executable, "-c", _RUN], env=environment))
        for _ in range(2)
    )
    assert first > 0
    assert second == 0


@pytest.mark.exhaustive
@pytest.mark.parametrize("name", JOBS)
def test_a_job_runs(name: str) -> None:
    assert run_job(name).job == name


def test_without_a_folder_there_is_nothing_to_compile_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kernel_jobs, "kernels_are_kept", lambda: False)
    with pytest.raises(OptionError, match="NUMBA_CACHE_DIR"):
        next(compile_kernels(RunOptions(threads=1)))
