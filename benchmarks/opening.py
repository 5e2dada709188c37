"""How long opening a model file takes, warm and cold, and what of it are the checks.

    python benchmarks/opening.py --items 1000000 10000000
    python benchmarks/opening.py --items 1000000 --ids str --json opening.json

Each figure is the median of processes of their own, which have opened a small file before:
imports and compiled kernels are not counted. none: nothing is verified (the checks are taken
out here, nobody else can); gate: values are checked (verify=False); first: digest and values,
as when a file is opened the first time; stamped: as it is opened again; default: whatever this
xorec does. Cold: the file is dropped from the page cache first, by posix_fadvise. cpu: of all
threads together, which says more on a machine with other work.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np

WAYS = ("none", "gate", "first", "stamped")
USERS, PER_USER, BITS = 10_000, 20, 64


def write_file(path: Path, items: int, ids: str, method: str) -> None:
    """A model of random codes around some centres, with its index."""
    from xorec.data.ids import Ids
    from xorec.data.text import Text
    from xorec.recommender import model_file
    from xorec.recommender.state import RecommenderState
    from xorec.representations.codes import Codes
    from xorec.search.hamming.index import HammingIndex

    rng = np.random.default_rng(0)
    codes = rng.integers(0, 2**64, (items, 1), dtype=np.uint64)
    users = rng.integers(0, 2**64, (USERS, 1), dtype=np.uint64)
    rank = rng.permutation(items).astype(np.int32)
    seen = np.sort(rng.integers(0, items, (USERS, PER_USER), dtype=np.int32), axis=1)
    if ids == "str":
        text = np.frombuffer(b"".join(b"item-%09d" % row for row in range(items)), np.uint8)
        named = Ids("str", Text(text, np.arange(items + 1) * 14))
    else:
        named = Ids("int64", np.arange(items))
    state = RecommenderState(
        Codes(users, codes, BITS),
        user_ids=Ids("int64", np.arange(USERS)),
        item_ids=named,
        seen=(np.arange(USERS + 1) * PER_USER, seen.reshape(-1)),
        item_counts=np.ones(items, dtype=np.int64),
        tie_rank=rank,
        metadata={"model": "signs", "config": {}},
    )
    index = HammingIndex(codes, BITS, rank, method=method)
    model_file.save(path, state, index.tensors())


def open_once(path: Path, small: Path, way: str, cold: bool) -> tuple[float, float]:
    """Milliseconds of one opening in this process, and of the cores meanwhile."""
    from xorec.recommender.recommender import Recommender

    if way == "none":
        _take_the_checks_out()
    verify = False if way == "gate" else None
    Recommender.load(small, verify=verify)
    if cold:
        with path.open("rb") as file:
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    begin, cpu = time.perf_counter(), time.process_time()
    Recommender.load(path, verify=verify)
    return 1e3 * (time.perf_counter() - begin), 1e3 * (time.process_time() - cpu)


def _take_the_checks_out() -> None:
    """As if every file had a stamp."""
    from xorec.recommender import model_file

    vars(model_file)["has_stamp"] = lambda file: True


def measure(path: Path, small: Path, way: str, cold: bool, runs: int) -> dict[str, float]:
    """The medians of several processes."""
    stamps = str(path.with_name("stamps")) if way == "stamped" else "off"
    call = [sys.executable, __file__, "--one", str(path), str(small), way, "cold" if cold else ""]
    environment = {**os.environ, "XOREC_STAMPS": stamps}
    found = [
        json.loads(subprocess.check_output(call, env=environment, text=True)) for _ in range(runs)
    ]
    median, cpu = (statistics.median(column) for column in zip(*found, strict=True))
    return {"ms": round(median, 2), "cpu": round(cpu, 2)}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, nargs="+", default=[1_000_000])
    parser.add_argument("--ids", choices=["int", "str"], default="int")
    parser.add_argument("--method", choices=["mih", "scan", "auto"], default="mih")
    parser.add_argument("--ways", nargs="+", default=WAYS, choices=[*WAYS, "default"])
    parser.add_argument("--runs", type=int, default=7)
    parser.add_argument("--folder", type=Path, help="where the files are written")
    parser.add_argument("--json", type=Path, help="write the figures there too")
    parser.add_argument("--one", nargs="+", help=argparse.SUPPRESS)
    wanted = parser.parse_args()
    if wanted.one:
        path, small, way, cold = wanted.one
        print(json.dumps(open_once(Path(path), Path(small), way, bool(cold))))
        return
    rows: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(dir=wanted.folder) as name:
        small = Path(name) / "small.xorec"
        write_file(small, 20_000, wanted.ids, wanted.method)
        for items in wanted.items:
            path = Path(name) / f"{items}.xorec"
            write_file(path, items, wanted.ids, wanted.method)
            time.sleep(2.5)  # a file that changed just now gets no stamp
            if "stamped" in wanted.ways:
                measure(path, small, "stamped", False, 1)
            about = {"items": items, "MB": round(path.stat().st_size / 1e6, 1), "ids": wanted.ids}
            for cold in (False, True):
                for way in wanted.ways:
                    times = measure(path, small, way, cold, wanted.runs)
                    rows.append({**about, "cold": cold, "way": way, **times})
                    print(json.dumps(rows[-1]), flush=True)
            path.unlink()
    if wanted.json:
        wanted.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
