"""What a process prints that compiles its kernels, and one that loads them from the disk."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

_PRINT = """
import hashlib
import numpy as np

def print_digest(*arrays):
    parts = [np.ascontiguousarray(array).tobytes() for array in arrays]
    print(hashlib.sha256(b"".join(parts)).hexdigest())
"""


def compiled_and_loaded(script: str, folder: Path) -> tuple[str, str]:
    """The output of `script`, run twice in processes of their own; kernels are kept in `folder`.

    `folder` must be empty. The script has `print_digest(*arrays)`.
    """
    assert not any(folder.iterdir())
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(folder)}
    command = [sys.executable, "-c", _PRINT + script]
    first, second = (
        subprocess.run(command, env=environment, check=True, capture_output=True, text=True).stdout
        for _ in range(2)
    )
    assert first
    return first, second
