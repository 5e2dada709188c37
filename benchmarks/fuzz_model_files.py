"""Alter model files of every kind in every tensor; open and ask each in a process of its own.

    python benchmarks/fuzz_model_files.py --cases 20000
    NUMBA_BOUNDSCHECK=1 python benchmarks/fuzz_model_files.py --cases 2000

Exits with 1 if a file crashed, hung or raised anything but a XorecError. The tests run a sample.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from itertools import count
from pathlib import Path

from xorec.recommender import storage
from xorec.testing.altered_files import ANSWERED, REFUSED, altered, ask, outcome
from xorec.testing.model_files import write_files


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=7200)
    wanted = parser.parse_args()
    end, done, bad = time.monotonic() + wanted.seconds, Counter[str](), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        files = write_files(folder)
        for path in files:
            ask(path)  # kernels are loaded once, not in every child
        for seed in count():
            for path in files:
                for what, tensors, about in altered(path, seed):
                    if sum(done.values()) >= wanted.cases or time.monotonic() > end:
                        print(f"{sum(done.values()):,} files: {dict(done)}")
                        return int(bad > 0)
                    storage.write(folder / "altered", tensors, about)
                    word, details = outcome(folder / "altered")
                    done[word] += 1
                    if word not in (ANSWERED, REFUSED):
                        bad += 1
                        print(f"{word}: {path.stem}, {what}: {details}", flush=True)
    return 1


if __name__ == "__main__":
    sys.exit(main())
