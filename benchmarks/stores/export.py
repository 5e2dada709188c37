"""How long an export takes, and how much memory: each store in a process of its own.

    python benchmarks/stores/export.py --store /tmp/x/shop.sqlite /tmp/x/shop.duckdb
    python benchmarks/stores/export.py --items 1000000 --users 1000000 --json export.json \\
        --store postgresql://ann@localhost/shop

seconds: of `Store.write`, wall clock; cpu: of this process alone (a server has its own). before_mb:
the largest resident size until the model was open and one of its users had been looked up; peak_mb:
until the end; pages of the memory-mapped model file count in both. bytes: of the files that came.
"""

from __future__ import annotations

import argparse
import json
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any


def measure(model: Path, address: str, lists: int) -> dict[str, Any]:
    """One export, here."""
    from xorec.recommender.recommender import Recommender
    from xorec.stores.contents import contents_of
    from xorec.stores.registry import open_store

    recommender = Recommender.load(model)
    recommender.user_row(recommender.user_ids[0])
    before = _peak_mb()
    with open_store(address) as store:
        contents = contents_of(recommender, users=True, lists=lists)
        began, cpu = time.perf_counter(), time.process_time()
        counts = store.write(contents)
        seconds, cpu = time.perf_counter() - began, time.process_time() - cpu
        path = store.address.path
        name = str(store.address)
    return {
        "store": name,
        "seconds": round(seconds, 2),
        "cpu": round(cpu, 2),
        "before_mb": round(before),
        "peak_mb": round(_peak_mb()),
        "bytes": None if path is None else _size(path),
        "rows": sum(counts.values()),
    }


def _peak_mb() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def _size(path: Path) -> int:
    """Of a file, a folder, and what stands beside it under its name."""
    return sum(
        one.stat().st_size
        for start in path.parent.glob(f"{path.name}*")
        for one in ([start] if start.is_file() else start.rglob("*"))
        if one.is_file()
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--store", nargs="+", required=True, help="addresses")
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--users", type=int, default=1_000_000)
    parser.add_argument("--bits", type=int, default=64)
    parser.add_argument("--lists", type=int, default=0)
    parser.add_argument("--json", type=Path)
    parser.add_argument("--child", nargs=2, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(measure(Path(given.child[0]), given.child[1], given.lists)))
        return
    from shop import save_shop

    rows = []
    with tempfile.TemporaryDirectory() as folder:
        model = Path(folder) / "shop.xorec"
        save_shop(model, given.items, given.users, given.bits)
        for address in given.store:
            words = ["--store", address, "--lists", str(given.lists)]
            words += ["--child", str(model), address]
            done = subprocess.run(
                [sys.executable, __file__, *words], capture_output=True, text=True, check=False
            )
            if done.returncode:
                print(f"{address}: {done.stderr.strip().splitlines()[-1]}", file=sys.stderr)
                continue
            rows.append(json.loads(done.stdout.splitlines()[-1]))
            print(json.dumps(rows[-1]), flush=True)
    result = {"items": given.items, "users": given.users, "bits": given.bits, "rows": rows}
    if given.json:
        given.json.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()
