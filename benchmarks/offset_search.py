"""What offsets of items cost a search: the same codes with and without, side by side.

    python benchmarks/offset_search.py --items 1000000 --bits 64 32 20 --k 10 100 --rounds 15

Codes from low-rank factors. Offsets are the logarithms of counts that fall as the rank to the power
of -0.8, the largest is --most. Every index is exact and of one thread; some lists are compared with
all distances first. Microseconds a query of the thread's own time, medians and minima over rounds
in which all take turns: one by one (through the whole of a call), and in batches of 64.
"""

from __future__ import annotations

import argparse
import json
import time
from statistics import median
from typing import Any

import numpy as np

from xorec.core.bits import pack_signs
from xorec.search.hamming.index import HammingIndex

SINGLE, BATCH = 24, 64


def low_rank(rng: np.random.Generator, rows: int, bits: int, factors: Any) -> Any:
    """Codes (rows, W): the signs of random vectors times `factors`."""
    parts = [
        pack_signs(rng.standard_normal((min(100_000, rows - at), len(factors))) @ factors)
        for at in range(0, rows, 100_000)
    ]
    return np.concatenate(parts)


def make_offsets(rng: np.random.Generator, items: int, most: int) -> Any:
    """The largest is `most`; few are large."""
    logs = np.log1p(100_000 / (1 + rng.permutation(items)) ** 0.8)
    return np.round(most * (logs - logs.min()) / (logs.max() - logs.min())).astype(np.uint8)


def check(index: HammingIndex, codes: Any, offsets: Any, queries: Any) -> None:
    """A few lists against all distances."""
    hits = index.search(queries[:4], 10)
    for b in range(4):
        far = np.bitwise_count(codes ^ queries[b]).sum(axis=1).astype(np.int64) - offsets
        assert hits.distances is not None
        assert hits.distances[b].tolist() == np.sort(far, kind="stable")[:10].tolist()


def timed(index: HammingIndex, queries: Any, k: int) -> tuple[float, float]:
    """Microseconds a query: (one by one, in batches)."""
    each = []
    for b in range(SINGLE):
        began = time.thread_time()
        index.search(queries[b : b + 1], k)
        each.append(time.thread_time() - began)
    began = time.thread_time()
    index.search(queries[:BATCH], k)
    return 1e6 * median(each), 1e6 * (time.thread_time() - began) / BATCH


def compare(
    made: dict[str, HammingIndex], queries: Any, k: int, asked: argparse.Namespace
) -> dict[str, Any]:
    """Medians and minima of both, and their ratios: [one by one, in batches]."""
    times: dict[str, list[tuple[float, float]]] = {name: [] for name in made}
    for number in range(asked.rounds):
        part = np.roll(queries, -BATCH * number, axis=0)
        for name, index in made.items():
            times[name].append(timed(index, part, k))
    row: dict[str, Any] = {}
    for name, found in times.items():
        columns = list(zip(*found, strict=True))
        row[name] = [round(median(column), 1) for column in columns]
        row[f"{name}_least"] = [round(min(column), 1) for column in columns]
        row[f"index_{name}"] = made[name].explain()
    for least in ("", "_least"):
        pairs = zip(row[f"without{least}"], row[f"with{least}"], strict=True)
        row[f"ratio{least}"] = [round(b / a, 2) for a, b in pairs]
    return row


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=1_000_000)
    parser.add_argument("--bits", type=int, nargs="+", default=[64, 32, 20])
    parser.add_argument("--k", type=int, nargs="+", default=[10])
    parser.add_argument("--most", type=int, default=7, help="the largest offset")
    parser.add_argument("--method", default="auto")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--json", action="store_true")
    asked = parser.parse_args()
    rows = []
    for bits in asked.bits:
        rng = np.random.default_rng(bits)
        factors = rng.standard_normal((16, bits))
        codes, queries = (low_rank(rng, n, bits, factors) for n in (asked.items, 512))
        offsets = make_offsets(rng, asked.items, asked.most)
        how: Any = {"method": asked.method, "sample": queries, "threads": 1}
        made = {
            "without": (HammingIndex(codes, bits, **how), np.zeros_like(offsets)),
            "with": (HammingIndex(codes, bits, offsets=offsets, **how), offsets),
        }
        for index, own in made.values():
            check(index, codes, own.astype(np.int64), queries)
        for k in asked.k:
            row: dict[str, Any] = {"bits": bits, "items": asked.items, "most": asked.most, "k": k}
            row |= compare({name: index for name, (index, _) in made.items()}, queries, k, asked)
            rows.append(row)
            if not asked.json:
                print(row, flush=True)
    if asked.json:
        print(json.dumps({"rows": rows}))


if __name__ == "__main__":
    main()
