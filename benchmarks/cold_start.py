"""The first answer of a cold process: `xorec recommend` with a memory-mapped model of many items.

    python benchmarks/cold_start.py --items 1000000 --json

Makes a model file of low-rank codes, then starts fresh processes: the whole command, and, inside
such a process, opening the file, the first search (kernels are read from the disk) and the second.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np

from xorec.data.ids import Ids
from xorec.data.tie_rank import tie_rank
from xorec.lab.bench.data import make_data
from xorec.recommender.recommender import Recommender
from xorec.representations.codes import Codes

INSIDE = """
import json, sys, time
begin = time.perf_counter()
from xorec.recommender.recommender import Recommender
model = Recommender.load(sys.argv[1])
opened = time.perf_counter()
model.recommend(7)
first = time.perf_counter()
model.recommend(8)
second = time.perf_counter()
print(json.dumps({"open": opened - begin, "first": first - opened, "second": second - first}))
"""


def make_model(items: int, bits: int, path: Path) -> None:
    """A model of low-rank codes, a thousand users with a hundred seen items each."""
    made = make_data("low-rank", items, bits, 1_000, 0, vectors=False)
    rng = np.random.default_rng(0)
    seen = np.sort(rng.integers(items, size=(1_000, 100), dtype=np.int32), axis=1)
    users, ids = Ids("int64", np.arange(1_000)), Ids("int64", np.arange(items))
    prior = rng.integers(1_000, size=items)
    Recommender(
        Codes(made.query_codes, made.item_codes, bits),
        user_ids=users,
        item_ids=ids,
        seen=(np.arange(1_001, dtype=np.int64) * 100, seen.reshape(-1)),
        item_counts=prior,
        tie_rank=tie_rank(ids, prior),
        metadata={"model": "dsiml", "config": {"bits": bits}},
    ).save(path)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--bits", type=int, default=64)
    parser.add_argument("--repeats", type=int, default=7)
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.xorec"
        make_model(arguments.items, arguments.bits, path)
        command = [sys.executable, "-m", "xorec", "recommend", str(path), "--user", "7"]
        whole, inside = [], []
        for _ in range(arguments.repeats + 1):  # the first compiles kernels, if none are kept
            began = time.perf_counter()
            subprocess.run(command, check=True, capture_output=True)
            whole.append(time.perf_counter() - began)
            done = subprocess.check_output([sys.executable, "-c", INSIDE, str(path)])
            inside.append(json.loads(done))
        size = path.stat().st_size
    report = {
        "items": arguments.items,
        "file_bytes": size,
        "seconds_first_run": whole[0],
        "seconds_command": float(np.median(whole[1:])),
        **{
            f"ms_{name}": float(np.median([1e3 * one[name] for one in inside[1:]]))
            for name in ("open", "first", "second")
        },
    }
    print(json.dumps(report) if arguments.json else json.dumps(report, indent=2))


if __name__ == "__main__":
    main()
