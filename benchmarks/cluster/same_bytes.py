"""Model files of a cluster beside those of threads: the same bytes, for any number of partitions.

    python benchmarks/cluster/same_bytes.py
    python benchmarks/cluster/same_bytes.py --data ratings.csv --partitions 1,2,3 --json

A master and workers run on loopback in a network namespace of their own (needs root, Java 17,
iproute2 and pyspark). With so many workers as partitions, and each model once. Exits with 1 if a
file differs.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))  # for tests.support
from tests.support.spark_cluster import MASTER, Cluster, missing, running_cluster

MODELS = {
    "popularity": "",
    "als": "--epochs 3",
    "item-knn": "",
    "slim": "",
    "blend": "--epochs 2",
    "dsiml flip": "--optimizer flip --epochs 1 --bits 32",
    "dsiml bqp": "--optimizer bqp --epochs 1 --bits 32",
    "dsiml none": "--optimizer none --bits 32",
    "dsiml": "--epochs 2",
    "siml": "--epochs 2",
    "bpr": "--epochs 2",
    "lightgcn": "--epochs 2",
    "dcf": "--epochs 1",
}
"""What is fitted, and the settings that make it short."""


def command(name: str, data: str, output: Path, *more: str) -> list[str]:
    model = name.split()[0]
    settings = MODELS[name].split() if model != "blend" else []
    words = ["fit", data, "--model", model, "-o", str(output), "--seed", "5", "-q", *settings]
    return [sys.executable, "-m", "xorec", *words, *more]


def digest(path: Path) -> str:
    return hashlib.blake2b(path.read_bytes(), digest_size=8).hexdigest()


def compare(cluster: Cluster, name: str, data: str, folder: Path, parts: int) -> dict[str, object]:
    """One model on so many partitions, and whether its file is that of threads."""
    here = folder / f"{name.replace(' ', '-')}.xorec"
    if not here.exists():
        subprocess.run(command(name, data, here), check=True, capture_output=True, timeout=1800)
    there = folder / "there.xorec"
    began = time.perf_counter()
    engine = ("--engine", f"spark:{MASTER}", "--partitions", str(parts))
    done = cluster.run(command(name, data, there, *engine), 1800)
    seconds = round(time.perf_counter() - began, 1)
    same = done.returncode == 0 and digest(here) == digest(there)
    row: dict[str, object] = {"model": name, "partitions": parts, "same": same, "seconds": seconds}
    return row if same else {**row, "said": (done.stderr or done.stdout)[-300:]}


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", default="debian")
    parser.add_argument("--partitions", default="1,2,3")
    parser.add_argument("--models", default=",".join(MODELS))
    parser.add_argument("--json", action="store_true")
    wanted = parser.parse_args()
    if why := missing():
        print(why)
        return 2
    rows = []
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for parts in (int(part) for part in wanted.partitions.split(",")):
            place = folder / f"cluster-{parts}"
            place.mkdir()
            with running_cluster(place, workers=parts) as cluster:
                for model in wanted.models.split(","):
                    rows.append(compare(cluster, model, wanted.data, folder, parts))
                    if not wanted.json:
                        print(" ".join(f"{key}={value}" for key, value in rows[-1].items()))
                        sys.stdout.flush()
    if wanted.json:
        print(json.dumps({"rows": rows}))
    return int(not all(row["same"] for row in rows))


if __name__ == "__main__":
    sys.exit(main())
