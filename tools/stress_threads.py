"""Do threads change what is learned? Tiny data, threads that are switched all the time.

    python tools/stress_threads.py 20              # rounds
    python tools/stress_threads.py 50 siml cml     # some models

Prints the digests of what each model learned, and how often each came for which number of threads:
there must be one. Blocks of any size are shared by all threads here (`training.passes.SHARE`).
"""

from __future__ import annotations

import sys
from collections import Counter
from typing import Any

from xorec.core.arrays import digest
from xorec.core.options import RunOptions
from xorec.models import model_class
from xorec.testing.data import planted
from xorec.training import passes

SMALL: dict[str, Any] = {"dimensions": 16, "epochs": 20}
CASES: dict[str, tuple[str, dict[str, Any]]] = {
    "siml": ("siml", SMALL),
    "siml-triplet": ("siml", {**SMALL, "form": "triplet"}),
    "bpr": ("bpr", SMALL),
    "cml": ("cml", SMALL),
    "sml": ("sml", SMALL),
    "phd": ("phd", {"bits": 16, "epochs": 20}),
    "lightgcn": ("lightgcn", {**SMALL, "epochs": 5}),
    "dsiml": ("dsiml", {"bits": 16, "epochs": 10, "start": {"epochs": 10}}),
    "dsiml-flip": ("dsiml", {"bits": 16, "epochs": 3, "start": {"epochs": 3}, "optimizer": "flip"}),
    "als": ("als", {**SMALL, "epochs": 5}),
}


def main() -> int:
    """Returns how many models had more than one result."""
    rounds, only = int(sys.argv[1]), sys.argv[2:]
    passes.SHARE = 1
    sys.setswitchinterval(1e-5)
    data, different = planted(120, 90), 0
    for case, (name, settings) in CASES.items():
        if only and case not in only:
            continue
        found: Counter[tuple[str, int]] = Counter()
        for _ in range(rounds):
            for threads in (1, 2, 3, 5):
                options = RunOptions(seed=7, threads=threads)
                learned = model_class(name)(**settings).fit(data, options=options)
                found[digest(learned.representation_.tensors())[:8], threads] += 1
        results = {result for result, _ in found}
        different += len(results) > 1
        print(case, "same" if len(results) == 1 else "DIFFERENT", dict(found), flush=True)
    return different


if __name__ == "__main__":
    sys.exit(main())
