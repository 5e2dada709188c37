"""Measures what Spark costs on this machine, in a session of its own on two threads."""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np

from xorec.core.engine import Arrays
from xorec.core.options import RunOptions
from xorec.lab.measuring.made_pairs import made_pairs


def measure_spark() -> dict[str, float]:
    """Constants by name; none where there is no Spark."""
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
        large = [{"x": rng.integers(0, 1 << 20, 1 << 20, dtype=np.int32)} for _ in range(24)]
        for count in (8, len(large)):  # the second time Java has compiled what it needs
            size = sum(block["x"].nbytes for block in large[:count])
            before, alone = _tree_seconds(), time.process_time()
            list(engine.map_blocks(echo_block, large[:count]))
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
