"""kill -9 at random moments: of fits that are then resumed, and of updates that are run again.

    python benchmarks/kills.py --count 100
    python benchmarks/kills.py --count 10 --seed 3 --seconds 600

After the kill the older file is there, whole. After `--resume` the new one has the same bytes as
that of a run that nobody killed, and what the killed one left is gone. Exits with 1 if not.
"""

from __future__ import annotations

import argparse
import random
import sys
import tempfile
import time
from collections import Counter
from pathlib import Path

from xorec.testing.endings import Command, kill, prepare, unbroken

COMMANDS = (
    *(
        Command(
            f"fit ../ratings.csv --model {model} --epochs {epochs} -o out/m.xorec -q", "m.xorec"
        )
        for model, epochs in (("bpr", 60), ("cml", 60), ("siml", 40), ("lightgcn", 20))
    ),
    Command("update out/als.xorec ../new.csv -q", "als.xorec"),
)


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
            after = rng.uniform(0, seconds)
            found, wrong = kill(folder, command, after, whole)
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
