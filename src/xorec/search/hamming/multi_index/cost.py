"""What searches by so many hash tables are expected to cost, from a sample of queries.

Costs are counted, not timed, so the choice is the same on every machine and in every run.
"""

from __future__ import annotations

from math import comb, exp
from typing import Any

import numpy as np

from xorec.core.bits import popcount
from xorec.core.kernels import kernel
from xorec.search.hamming.multi_index.probe_kernels import BUCKET, CANDIDATE, PROBE
from xorec.search.hamming.multi_index.tables import WIDEST, bytes_for, rings_of, substrings
from xorec.search.hamming.multi_index.tables_kernels import substring
from xorec.search.hamming.segment import Segment, scan_cost
from xorec.search.hamming.strategy import Option, Sample

START = 1_200.0
"""Nanoseconds that a table takes beyond what is counted below, and a scan does not."""
SAMPLE_ITEMS = 16_384
MOST_HEADS = 0.05
"""The share of the items that may be looked at one by one, before tables, for every query."""
MOST_TABLES = 16
"""Unless the code is so long that the longest substrings need more."""


def mih_options(strategy: str, segment: Segment, sample: Sample) -> list[Option]:
    """An option for each number of tables that is worth a thought and fits the memory."""
    bits, items, memory = segment.bits, len(segment), sample.memory
    counts = np.bincount(
        segment.offsets.max(initial=0) - segment.offsets, minlength=segment.most + 1
    )
    heads = np.concatenate([[0], np.cumsum(counts)])  # items of a lag below each
    levels = [lag for lag in range(segment.most + 1) if heads[lag] <= MOST_HEADS * items]
    return [
        min(
            (estimate(strategy, segment, sample, tables, lag, int(heads[lag])) for lag in levels),
            key=lambda option: option.nanoseconds,
        )
        for tables in possible_tables(bits, items)
        if memory is None or bytes_for(bits, tables, items) <= memory * items
    ]


def possible_tables(bits: int, items: int) -> range:
    """Numbers of tables worth a thought: substrings of about log2(items) bits, and around."""
    ideal = bits / max(4.0, float(np.log2(max(2, items))))
    fewest = max(1, -(-bits // WIDEST), int(ideal * 0.7))
    most = min(bits, MOST_TABLES, int(ideal * 2.0) + 1)
    return range(fewest, max(fewest, most) + 1)


def estimate(
    strategy: str,
    segment: Segment,
    sample: Sample,
    tables: int,
    least_lag: int = 0,
    heads: int = 0,
) -> Option:
    """What a search by `tables` tables costs, over the sample; hopeless queries cost a scan too.

    least_lag, heads: from which lag on items are looked for in tables, and how many are not.
    """
    begins, widths = substrings(segment.bits, tables)
    deepest = len(rings_of(widths)[0]) - 1
    rows, every = np.sort(segment.order.rows), max(1, len(segment) // SAMPLE_ITEMS)
    items = np.ascontiguousarray(sample.codes[rows[::every]])
    scan = scan_cost(len(segment), segment.bits)
    costs, probes, candidates = [], [], []
    for query, distance in zip(sample.queries, sample.kth, strict=True):
        radii = np.array([(int(distance) - least_lag - t) // tables for t in range(tables)])
        tried = sum(
            comb(int(width), s)
            for width, radius in zip(widths, radii, strict=True)
            for s in range(min(int(width), int(radius)) + 1)
        )
        found = every * count_within(items, query, begins, widths, radii)
        buckets = 0.6 * tried * (1 - exp(-found / max(1, tried)))
        cost = PROBE * tried + BUCKET * buckets + CANDIDATE * len(query) * found
        cost += START * tables + CANDIDATE * len(query) * heads
        costs.append(2 * scan if radii.max() > deepest else min(cost, 2 * scan))
        probes.append(tried)
        candidates.append(found)
    details = f" ({np.mean(probes):.0f} probes, {np.mean(candidates):.0f} candidates)"
    label = f"{tables} tables" + f" and {heads} items" * (heads > 0)
    return Option(strategy, label, float(np.mean(costs)), tables, details, least_lag)


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
