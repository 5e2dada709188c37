"""Measures the constants of this machine: each by the very functions that jobs run.

Times are CPU times of one thread, so that a busy machine changes them little; Spark's are measured
in a session of its own, where Spark is installed.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from xorec.core.engine import Arrays, LocalEngine
from xorec.core.files import temporary_folder
from xorec.core.options import RunOptions
from xorec.core.progress import Progress
from xorec.core.threads import ThreadPool
from xorec.data.ids import Ids
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.experiments.plan.als_plan import row_flops
from xorec.experiments.plan.constants import typed
from xorec.experiments.plan.neighbours_plan import candidates, meetings
from xorec.experiments.plan.sizes import DataSizes, lognormal_points

_USERS, _ITEMS, _DIMENSIONS, _NEGATIVES = 8_000, 2_000, 64, 5
_READ_ROWS = 1_000_000

Measured = dict[str, float]


def measure(progress: Progress, spark: bool = True) -> Measured:
    """All constants that can be measured here, by name."""
    found: Measured = {}
    data = made_pairs(_USERS, _ITEMS, 20.0)
    parts: list[tuple[str, Callable[[], Measured]]] = [
        ("reading", _reading),
        ("matrix products", _products),
        ("als", lambda: _als(data)),
        ("slim", _slim),
        ("SGD", lambda: _sgd(data)),
        ("sweeps", lambda: _sweeps(data)),
        ("lists", _lists),
        ("evaluation", _evaluation),
    ]
    if spark:
        parts.append(("Spark", _spark))
    with progress.task("bench engine", len(parts)) as task:
        for name, run in parts:
            progress.note(f"measuring {name}")
            found |= run()
            task.advance(1)
    return typed(found)


def made_pairs(users: int, items: int, mean: float, seed: int = 21) -> Interactions:
    """Users with log-normal histories, items by a power law."""
    rng = np.random.Generator(np.random.Philox(seed))
    lengths = rng.choice(lognormal_points(mean, 2.0), users).astype(np.int64) + 1
    owners = np.repeat(np.arange(users), np.minimum(lengths, items // 4))
    places = np.floor(items * rng.random(len(owners)) ** 2.5).astype(np.int64)
    ids = Ids.sorted(range(users)), Ids.sorted(range(items))
    return Interactions.from_rows(*ids, owners.astype(np.int32), places.astype(np.int32))


def _cpu(run: Callable[[], object], repeats: int = 3) -> float:
    """CPU seconds of a call, the least of some, once it has run before."""
    run()
    taken = []
    for _ in range(repeats):
        began = time.process_time()
        run()
        taken.append(time.process_time() - began)
    return min(taken)


_CHILD = """
import resource, sys, time
from pathlib import Path
import xorec.cli.fit, xorec.cli.output
from xorec.core.options import RunOptions
from xorec.data.io.read import read
from xorec.models.baselines.popularity import Popularity
from xorec.models.factorization.als import ALS
from xorec.recommender.recommender import Recommender


def largest():
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss


def save(model, data):
    Recommender.from_model(model, data).save(Path(sys.argv[1]).parent / "m.xorec")


few = read([(user, item) for user in range(20) for item in range(user % 7 + 1)])
save(ALS(dimensions=8, epochs=1).fit(few, options=RunOptions(threads=1)), few)
base, began = largest(), time.process_time()
data = read(sys.argv[1], threads=1)
read_seconds, read_peak = time.process_time() - began, largest()
model = Popularity().fit(data)
began = time.process_time()
save(model, data)
print(base, read_peak, read_seconds, time.process_time() - began, data.n_pairs)
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
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        told = subprocess.run(
            [sys.executable, "-c", _CHILD, str(path)], capture_output=True, text=True, check=True
        )
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
    base, peak, read, saved, pairs = (float(word) for word in told.stdout.split())
    whole = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return {
        "start_seconds": whole - read - saved,
        "us_read_pair": 1e6 * read / pairs,
        "us_save_pair": 1e6 * saved / pairs,
        "read_bytes_pair": 1024 * (peak - base) / pairs,
        "python_bytes": 1024 * base,
    }


def _products() -> Measured:
    from threadpoolctl import threadpool_limits

    rows = np.ones((20_000, _DIMENSIONS), dtype=np.float32)
    turn = np.ones((_DIMENSIONS, _DIMENSIONS), dtype=np.float32)
    with threadpool_limits(1, user_api="blas"):
        seconds = _cpu(lambda: [rows @ turn for _ in range(5)])
    return {"ns_blas": 1e9 * seconds / (5 * rows.size * _DIMENSIONS)}


def _als(data: Interactions) -> Measured:
    """Two lengths of rows, and two unknowns: what a flop costs and what a row costs."""
    from xorec.models.factorization.als import ALS

    pairs = []
    for size in (16, _DIMENSIONS):
        model = ALS(dimensions=size, epochs=1)
        seconds = _cpu(partial(model.fit, data, options=RunOptions(threads=1)))
        flops = sum(
            float(row_flops(counts.astype(np.float64), size).sum())
            for counts in (data.user_counts, data.item_counts)
        )
        pairs.append((flops, data.n_users + data.n_items, seconds))
    (few, rows, low), (many, _, high) = pairs
    ns_flop = max(0.01, 1e9 * (high - low) / (many - few))
    return {"ns_flop": ns_flop, "us_row": max(0.05, 1e6 * (low - 1e-9 * ns_flop * few) / rows)}


def _slim() -> Measured:
    """Few and many items, and two unknowns: two items that meet, and an item that is looked at.

    The systems are made of the larger catalogue: what is read of its G lies in no cache.
    """
    from xorec.models.baselines.item_knn import ItemKNN
    from xorec.models.baselines.slim import SLIM

    options, width = RunOptions(threads=1), 100
    rows, taken = [], []
    for items in (_ITEMS // 8, 3 * _ITEMS):
        pairs = made_pairs(_USERS, items, 20.0)
        sizes = DataSizes.of(pairs)
        rows.append([meetings(sizes), candidates(sizes)])
        taken.append(_cpu(partial(ItemKNN(neighbours=width).fit, pairs, options=options)))
    meeting, candidate = np.maximum(1e-10, np.linalg.solve(rows, taken))
    whole = _cpu(partial(SLIM(neighbours=width).fit, pairs, options=options))
    solving = max(1e-3, whole - taken[1] - 0.5 * meeting * rows[1][0])
    systems = pairs.n_items * (width**3 / 6 + 8 * width**2)
    found = {"ns_meeting": meeting, "ns_candidate": candidate, "ns_ridge": solving / systems}
    return {name: 1e9 * value for name, value in found.items()}


def _sgd(data: Interactions) -> Measured:
    from xorec.models.siml.siml import SIML

    settings: dict[str, Any] = {"negatives": _NEGATIVES, "alpha": 0.5, "temperature": 2.5}
    settings |= {"form": "npair", "popularity": 0.05, "dimensions": _DIMENSIONS}
    options = RunOptions(threads=1)
    one, three = (
        _cpu(partial(SIML(**settings, epochs=epochs).fit, data, options=options), 2)
        for epochs in (1, 3)
    )
    return {"ns_triplet_sgd": 1e9 * (three - one) / (2 * data.n_pairs * _NEGATIVES)}


def _sweeps(data: Interactions) -> Measured:
    """A sweep as threads do it, and in blocks, from the signs of learned vectors."""
    from xorec.models.factorization.als import ALS
    from xorec.training.discrete.block_sweeps import BlockSweeps
    from xorec.training.discrete.bounds import Bounds
    from xorec.training.discrete.bqp import make_solver
    from xorec.training.discrete.flips import Flips
    from xorec.training.discrete.problem import LossTerms, make_problem
    from xorec.training.discrete.sweep_blocks import Draw
    from xorec.training.discrete.sweeps import Proposer, sweep
    from xorec.training.passes import Triplets

    options = RunOptions(threads=1)
    tensors = ALS(dimensions=64, epochs=2).fit(data, options=options).representation_.tensors()
    signs = [
        np.where(tensors[name] >= 0, 1, -1).astype(np.int8)
        for name in ("user_vectors", "item_vectors")
    ]
    sampler, draw, terms = Negatives.of(data), Draw(_NEGATIVES, 0, 0), LossTerms(4.0)
    blocks = BlockSweeps(LocalEngine(1), sampler)

    def here(propose: Proposer) -> None:
        triplets = Triplets(data.user_rows, data.indices, sampler.draw_all(*draw))
        B, D = (one.copy() for one in signs)
        with ThreadPool(1) as pool:
            sweep(make_problem(B, D, triplets, terms), propose, pool)

    def elsewhere(propose: Proposer) -> None:
        B, D = (one.copy() for one in signs)
        blocks.sweep(B, D, terms, propose, draw)

    found: Measured = {}
    proposers: dict[str, Proposer] = {"flip": Flips(), "bqp": Bounds(make_solver("descent"), 0)}
    for name, propose in proposers.items():
        for label, run in (("", here), ("_blocks", elsewhere)):
            seconds = _cpu(partial(run, propose), 1)
            found[f"ns_triplet_{name}{label}"] = 1e9 * seconds / (data.n_pairs * _NEGATIVES)
    return found


def _lists() -> Measured:
    """Two sizes of a catalogue, and two unknowns: what a list costs and what an item costs."""
    from xorec.search.hamming.index import HammingIndex

    rng, queries, taken = np.random.Generator(np.random.Philox(7)), 2_000, []
    for items in (10_000, 100_000):
        centres = rng.integers(0, 1 << 63, (200, 1)).astype(np.uint64)
        noise = np.bitwise_and.reduce(rng.integers(0, 1 << 63, (3, items, 1)), axis=0)
        codes = centres[rng.integers(0, 200, items)] ^ noise.astype(np.uint64)
        index = HammingIndex(codes, 64, threads=1)
        asked = codes[rng.integers(0, items, queries)].copy()
        taken.append((items, _cpu(partial(index.search, asked, 10, threads=1), 2)))
    (few, low), (many, high) = taken
    word = max(0.001, 1e9 * (high - low) / (queries * (many - few)))
    return {"ns_list_word": word, "us_list": max(1.0, 1e6 * low / queries - 1e-3 * word * few)}


def _evaluation() -> Measured:
    from xorec.data.split import split
    from xorec.evaluation.protocol import evaluate
    from xorec.representations.codes import Codes

    data = made_pairs(2_000, 10_000, 20.0)
    parts = split(data, method="random", test=0.2, validation=0.0)
    rng = np.random.Generator(np.random.Philox(9))
    rows = (rng.standard_normal((count, 64)) for count in (data.n_users, data.n_items))
    codes, options = Codes.from_signs(*rows), RunOptions(threads=1)
    run = partial(evaluate, codes, parts.train, parts.test, ks=(10, 20, 50, 100), options=options)
    users = int(np.count_nonzero(parts.test.user_counts))
    return {"ns_score": 1e9 * _cpu(run, 2) / (users * data.n_items)}


def _spark() -> Measured:
    """A session on two threads of this machine; nothing where there is no Spark."""
    import shutil
    from importlib.util import find_spec

    if find_spec("pyspark") is None or shutil.which("java") is None:
        return {}
    from xorec.engines.spark.engine import open_spark
    from xorec.engines.spark.machine import machine_facts
    from xorec.models.factorization.als import ALS

    machine_facts()  # loads what kernels need: a fit has it anyway
    before, own = _tree_seconds(), _own_memory()
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
        clock = (time.perf_counter() - began) / rounds
        small, grown_by = _tree_memory(), _own_memory() - own
        rng = np.random.Generator(np.random.Philox(11))
        large = [{"x": rng.integers(0, 1 << 20, 1 << 20, dtype=np.int32)} for _ in range(8)]
        size = sum(block["x"].nbytes for block in large)
        for _ in range(2):  # the second time Java has compiled what it needs
            before, alone = _tree_seconds(), time.process_time()
            list(engine.map_blocks(echo_block, large))
            moved = max(1e-3, _tree_seconds() - before - 2 * job)
            by_driver = max(1e-3, time.process_time() - alone)
        memory = _tree_memory()
    jvm, grown = (float(max(one.get("java", [0]))) for one in (small, memory))
    return {
        "spark_start_seconds": started,
        "worker_seconds": max(0.1, (first - job) / 2 + max(0.0, kernels - 2 * job) / 2),
        "spark_job_seconds": min(job, clock),
        "bytes_per_second": 2 * size / moved,
        "driver_bytes_per_second": 2 * size / by_driver,
        "pyspark_bytes": max(0.0, grown_by),
        "jvm_bytes": jvm,
        "jvm_bytes_byte": max(0.0, grown - jvm) / (2 * size),
        "worker_bytes": float(max(small.get("worker", [0]))),
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


def _own_memory() -> float:
    """Resident bytes of this process."""
    pages = Path("/proc/self/statm").read_text(encoding="utf-8").split()[1]
    return float(int(pages) * os.sysconf("SC_PAGE_SIZE"))


def _tree_seconds() -> float:
    return sum(row[2] for row in _tree().values())


def _tree_memory() -> dict[str, list[int]]:
    """Resident bytes of Java and of Python workers below this process."""
    found: dict[str, list[int]] = {}
    page = os.sysconf("SC_PAGE_SIZE")
    for pid, (name, _, _) in _tree().items():
        if pid == os.getpid():
            continue
        try:
            pages = Path(f"/proc/{pid}/statm").read_text(encoding="utf-8").split()[1]
        except OSError:
            continue
        found.setdefault("java" if name == "java" else "worker", []).append(int(pages) * page)
    return found
