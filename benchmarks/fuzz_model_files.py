"""Alter model files of every kind in every tensor, the metadata and the header; open and ask each.

    python benchmarks/fuzz_model_files.py --cases 20000
    NUMBA_BOUNDSCHECK=1 python benchmarks/fuzz_model_files.py --every 7

Each in a process of its own. Exits with 1 if
a file crashed, hung or raised anything but a XorecError. The tests run a sample.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from itertools import count
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # for tests.support
from tests.support.altered_files import ANSWERED, REFUSED, altered, ask, outcome
from tests.support.model_files import write_files


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--every", type=int, default=1, help="take one of so many alterations")
    parser.add_argument("--first", type=int, default=0, help="from this one on: to run several")
    parser.add_argument("--seconds", type=float, default=7200)
    wanted = parser.parse_args()
    end, done, number = time.monotonic() + wanted.seconds, Counter[str](), 0
    memory = Path("/dev/shm")  # every file is flushed: memory does that at once
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() else None) as name:
        folder = Path(name)
        files = write_files(folder)
        for path in files:
            ask(path)  # kernels are loaded once, not in every child
        begin = time.monotonic()
        for seed in count():
            for path in files:
                for what, write in altered(path, seed):
                    number += 1
                    if (number - 1 - wanted.first) % wanted.every:
                        continue
                    if done.total() >= wanted.cases or time.monotonic() > end:
                        return _report(done, time.monotonic() - begin)
                    write(folder / "altered")
                    word, details = outcome(folder / "altered")
                    done[word] += 1
                    if word not in (ANSWERED, REFUSED):
                        print(f"{word}: {path.stem}, {what}: {details}", flush=True)
                    if done.total() % 1000 == 0:
                        _report(done, time.monotonic() - begin)
    return 1


def _report(done: Counter[str], seconds: float) -> int:
    """1 if something leaked."""
    per_second = done.total() / seconds
    print(f"{done.total():,} files: {dict(done)}, {per_second:.0f} a second", flush=True)
    return int(not set(done) <= {ANSWERED, REFUSED})


if __name__ == "__main__":
    sys.exit(main())
