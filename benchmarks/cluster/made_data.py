"""Pairs of any number, made by seed and streamed to Parquet: items by a power law."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np

_USERS_AT_ONCE = 100_000
PAIRS_A_USER = 20
"""On average; the fewest have 5, and a few have hundreds."""
MOST_TESTED = 500_000
"""Users with test pairs, at most: ranking 100,000 items for 5 million would take an hour."""


def make_pairs(pairs: int, folder: Path, *, tests: bool = False, seed: int = 21) -> Path:
    """The file of about so many pairs; what it holds exactly stands in a .json beside it.

    tests: other pairs of the same users and items, a fifth as many for each of `MOST_TESTED` users.
    """
    path = folder / f"{'tests' if tests else 'pairs'}-{pairs}.parquet"
    about = path.with_suffix(".json")
    if path.exists() and about.exists():
        return path
    import pyarrow as pa
    import pyarrow.parquet as pq

    users, items = max(10, pairs // PAIRS_A_USER), max(100, int(10 * pairs**0.5))
    rng = np.random.Generator(np.random.Philox(seed))
    ids = rng.permutation(items).astype(np.int64)
    if tests:
        users = min(users, MOST_TESTED)
        rng = np.random.Generator(np.random.Philox(seed + 1))
    least, scale = (1, 0.9) if tests else (5, 2.2)
    seen, made = np.zeros(items, dtype=np.bool_), 0
    schema = pa.schema({"user": pa.int64(), "item": pa.int64()})
    folder.mkdir(parents=True, exist_ok=True)
    with pq.ParquetWriter(path, schema) as writer:
        for begin in range(0, users, _USERS_AT_ONCE):
            count = min(_USERS_AT_ONCE, users - begin)
            lengths = (least + rng.lognormal(scale, 0.95, count)).astype(np.int64)
            lengths = np.minimum(lengths, items // 4)
            owners = np.repeat(np.arange(begin, begin + count), lengths)
            places = np.floor(items * rng.random(len(owners)) ** 2.5).astype(np.int64)
            whole = np.unique(owners * items + places)
            owners, places = whole // items, whole % items
            seen[places] = True
            made += len(whole)
            writer.write_table(pa.table({"user": owners, "item": ids[places]}, schema=schema))
    about.write_text(
        json.dumps({"pairs": made, "users": users, "items": int(seen.sum()), "seed": seed}) + "\n",
        encoding="utf-8",
    )
    return path


def sizes_of(path: Path) -> dict[str, Any]:
    """What a made file holds."""
    return dict(json.loads(path.with_suffix(".json").read_text(encoding="utf-8")))
