"""kill -9 at random moments: of fits that are then resumed, and of updates that are run again.

    python benchmarks/kills.py --count 100
    python benchmarks/kills.py --count 10 --seed 3 --seconds 600

After the kill the older file is there, whole. After `--resume` the new one has the same bytes as
that of a run that was not killed, and what the killed one left is gone. Exits with 1 if not.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))  # for tests.support
from tests.support.endings import Command, kill, prepare, unbroken

MODELS = ("bpr --epochs 300", "cml --epochs 300", "siml --epochs 200", "lightgcn --epochs 300")
COMMANDS = (
    *(Command(f"fit ../ratings.csv --model {m} -o out/m.xorec -q", "m.xorec") for m in MODELS),
    Command("update out/als.xorec ../new.csv -q", "als.xorec"),
)
LEARNING = 1.5
"""Seconds after the first checkpoint in which most fits are killed: elsewhere in a run there is
nothing to resume from."""


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--count", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--seconds", type=float, default=7200)
    wanted = parser.parse_args()
    end, rng = time.monotonic() + wanted.seconds, random.Random(wanted.seed)
    done, bad = Counter[str](), 0
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        runs = [unbroken(folder, command) for command in COMMANDS]
        for at in range(wanted.count):
            if time.monotonic() > end:
                print("out of time")
                break
            command, (seconds, whole) = COMMANDS[at % len(COMMANDS)], runs[at % len(COMMANDS)]
            learning = command.name == "fit" and rng.random() < 0.7
            after = rng.uniform(0, LEARNING if learning else seconds)
            found, wrong = kill(folder, command, after, whole, from_checkpoint=learning)
            done[f"{command.words.split('-o')[0].strip()}: {found}"] += 1
            if wrong:
                bad += 1
                print(f"{command.words} at {after:.3f} s: {wrong}", flush=True)
    for what, times in sorted(done.items()):
        print(f"{times:4} {what}")
    print(f"{sum(done.values())} kills, {bad} wrong")
    return int(bad > 0)


if __name__ == "__main__":
    sys.exit(main())
