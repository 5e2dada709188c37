"""Alter inputs of every format; each is read or refused, in forked children that die of the rest.

    python benchmarks/fuzz_inputs.py --cases 20000

Exits with 1 if one crashed, hung, took too much memory, raised anything but a XorecError, or gave
interactions that are not sound. Case N of a seed is always the same: `--only N` runs it alone. The
tests run a sample.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # for tests.support
from tests.support.altered_files import REFUSED
from tests.support.altered_inputs import READ, Inputs, run_cases

BATCH = 400
"""Cases of one child."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=20_000)
    parser.add_argument("--seconds", type=float, default=7200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", type=int)
    wanted = parser.parse_args()
    end, done, kinds = time.monotonic() + wanted.seconds, Counter[str](), Counter[str]()
    numbers = range(wanted.cases) if wanted.only is None else range(wanted.only, wanted.only + 1)
    with tempfile.TemporaryDirectory() as folder:
        inputs = Inputs(Path(folder), wanted.seed)
        for begin in range(0, len(numbers), BATCH):
            if time.monotonic() > end:
                break
            for number, what, word, details in run_cases(inputs, numbers[begin : begin + BATCH]):
                done[word] += 1
                kinds[what.split(":")[0].split()[0]] += 1
                if word not in (READ, REFUSED) or wanted.only is not None:
                    print(f"{number} {word}: {what}: {details}", flush=True)
    print(f"{done.total():,} inputs: {dict(done)}")
    print(f"of {dict(kinds)}")
    return int(done.total() > done[READ] + done[REFUSED])


if __name__ == "__main__":
    sys.exit(main())
