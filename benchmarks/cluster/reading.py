"""Ten million rows of Parquet read by Spark on this machine, beside `xorec.read`.

    python benchmarks/cluster/reading.py make FOLDER --rows 10000000
    python benchmarks/cluster/reading.py local FOLDER/ints.parquet
    python benchmarks/cluster/reading.py spark FOLDER/ints.parquet --core 5

Processor seconds and memory are those of all processes: Python, the JVM, and its Python workers.
"""

from __future__ import annotations

import argparse
import json
import os
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import psutil


def make(folder: Path, rows: int) -> None:
    """Users and items as skewed as in a shop, some pairs twice; whole numbers and text as ids."""
    import polars as pl

    rng = np.random.default_rng(21)
    users = (rng.random(rows) ** 2 * rows / 10).astype(np.int64) * 7 + 1
    items = (rng.random(rows) ** 3 * rows / 100).astype(np.int64) * 3 + 1
    frame = pl.DataFrame(
        {
            "user": users,
            "item": items,
            "rating": rng.integers(1, 6, rows).astype(np.float32),
            "timestamp": rng.integers(1_600_000_000, 1_700_000_000, rows),
        }
    )
    folder.mkdir(parents=True, exist_ok=True)
    frame.write_parquet(folder / "ints.parquet", row_group_size=1 << 20)
    text = frame.with_columns(
        pl.format("customer-{}", "user").alias("user"), pl.format("B{}X", "item").alias("item")
    )
    text.write_parquet(folder / "text.parquet", row_group_size=1 << 20)
    frame.write_csv(folder / "ints.csv")


@contextmanager
def watched() -> Iterator[dict[str, Any]]:
    """Processor seconds and peak memory of this process and all below it, by what they are."""
    found: dict[str, Any] = {}
    seconds: dict[int, tuple[str, float]] = {}
    peaks: dict[str, int] = {}
    over = threading.Event()
    own = psutil.Process()
    before = {
        process.pid: sum(process.cpu_times()[:2])
        for process in [own, *own.children(recursive=True)]
    }

    def look() -> None:
        now: dict[str, int] = {}
        for process in [own, *own.children(recursive=True)]:
            try:
                name = "driver" if process.pid == own.pid else process.name()
                name = {"java": "jvm"}.get(name, name if name == "driver" else "workers")
                used = sum(process.cpu_times()[:2]) - before.get(process.pid, 0.0)
                seconds[process.pid] = (name, used)
                now[name] = now.get(name, 0) + process.memory_info().rss
            except psutil.Error:
                continue
        for name, size in now.items():
            peaks[name] = max(peaks.get(name, 0), size)
        peaks["all"] = max(peaks.get("all", 0), sum(now.values()))

    def watch() -> None:
        while not over.wait(0.1):
            look()

    watcher = threading.Thread(target=watch)
    watcher.start()
    start = time.perf_counter()
    try:
        yield found
    finally:
        found["wall_s"] = round(time.perf_counter() - start, 1)
        over.set()
        watcher.join()
        look()
        names = sorted({name for name, _ in seconds.values()})
        found["cpu_s"] = {
            name: round(sum(used for one, used in seconds.values() if one == name), 1)
            for name in names
        }
        found["peak_mb"] = {name: size >> 20 for name, size in peaks.items()}


def read_locally(path: Path, core: int) -> dict[str, Any]:
    import xorec

    xorec.read([("a", "b"), ("a", "c")])  # kernels are loaded
    with watched() as figures:
        data = xorec.prepare(xorec.read(path, max_expanded="20GB"), core=core)
    return {**figures, "pairs": data.n_pairs, "digest": data.digest()}


def read_by_spark(path: Path, core: int, master: str) -> dict[str, Any]:
    from xorec.data.split import split
    from xorec.engines.pairs import PairFilters
    from xorec.engines.spark.engine import open_spark
    from xorec.engines.spark.reading import read_with_spark

    small = path.parent / "small.csv"
    small.write_text("user,item\n" + "".join(f"{n % 9},{n % 7}\n" for n in range(99)))
    with open_spark(master) as engine:
        read_with_spark(engine, small, filters=PairFilters(core=2))  # workers and kernels are there
        before = _moved(engine.session)
        with watched() as figures:
            data = read_with_spark(engine, path, filters=PairFilters(core=core))
        moved = {name: size - before[name] for name, size in _moved(engine.session).items()}
    start = time.process_time()
    split(data, test=0.2, validation=0.1)
    figures |= {"moved_mb": {name: size >> 20 for name, size in moved.items()}}
    figures["split_cpu_s"] = round(time.process_time() - start, 1)
    return {**figures, "pairs": data.n_pairs, "digest": data.digest()}


def _moved(session: Any) -> dict[str, int]:
    """Bytes of all stages so far, by Spark's own count."""
    context = session.sparkContext
    none, quantiles = (
        context._jvm.java.util.ArrayList(),
        context._gateway.new_array(context._jvm.double, 0),
    )
    store = context._jsc.sc().statusStore()
    stages = store.stageList(none, False, False, quantiles, none)
    total = {"read": 0, "shuffled": 0}
    for at in range(stages.size()):
        stage = stages.apply(at)
        total["read"] += stage.inputBytes()
        total["shuffled"] += stage.shuffleWriteBytes()
    return total


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=["make", "local", "spark"])
    parser.add_argument("path", type=Path)
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--core", type=int, default=0)
    parser.add_argument("--master", default="local[2]")
    given = parser.parse_args()
    if given.what == "make":
        make(given.path, given.rows)
        return
    if given.what == "local":
        figures = read_locally(given.path, given.core)
    else:
        figures = read_by_spark(given.path, given.core, given.master)
    name = given.path.name
    print(json.dumps({"what": given.what, "file": name, "core": given.core, **figures}))


if __name__ == "__main__":
    os.environ.setdefault("POLARS_MAX_THREADS", "2")
    main()
