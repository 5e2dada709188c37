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
READ_BYTES_PAIR, SAVE_BYTES_PAIR = 46.9, 16.0
"""Held for a while for each pair that is read, or written to a model file."""
NETWORK_BYTES_PER_SECOND = 1.0e9
"""Between machines, on paper: 10 Gbit/s."""
SHUFFLE_RATIO = 0.8
"""Bytes of a shuffle as written (lz4) over bytes of its arrays."""
JVM_BYTES_BYTE = 6.2
"""Bytes of Java's heap for a byte of blocks that pass through, until the heap is at its limit."""
RATIOS = {
    "us_save_pair": ("us_read_pair", 0.12),
    "ns_blas": ("ns_flop", 0.3),  # a multiplication with an addition in a matrix product
    "ns_ridge": ("ns_flop", 3.0),  # a step of a neighbour's system
    "us_row": ("ns_flop", 18.4),  # a row besides its system
    "ns_candidate": ("ns_meeting", 4.5),  # an item that may be a neighbour
    "ns_link": ("ns_meeting", 2.25),  # a user of a neighbour, where items are too many to count all
    "ns_flip": ("ns_triplet", 4.2),  # a triplet and a sweep, 64 bits
    "ns_bqp": ("ns_triplet", 11.6),
    "ns_flip_blocks": ("ns_triplet", 5.3),  # negatives are drawn three times, roles are sorted
    "ns_bqp_blocks": ("ns_triplet", 12.6),
    "ns_accept": ("ns_triplet", 0.044),  # on the driver: the items of a block one after another
    "us_list": ("ns_list_word", 3.8),
    "us_list_row": ("ns_list_word", 0.57),  # a row of a list that is written
    "us_ranked": ("ns_list_word", 112.0),  # a user of an evaluation
    "ns_score": ("ns_list_word", 4.7),  # a user and an item of an evaluation
    "executor_seconds": ("worker_seconds", 2.9),  # an executor's own JVM until its first task
    "task_seconds": ("spark_job_seconds", 0.1),
    "driver_bytes_per_second": ("bytes_per_second", 8.5),  # of the driver's Python: all wait
    "file_bytes_per_second": ("bytes_per_second", 10.0),  # a shared file, written and mapped
    "pyspark_bytes": ("python_bytes", 0.23),
    "worker_bytes": ("python_bytes", 1.16),
}
"""What costs in proportion to a constant, by name; as measured on the machine of docs/scale.md."""


@dataclass(frozen=True)
class Constants:
    """What is measured: seconds of a core while every core works, bytes, and bytes a second."""

    start_seconds: float = 1.6
    """Of a command: Python, libraries, kernels from their cache."""
    us_read_pair: float = 0.107
    """Of a pair that is read from Parquet."""
    ns_flop: float = 0.093
    """Of a multiplication with an addition in a row's system (als)."""
    ns_meeting: float = 4.32
    """Of two items that one user has (slim, item-knn)."""
    ns_triplet: float = 190.0
    """Of a triplet of SIML and an epoch, 64 dimensions."""
    far_times: float = 2.3
    """As much longer takes a loop that reaches at random into memory beyond all caches."""
    ns_list_word: float = 0.261
    """Of a list and a word (64 bits) of an item's code."""
    python_bytes: int = 223_000_000
    """Of a process that has loaded its libraries."""
    spark_start_seconds: float = 9.28
    """CPU of a session and its first worker; about the same by the clock where cores are free."""
    spark_job_seconds: float = 0.197
    """CPU of an empty job."""
    worker_seconds: float = 3.79
    """CPU of a Python worker until its first block: libraries, the probe of its sums, kernels."""
    bytes_per_second: float = 40e6
    """Blocks and results between a Python process and the JVM, and through a shuffle: CPU of all
    processes, most of it on executors."""
    jvm_bytes: int = 704_000_000
    """Of Java and Spark before any block."""

    def row(self) -> dict[str, Any]:
        """Flat, for JSON."""
        return asdict(self)

    def of(self, name: str, held: float = 0.0) -> float:
        """A constant, or what goes with one by `RATIOS`.

        held: bytes that the loop reaches into at random; beyond all caches it takes `far_times`.

        >>> slow = Constants(ns_flop=1.0, far_times=3.0)
        >>> slow.of("ns_flop"), slow.of("ns_flop", NEAR_BYTES), slow.of("ns_flop", FAR_BYTES)
        (1.0, 1.0, 3.0)
        >>> slow.of("ns_ridge")
        3.0
        """
        base, times = RATIOS.get(name, (name, 1.0))
        near: float = times * getattr(self, base)
        return near * (1 + max(0.0, farness(held)) * max(0.0, self.far_times - 1))


def farness(held: float) -> float:
    """0 at NEAR_BYTES, 1 at FAR_BYTES and beyond, by the logarithm."""
    return min(1.0, log(max(1.0, held) / NEAR_BYTES) / log(FAR_BYTES / NEAR_BYTES))


@dataclass(frozen=True)
class MachineConstants:
    """Constants, and where they come from: `measured` here, or the defaults."""

    constants: Constants
    measured: bool
    cpu: str
    note: str

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
    whole = {one.name: isinstance(one.default, int) for one in fields(Constants)}
    return {
        name: int(values[name]) if whole[name] else float(values[name])
        for name in whole
        if name in values
    }


def this_machine() -> MachineConstants:
    """What was measured here; the defaults where nothing was, or where the file means nothing."""
    try:
        kept = json.loads(constants_file().read_text(encoding="utf-8"))
        values = typed(kept["constants"])
        if not all(value >= 0 for value in values.values()):
            raise ValueError
        note = "" if kept["code"] == source_digest() else "measured with other code: bench again"
        return MachineConstants(Constants(**values), True, str(kept["cpu"]), note)
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        note = "constants of another machine: `xorec bench engine` measures this one"
        return MachineConstants(Constants(), False, DEFAULT_CPU, note)


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
