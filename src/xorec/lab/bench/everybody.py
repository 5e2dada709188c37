"""Lists for all users, by codes and by vectors: what rq3 measures at one size.

All methods answer the same users, seen items left out (faiss cannot), in interleaved rounds; ours
are held against brute force first.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from xorec.core.arrays import positive_int
from xorec.core.errors import OptionError
from xorec.core.options import DEFAULTS, RunOptions
from xorec.lab.bench.data import BenchData, draw_seen, make_data
from xorec.lab.bench.harness import interquartile_range
from xorec.lab.bench.methods import (
    FAST_WIDTHS,
    Build,
    by_blas,
    by_faiss,
    by_index,
    faiss_codes,
    fill_flat,
    hamming_index,
    missing_modules,
    thread_limit,
)
from xorec.lab.bench.query_times import Harness, Timings
from xorec.search.hits import Exclude

CODES, FLOATS = "xorec", "float-blas"
FAISS_CODES, FAISS_FLOATS = "faiss-binary-flat", "float-faiss"
METHODS: dict[str, Build] = {
    CODES: by_index("auto"),
    FLOATS: by_blas(),
    FAISS_CODES: faiss_codes(fill_flat, FAST_WIDTHS),
    FAISS_FLOATS: by_faiss,
}
CHECKED = 16
"""Users whose lists are held against brute force before the clock starts."""
NEAR = 20
"""Half of a seen list is from so many nearest items, or more where the list is longer."""


@dataclass(frozen=True)
class Size:
    """Users, items, and the items that a user has seen on average."""

    users: int
    items: int
    seen: int


def drawn_data(size: Size, bits: int, options: RunOptions) -> tuple[BenchData, Exclude]:
    """Low-rank factors with some noise, like learned vectors, and their signs; and seen lists."""
    for name, value in (("users", size.users), ("items", size.items), ("bits", bits)):
        positive_int(value, name)
    if size.seen < 0:
        raise OptionError(f"seen is {size.seen}: give 0 or more.")
    data = make_data("low-rank", size.items, bits, size.users, options.seed)
    threads = options.thread_count
    with options.progress.task(f"{size.items:,} items: seen lists"):
        index = hamming_index(data, "auto", threads)
        near = max(NEAR, size.seen)
        return data, draw_seen(data, index, size.seen, near, options.seed, threads)


def measure_lists(
    data: BenchData,
    seen: Exclude,
    part: str,
    size: str,
    *,
    k: int = 10,
    rounds: int = 5,
    budget: float = 20.0,
    options: RunOptions = DEFAULTS,
) -> list[dict[str, Any]]:
    """A flat row for each method: lists of `k` items, in so many rounds.

    part, size: what the data are, in the rows. budget: seconds of a method in one round.
    """
    length = min(positive_int(k), data.n_items)
    positive_int(rounds, "rounds")
    if not budget > 0:
        raise OptionError(f"budget is {budget}: give more than 0 seconds.")
    missing = missing_modules(["faiss"])
    builds = {one: make for one, make in METHODS.items() if not missing or "faiss" not in one}
    if missing:
        options.progress.note("faiss is not installed, so without it: pip install 'xorec[faiss]'.")
    threads, label = options.thread_count, f"{size}, {data.bits} bits"
    harness = Harness(rounds, budget, threads, options.progress, label)
    with thread_limit(threads, [] if missing else ["faiss"]):
        timings = [
            Timings(method, "batch", None if "faiss" in method.name else seen)
            for method in harness.build(builds, data, length, seen)
        ]
        harness.measure(timings, data, length, CHECKED)
    same = {"part": part, "size": size, "k": k, "threads": threads}
    return rows_of(timings, data, {**same, "seen": float(np.mean(np.diff(seen[0])))})


def rows_of(timings: list[Timings], data: BenchData, same: dict[str, Any]) -> list[dict[str, Any]]:
    """One flat row for each method, with what is the `same` in all.

    seconds: for all users, the median of the rounds; spread: half of what lies between the
    quartiles. users_measured: those who were timed; fewer than `users`, and `seconds` is scaled up.
    ratio_to: the time of the float side over this one's; ratio_spread: of the rounds' ratios.
    bytes: of what is searched; code_bytes: of the bare codes.
    """
    floats = next(one for one in timings if one.method.name == FLOATS)
    everybody = data.n_queries / 1e6
    rows = []
    for one in timings:
        us = float(np.median(one.us))
        rows.append(
            {
                **same,
                "users": data.n_queries,
                "items": data.n_items,
                "bits": data.bits,
                "dimensions": data.vectors[0].shape[1],
                "method": one.method.name,
                "seconds": us * everybody,
                "spread": interquartile_range(one.us) / 2 * everybody,
                "us_per_user": us,
                "users_measured": one.queries,
                "rounds": len(one.turns),
                "ratio_to": float(np.median(floats.us)) / us,
                "ratio_spread": interquartile_range(floats.us / one.us) / 2,
                "bytes": one.method.bytes,
                "code_bytes": data.n_items * -(-data.bits // 8),
                "build_seconds": one.method.build_seconds,
                "how": one.method.explanation,
            }
        )
    return rows
