"""The small things around a search: finding ids, and what one call of a recommender takes in all.

    python benchmarks/look_up.py --items 10000 --json

Makes a model file of codes and one of vectors with string ids (and one with integers in no order),
opens them and times, each as the median over many calls: opening, the first look-up, twenty
look-ups, `recommend`, and `recommend_for` a new user with twenty items.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from xorec.data.ids import Ids
from xorec.data.tie_rank import tie_rank
from xorec.recommender.recommender import Recommender
from xorec.representations.base import Representation
from xorec.representations.codes import Codes
from xorec.representations.vectors import Vectors

USERS, SEEN, HISTORY, SIZE = 1_000, 100, 20, 64


def make(model: str, items: int, kind: str) -> Recommender:
    """A model of random rows with a thousand users, a hundred seen items each."""
    rng = np.random.default_rng(0)
    learned: Representation
    if model == "dsiml":
        words = [rng.integers(2**64, size=(n, 1), dtype=np.uint64) for n in (USERS, items)]
        learned, config = Codes(words[0], words[1], SIZE), {"bits": SIZE}
    else:
        rows = [rng.standard_normal((n, SIZE), dtype=np.float32) for n in (USERS, items)]
        learned, config = Vectors(rows[0], rows[1]), {"dimensions": SIZE}
    numbers = rng.permutation(items).astype(np.int64)
    ids = Ids("int64", numbers) if kind == "int" else Ids.of([f"B{n:09d}" for n in numbers])
    seen = np.sort(rng.integers(items, size=(USERS, SEEN), dtype=np.int32), axis=1)
    prior = rng.integers(1_000, size=items)
    return Recommender(
        learned,
        user_ids=Ids.of([f"user-{n}" for n in range(USERS)]),
        item_ids=ids,
        seen=(np.arange(USERS + 1, dtype=np.int64) * SEEN, seen.reshape(-1)),
        item_counts=prior,
        tie_rank=tie_rank(ids, prior),
        metadata={"model": model, "config": config},
    )


def microseconds(call: Callable[[int], object], calls: int) -> float:
    """The median over calls, after a few that do not count."""
    times = []
    for number in range(calls + 20):
        began = time.perf_counter()
        call(number)
        times.append(time.perf_counter() - began)
    return round(float(np.median(times[20:])) * 1e6, 1)


def measure(model: str, items: int, kind: str, calls: int) -> dict[str, Any]:
    """A row of figures, in microseconds."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.xorec"
        make(model, items, kind).save(path)
        began = time.perf_counter()
        shop = Recommender.load(path)
        opened = time.perf_counter()
        shop.item_ids.find(shop.item_ids[items // 2])
        found = time.perf_counter()
        rng = np.random.default_rng(1)
        lists = [shop.item_ids.take(rng.choice(items, HISTORY, replace=False)) for _ in range(100)]
        users = [f"user-{rng.integers(USERS)}" for _ in range(100)]
        shop.warm_up()
        return {
            "model": model,
            "items": items,
            "ids": kind,
            "open": round((opened - began) * 1e6, 1),
            "first_find": round((found - opened) * 1e6, 1),
            "find_20": microseconds(lambda n: shop.item_ids.find_many(lists[n % 100]), calls),
            "fold_in_20": microseconds(
                lambda n: shop.fold_in_rows(np.arange(20) * 7 + n % 100), calls
            ),
            "recommend": microseconds(lambda n: shop.recommend(users[n % 100]), calls),
            "recommend_for_20": microseconds(lambda n: shop.recommend_for(lists[n % 100]), calls),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=300)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    rows = [
        measure(model, options.items, kind, options.calls)
        for model, kind in (("dsiml", "str"), ("dsiml", "int"), ("als", "str"))
    ]
    if options.json:
        print(json.dumps(rows, indent=2))
        return
    for row in rows:
        print(", ".join(f"{name} {value}" for name, value in row.items()))


if __name__ == "__main__":
    main()
