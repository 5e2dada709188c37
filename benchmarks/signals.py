"""SIGINT and SIGTERM at random moments, from the first millisecond on, over five commands.

    python benchmarks/signals.py --count 200        # of each signal
    python benchmarks/signals.py --count 20 --seed 3 --seconds 600

Every command must end with 130 or 143, at most one line, nothing left behind, and the older file or
the new one, whole. Exits with 1 if one did not. Early moments, where a command is imported, are the
more likely ones. Python prints a traceback of its own when it is interrupted before the first line
of xorec runs: counted apart, since nothing in a package can prevent it.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # for tests.support
from tests.support.endings import COMMANDS, interrupt, prepare, unbroken

SIGNALS = (signal.SIGINT, signal.SIGTERM)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=200, help="of each signal")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=7200)
    wanted = parser.parse_args()
    end, rng = time.monotonic() + wanted.seconds, random.Random(wanted.seed)
    done, bad = Counter[str](), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        runs = [unbroken(folder, command) for command in COMMANDS]
        for command, (seconds, _) in zip(COMMANDS, runs, strict=True):
            print(f"{command.name} takes {seconds:.1f} s", flush=True)
        for at in range(wanted.count * len(SIGNALS)):
            if time.monotonic() > end:
                print("out of time")
                break
            number = SIGNALS[at % 2]
            command, (seconds, whole) = rng.choice(list(zip(COMMANDS, runs, strict=True)))
            after = seconds * rng.random() * rng.random()
            how, wrong = interrupt(folder, command, number, after, whole)
            done[f"{number.name} {how}"] += 1
            if wrong:
                bad += 1
                print(f"{number.name} {command.name} at {after:.3f} s: {wrong}", flush=True)
    print(f"{dict(sorted(done.items()))}; {bad} wrong")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
