"""What things cost on a machine: measured by `xorec bench engine` and kept in the user's cache.

Where nothing was measured, the values below are taken: of the machine that `docs/scale.md` names.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import asdict, dataclass, fields
from math import log
from pathlib import Path
from typing import Any

from xorec.core.files import write_text
from xorec.core.paths import user_cache
from xorec.core.source_digest import source_digest

NEAR_BYTES, FAR_BYTES = 1 << 20, 32 << 20
"""A cache of one core, and what is more than the caches of a machine."""


@dataclass(frozen=True)
class Constants:
    """Seconds of a core, bytes a second, and bytes, by name.

    Work is counted in what its loops do: ns_flop of ALS for a multiplication with an addition of a
    row's system, ns_meeting for two items that one user has, ns_triplet_* for a triplet and 64 bits
    or dimensions. Those that have a `_far` beside them hang on the memory that a loop reaches into
    at random: see `at`. All of them are seconds of a core while every core works.
    """

    start_seconds: float = 1.6
    """Of a command: Python, libraries, kernels from their cache."""
    us_read_pair: float = 0.107
    us_save_pair: float = 0.013
    ns_flop: float = 0.093
    ns_flop_far: float = 0.165
    us_row: float = 1.71
    ns_blas: float = 0.028
    """Of a multiplication with an addition in a matrix product."""
    ns_meeting: float = 4.32
    ns_meeting_far: float = 10.4
    ns_link: float = 9.7
    """Of a user of an item's neighbour, where items are too many for all pairs to be counted."""
    ns_candidate: float = 19.3
    """Of an item that has a user in common with another, looked at once for its neighbours."""
    ns_ridge: float = 0.282
    ns_triplet_sgd: float = 190.0
    ns_triplet_sgd_far: float = 420.0
    ns_triplet_flip: float = 800.0
    ns_triplet_flip_far: float = 2250.0
    ns_triplet_bqp: float = 2200.0
    ns_triplet_bqp_far: float = 6060.0
    ns_triplet_flip_blocks: float = 1010.0
    """The same in blocks of an engine: negatives are drawn three times, roles are sorted."""
    ns_triplet_flip_blocks_far: float = 2660.0
    ns_triplet_bqp_blocks: float = 2390.0
    ns_triplet_bqp_blocks_far: float = 5590.0
    ns_triplet_accept: float = 8.4
    """On the driver, of all triplets: taking the items of a block one after another."""
    us_list: float = 1.0
    ns_list_word: float = 0.261
    """Of a word of an item's code in a search."""
    us_list_row: float = 0.15
    """Of a row of a list that is written."""
    us_ranked: float = 29.3
    """Of a user in an evaluation, whatever the number of items."""
    ns_score: float = 1.23
    """Of an item of a user in an evaluation."""
    spark_start_seconds: float = 9.28
    """CPU of a session and its first worker; about the same by the clock where cores are free."""
    executor_seconds: float = 11.0
    """CPU of an executor's own JVM until its first task, where it is not the driver's."""
    spark_job_seconds: float = 0.197
    task_seconds: float = 0.02
    worker_seconds: float = 3.79
    """CPU of a Python worker until its first block: libraries, the probe of its sums, kernels."""
    bytes_per_second: float = 40e6
    """Blocks and results between a Python process and the JVM, and through a shuffle: CPU of all
    processes, most of it on executors."""
    driver_bytes_per_second: float = 340e6
    """The same of the driver's Python alone: while it packs and unpacks, all wait."""
    file_bytes_per_second: float = 400e6
    """A shared file, written and mapped on one machine."""
    network_bytes_per_second: float = 1.0e9
    """Between machines, on paper: 10 Gbit/s."""
    shuffle_ratio: float = 0.8
    """Bytes of a shuffle as written (lz4) over bytes of its arrays."""
    python_bytes: int = 223_000_000
    read_bytes_pair: float = 46.9
    save_bytes_pair: float = 16.0
    pyspark_bytes: int = 51_000_000
    """What the driver's Python has besides where it talks to Spark."""
    jvm_bytes: int = 704_000_000
    jvm_bytes_byte: float = 6.2
    """Bytes of heap for a byte of blocks that pass through, until the heap is at its limit."""
    worker_bytes: int = 258_000_000

    def row(self) -> dict[str, Any]:
        """Flat, for JSON."""
        return asdict(self)

    def at(self, name: str, held: float) -> float:
        """A constant of a loop that reaches at random into so many bytes: in a cache, or in none.

        >>> slow = Constants(ns_flop=1.0, ns_flop_far=3.0)
        >>> slow.at("ns_flop", 0), slow.at("ns_flop", NEAR_BYTES), slow.at("ns_flop", FAR_BYTES)
        (1.0, 1.0, 3.0)
        """
        near: float = getattr(self, name)
        far: float = max(near, getattr(self, f"{name}_far"))
        return near + max(0.0, farness(held)) * (far - near)


def farness(held: float) -> float:
    """0 at NEAR_BYTES, 1 at FAR_BYTES and beyond, by the logarithm."""
    return min(1.0, log(max(1.0, held) / NEAR_BYTES) / log(FAR_BYTES / NEAR_BYTES))


@dataclass(frozen=True)
class Machine:
    """Constants, and where they come from: `measured` here, or the defaults."""

    constants: Constants
    measured: bool
    cpu: str
    code: str
    note: str = ""

    def about(self) -> dict[str, Any]:
        """Flat, without the constants."""
        return {"measured": self.measured, "cpu": self.cpu, "note": self.note}


DEFAULT_CPU = "AMD EPYC, 2 cores of a virtual machine"


def constants_file() -> Path:
    """Where this user's are."""
    return user_cache() / "engine-constants.json"


def keep_constants(constants: dict[str, float], cpu: str) -> Path:
    """Write what was measured; the rest stays as it was."""
    path = constants_file()
    kept = {"cpu": cpu, "code": source_digest(), "constants": constants}
    path.parent.mkdir(parents=True, exist_ok=True)
    write_text(path, json.dumps(kept, indent=1) + "\n")
    return path


def typed(values: Mapping[str, float]) -> dict[str, Any]:
    """Those that there are, whole numbers where they count bytes of processes."""
    known = {one.name: one.default for one in fields(Constants)}
    found: dict[str, Any] = {}
    for name in (name for name in known if name in values):
        found[name] = int(values[name]) if isinstance(known[name], int) else float(values[name])
    return found


def this_machine() -> Machine:
    """What was measured here; the defaults where nothing was, or where the file means nothing."""
    try:
        kept = json.loads(constants_file().read_text(encoding="utf-8"))
        values = typed(kept["constants"])
        if not all(value >= 0 for value in values.values()):
            raise ValueError
        note = "" if kept["code"] == source_digest() else "measured with other code: bench again"
        return Machine(Constants(**values), True, str(kept["cpu"]), str(kept["code"]), note)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        note = "constants of another machine: `xorec bench engine` measures this one"
        return Machine(Constants(), False, DEFAULT_CPU, "", note)


def cpu_name() -> str:
    """What the CPU calls itself."""
    import platform

    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine() or "unknown"
