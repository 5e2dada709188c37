"""The chooser: scan or tables, and how many, by what a search of each is expected to cost.

Costs are counted, not timed, so the choice is the same on every machine and in every run.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import comb, exp
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words, popcount
from xorec.core.kernels import kernel
from xorec.search.hamming.buckets_kernels import substring
from xorec.search.hamming.tables import WIDEST, bytes_for, rings_of, substrings
from xorec.search.hamming.tables_kernels import BUCKET, CANDIDATE, PROBE

Method = Literal["auto", "scan", "mih"]

ASKED = "asked for"
"""Why a method was chosen that is not "auto"."""
SCAN = 0.0045
"""Nanoseconds that a scan spends on one bit of one item, about."""
START = 1_200.0
"""Nanoseconds that a table takes beyond what is counted below, and a scan does not."""
SAMPLE_QUERIES, SAMPLE_ITEMS, PLANNED_K = 32, 16_384, 10
MOST_TABLES = 16
"""Unless the code is so long that the longest substrings need more."""
_FEW = 3_000.0
"""A scan of so few nanoseconds needs no better."""


@dataclass(frozen=True)
class Option:
    """What a search by this many tables (0: the scan) is expected to take."""

    tables: int
    nanoseconds: float
    probes: float = 0.0
    candidates: float = 0.0
    nbytes: int = 0

    def __str__(self) -> str:
        if not self.tables:
            return f"scan {self.nanoseconds / 1000:.1f} us"
        return (
            f"{self.tables} tables {self.nanoseconds / 1000:.1f} us "
            f"({self.probes:.0f} probes, {self.candidates:.0f} candidates)"
        )


@dataclass(frozen=True)
class Plan:
    """The option that was chosen, and why."""

    chosen: Option
    why: str
    others: tuple[Option, ...] = ()


def scan_cost(items: int, bits: int) -> float:
    """Nanoseconds of one scan."""
    return SCAN * items * bits


def possible_tables(bits: int, items: int) -> range:
    """Numbers of tables worth a thought: substrings of about log2(items) bits, and around."""
    ideal = bits / max(4.0, float(np.log2(max(2, items))))
    fewest = max(1, -(-bits // WIDEST), int(ideal * 0.7))
    most = min(bits, MOST_TABLES, int(ideal * 2.0) + 1)
    return range(fewest, max(fewest, most) + 1)


def choose(
    codes: Words,
    bits: int,
    queries: Words,
    kth: npt.NDArray[np.int64],
    *,
    method: Method,
    memory: float | None,
) -> Plan:
    """Plan for the items `codes` (m, W), from a few queries whose k-th distance is known.

    memory: bytes an item that the tables may take.
    """
    items = len(codes)
    scan = Option(0, scan_cost(items, bits))
    if method == "scan":
        return Plan(scan, ASKED)
    options = [
        estimate(codes, bits, tables, queries, kth)
        for tables in possible_tables(bits, items)
        if memory is None or bytes_for(bits, tables, items) <= memory * items
    ]
    if not options:
        return Plan(scan, f"no table fits into {memory:g} bytes an item")
    best = min(options, key=lambda option: option.nanoseconds)
    if method == "mih":
        return Plan(best, ASKED, tuple(options))
    return Plan(min(scan, best, key=lambda o: o.nanoseconds), "least expected", (scan, *options))


def no_need_to_plan(items: int, bits: int) -> bool:
    """Whether there are so few items that the scan is as good as anything."""
    return scan_cost(items, bits) < _FEW


def estimate(
    codes: Words, bits: int, tables: int, queries: Words, kth: npt.NDArray[np.int64]
) -> Option:
    """What a search by `tables` tables costs, over the sample; hopeless queries cost a scan too."""
    begins, widths = substrings(bits, tables)
    deepest = len(rings_of(widths)[0]) - 1
    every = max(1, len(codes) // SAMPLE_ITEMS)
    items = np.ascontiguousarray(codes[::every])
    scan = scan_cost(len(codes), bits)
    costs, probes, candidates = [], [], []
    for query, distance in zip(queries, kth, strict=True):
        radii = np.array([(int(distance) - t) // tables for t in range(tables)])
        tried = sum(
            comb(int(width), s)
            for width, radius in zip(widths, radii, strict=True)
            for s in range(min(int(width), int(radius)) + 1)
        )
        found = every * count_within(items, query, begins, widths, radii)
        buckets = 0.6 * tried * (1 - exp(-found / max(1, tried)))
        cost = PROBE * tried + BUCKET * buckets + CANDIDATE * len(query) * found
        cost += START * tables
        costs.append(2 * scan if radii.max() > deepest else min(cost, 2 * scan))
        probes.append(tried)
        candidates.append(found)
    return Option(
        tables,
        float(np.mean(costs)),
        float(np.mean(probes)),
        float(np.mean(candidates)),
        bytes_for(bits, tables, len(codes)),
    )


@kernel
def count_within(items: Any, query: Any, begins: Any, widths: Any, radii: Any) -> int:
    """How often an item is within a table's radius of the query in that table's substring."""
    count = 0
    for t in range(len(begins)):
        key = substring(query, begins[t], widths[t])
        for item in range(len(items)):
            other = substring(items[item], begins[t], widths[t])
            count += np.int64(popcount(np.uint64(key ^ other))) <= radii[t]
    return count
