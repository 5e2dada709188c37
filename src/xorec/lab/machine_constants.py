"""Measures the constants of this machine: each by the very functions that jobs run.

Times are CPU times of all threads together, as jobs run: cores that share caches and memory are
slower side by side. What hangs on caches is measured on data that fit one and on data that do not.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from xorec.core.engine import Arrays
from xorec.core.files import temporary_folder
from xorec.core.options import RunOptions
from xorec.core.progress import Progress
from xorec.core.threads import available_threads
from xorec.data.ids import Ids
from xorec.data.interactions import Interactions
from xorec.selection.plan.constants import farness, typed
from xorec.selection.plan.fits import candidates, meetings, row_flops
from xorec.selection.plan.sizes import DataSizes, lognormal_points


def made_pairs(users: int, items: int, mean: float, seed: int = 21) -> Interactions:
    """Users with log-normal histories, items by a power law."""
    rng = np.random.Generator(np.random.Philox(seed))
    lengths = rng.choice(lognormal_points(mean, 2.0), users).astype(np.int64) + 1
    owners = np.repeat(np.arange(users), np.minimum(lengths, items // 4))
    places = np.floor(items * rng.random(len(owners)) ** 2.5).astype(np.int64)
    ids = Ids.sorted(range(users)), Ids.sorted(range(items))
    return Interactions.from_rows(*ids, owners.astype(np.int32), places.astype(np.int32))


_USERS, _ITEMS, _DIMENSIONS, _NEGATIVES = 8_000, 2_000, 64, 5
_FAR_USERS, _FAR_ITEMS = 100_000, 25_000
_READ_ROWS, _LISTS = 3_000_000, 4_000

Measured = dict[str, float]


def measure(progress: Progress, spark: bool = True) -> Measured:
    """All constants that can be measured here, by name."""
    parts: dict[str, Callable[[], Measured]] = {"reading": _reading, "als": _als}
    parts |= {"item-knn": _item_knn, "SGD": _sgd, "lists": _lists}
    parts |= {"Spark": measure_spark} if spark else {}
    found: Measured = {}
    with progress.task("bench engine", len(parts)) as task:
        for name, run in parts.items():
            progress.note(f"measuring {name}")
            found |= run()
            task.advance(1)
    return typed(found)


def _options() -> RunOptions:
    return RunOptions(threads=available_threads())


def _cpu(run: Callable[[], object], repeats: int = 3) -> float:
    """CPU seconds of a call, the least of some; where there are several, it has run before."""
    taken = []
    for _ in range(repeats + (repeats > 1)):
        began = time.process_time()
        run()
        taken.append(time.process_time() - began)
    return min(taken[1:] or taken)


_CHILD = """
import sys, time
from pathlib import Path
import xorec.cli.fit, xorec.cli.output
from xorec.core.options import RunOptions
from xorec.data.io.read import read
from xorec.models.factorization.als import ALS
from xorec.recommender.recommender import Recommender

few = read([(user, item) for user in range(20) for item in range(user % 7 + 1)])
model = ALS(dimensions=8, epochs=1).fit(few, options=RunOptions(threads=1))
Recommender.from_model(model, few).save(Path(sys.argv[1]).parent / "m.xorec")
lines = Path("/proc/self/status").read_text().splitlines()
resident = next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))
started = time.process_time()
data = read(sys.argv[1], threads=1)
print(1024 * resident, started, time.process_time() - started, data.n_pairs)
"""


def _reading() -> Measured:
    """Of Parquet with whole numbers as ids, by a process of its own: its memory is measured."""
    import polars as pl

    with temporary_folder() as folder:
        path = Path(folder) / "pairs.parquet"
        rng = np.random.Generator(np.random.Philox(3))
        users = np.sort(rng.integers(0, _READ_ROWS // 20, _READ_ROWS))
        items = np.floor(10_000 * rng.random(_READ_ROWS) ** 2.5).astype(np.int64)
        pl.DataFrame({"user": users, "item": items}).write_parquet(path)
        told = subprocess.run(
            [sys.executable, "-c", _CHILD, str(path)], capture_output=True, text=True, check=True
        )
    resident, started, read, pairs = map(float, told.stdout.split())
    each = 1e6 * read / pairs
    return {"start_seconds": started, "us_read_pair": each, "python_bytes": resident}


def _als() -> Measured:
    """Two lengths of rows, and two unknowns: what a flop costs and what a row costs."""
    from xorec.models.factorization.als import ALS

    data, taken, flops = made_pairs(_USERS, _ITEMS, 20.0), [], []
    sides = [one.astype(np.float64) for one in (data.user_counts, data.item_counts)]
    for size in (16, _DIMENSIONS):
        taken.append(_cpu(partial(ALS(dimensions=size, epochs=1).fit, data, options=_options())))
        flops.append(sum(float(row_flops(one, size).sum()) for one in sides))
    return {"ns_flop": max(0.01, 1e9 * (taken[1] - taken[0]) / (flops[1] - flops[0]))}


def _item_knn() -> Measured:
    """Few and many items, and two unknowns: two items that meet, and an item that is looked at."""
    from xorec.models.baselines.item_knn import ItemKNN

    rows, taken = [], []
    for items in (_ITEMS // 8, 3 * _ITEMS):
        pairs = made_pairs(_USERS, items, 20.0)
        sizes = DataSizes.of(pairs)
        rows.append([meetings(sizes), candidates(sizes)])
        taken.append(_cpu(partial(ItemKNN(neighbours=100).fit, pairs, options=_options())))
    return {"ns_meeting": 1e9 * max(1e-10, np.linalg.solve(rows, taken)[0])}


def _sgd() -> Measured:
    """Epochs on data that fit the caches, and on data that do not."""
    from xorec.models.siml.siml import SIML

    settings: dict[str, Any] = {"negatives": _NEGATIVES, "alpha": 0.5, "temperature": 2.5}
    settings |= {"form": "npair", "popularity": 0.05, "dimensions": _DIMENSIONS}

    def triplet(users: int, items: int) -> float:
        data = made_pairs(users, items, 20.0)
        one, three = (
            _cpu(partial(SIML(**settings, epochs=epochs).fit, data, options=_options()), 2)
            for epochs in (1, 3)
        )
        return max(1.0, 1e9 * (three - one) / (2 * data.n_pairs * _NEGATIVES))

    near, there = triplet(_USERS, _ITEMS), triplet(_FAR_USERS, _FAR_ITEMS)
    share = max(0.2, farness(4 * _DIMENSIONS * _FAR_ITEMS))
    return {"ns_triplet": near, "far_times": max(1.0, 1 + (there / near - 1) / share)}


def _lists() -> Measured:
    """Two sizes of a catalogue of codes: what an item more costs."""
    from xorec.core.bits import pack_signs
    from xorec.search.hamming.index import HammingIndex

    rng, threads, taken = np.random.default_rng(7), available_threads(), []
    given = pack_signs(rng.standard_normal((_LISTS, 64)))
    for items in (_ITEMS, _FAR_ITEMS):
        index = HammingIndex(pack_signs(rng.standard_normal((items, 64))), 64, threads=threads)
        seconds = _cpu(partial(index.search, given, 10, threads=threads), 2) / _LISTS
        taken.append((items, seconds))
    (few, low), (many, high) = taken
    return {"ns_list_word": max(0.001, 1e9 * (high - low) / (many - few))}


def measure_spark() -> dict[str, float]:
    """Constants by name; none where there is no Spark."""
    import shutil
    from importlib.util import find_spec

    if find_spec("pyspark") is None or shutil.which("java") is None:
        return {}
    from xorec.engines.spark.engine import open_spark
    from xorec.engines.spark.tasks import machine_facts
    from xorec.models.factorization.als import ALS

    machine_facts()  # loads what kernels need: a fit has it anyway
    before = _tree_seconds()
    with open_spark("local[2]") as engine:
        started = _tree_seconds() - before
        blocks = [{"x": np.zeros(4, dtype=np.int64)} for _ in range(2)]
        before = _tree_seconds()
        list(engine.map_blocks(echo_block, blocks))
        first = _tree_seconds() - before
        placed = engine.place(blocks)
        list(engine.map_blocks(echo_block, placed))
        before = _tree_seconds()
        few = made_pairs(40, 20, 4.0)
        ALS(dimensions=8, epochs=1).fit(few, options=RunOptions(engine=engine))
        kernels = _tree_seconds() - before
        before, began, rounds = _tree_seconds(), time.perf_counter(), 8
        for _ in range(rounds):
            list(engine.map_blocks(echo_block, placed))
        job = (_tree_seconds() - before) / rounds
        clock, java = (time.perf_counter() - began) / rounds, _java_memory()
        rng = np.random.Generator(np.random.Philox(11))
        large = [{"x": rng.integers(0, 1 << 20, 1 << 20, dtype=np.int32)} for _ in range(24)]
        for count in (8, len(large)):  # the second time Java has compiled what it needs
            size = sum(block["x"].nbytes for block in large[:count])
            before = _tree_seconds()
            list(engine.map_blocks(echo_block, large[:count]))
            moved = max(1e-3, _tree_seconds() - before - 2 * job)
    return {
        "spark_start_seconds": started,
        "worker_seconds": max(0.1, (first - job) / 2 + max(0.0, kernels - 2 * job) / 2),
        "spark_job_seconds": min(job, clock),
        "bytes_per_second": 2 * size / moved,
        "jvm_bytes": java,
    }


def echo_block(block: Arrays, shared: Arrays) -> Arrays:
    """What came, for nothing but the way there and back."""
    return {"x": block["x"]}


def _tree() -> dict[int, tuple[str, int, float]]:
    """pid -> (name, parent, CPU seconds) of the processes below this one, and this one."""
    tick, known = os.sysconf("SC_CLK_TCK"), {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                text = (entry / "stat").read_text(encoding="utf-8", errors="replace")
            except OSError:
                continue
            name = text[text.index("(") + 1 : text.rindex(")")]
            words = text[text.rindex(")") + 2 :].split()
            known[int(entry.name)] = name, int(words[1]), sum(map(int, words[11:15])) / tick
    ours = {os.getpid()}
    while more := {pid for pid, row in known.items() if row[1] in ours} - ours:
        ours |= more
    return {pid: known[pid] for pid in ours if pid in known}


def _tree_seconds() -> float:
    return sum(row[2] for row in _tree().values())


def _java_memory() -> float:
    """Resident bytes of the largest Java below this process."""
    javas = [pid for pid, (name, _, _) in _tree().items() if name == "java"]
    pages = [int(Path(f"/proc/{pid}/statm").read_text().split()[1]) for pid in javas]
    return float(max(pages, default=0) * os.sysconf("SC_PAGE_SIZE"))
