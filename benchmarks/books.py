"""DSIML end to end on made-up data of the size of the paper's Books: seconds and peak memory.

    python benchmarks/books.py --scale 0.01 --json

603,374 users, 348,957 items and 8.6 million distinct pairs at --scale 1; a smaller scale takes that
share of each. Activity of users and popularity of items follow power laws; each user has two of the
hidden groups of items, and most pairs come from these. Same seed, same data.
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from xorec.core.options import RunOptions
from xorec.core.progress import SILENT, TerminalProgress
from xorec.data.ids import Ids
from xorec.data.interactions import Interactions
from xorec.data.split import Split, split
from xorec.evaluation.protocol import evaluate
from xorec.models.base import Model, fit_with_validation
from xorec.models.baselines.popularity import Popularity
from xorec.models.siml.dsiml import DSIML
from xorec.recommender.recommender import Recommender
from xorec.representations.base import Representation

USERS, ITEMS, PAIRS = 603_374, 348_957, 8_600_000
OWN, SECOND = 0.55, 0.85
"""Below the first: a draw from the user's first group; below the second: from the second one."""
T = TypeVar("T")


def make(users: int, items: int, pairs: int, groups: int, seed: int) -> Interactions:
    """`pairs` distinct pairs; rows of users and items say nothing of activity or popularity."""
    rng = np.random.default_rng(seed)
    groups = max(1, min(groups, items // 20))
    activity = rng.pareto(1.5, users) + 0.3
    interests = rng.integers(groups, size=(users, 2), dtype=np.int32)
    row_of = rng.permutation(items).astype(np.int32)
    ids = Ids("int64", np.arange(users)), Ids("int64", np.arange(items))
    own, drawn = np.zeros(0, dtype=np.int32), np.zeros(0, dtype=np.int32)
    while True:
        missing = pairs - len(drawn)
        counts = rng.poisson(activity * (1.2 * missing / activity.sum())) + (len(drawn) == 0)
        more = np.repeat(np.arange(users, dtype=np.int32), counts)
        new = row_of[_draw(rng, interests[more], items, groups)]
        merged = Interactions.from_rows(
            *ids, np.concatenate([own, more]), np.concatenate([drawn, new])
        )
        if merged.n_pairs >= pairs:
            break
        own, drawn = merged.user_rows, merged.indices
    keep = np.zeros(merged.n_pairs, dtype=np.bool_)
    keep[rng.choice(merged.n_pairs, pairs, replace=False)] = True
    return merged.select(keep)


def _draw(
    rng: np.random.Generator, interests: npt.NDArray[np.int32], items: int, groups: int
) -> npt.NDArray[np.int64]:
    """An item by popularity for each row: of one of its groups (item % groups), or of all."""
    size = len(interests)
    kind = rng.random(size, dtype=np.float32)
    chosen = np.where(kind < OWN, interests[:, 0], interests[:, 1])
    inside = chosen + groups * _power_law(rng, items // groups, size)
    return np.where(kind < SECOND, inside, _power_law(rng, items, size))


def _power_law(rng: np.random.Generator, count: int, size: int) -> npt.NDArray[np.int64]:
    """Numbers below `count`, r with a chance in proportion to (r + 5) ** -0.8."""
    total = np.cumsum((np.arange(count) + 5.0) ** -0.8)
    places = np.searchsorted(total, rng.random(size) * total[-1])
    return np.asarray(np.minimum(places, count - 1), dtype=np.int64)


class Stages:
    """Seconds of each stage, and the peak of memory up to its end."""

    def __init__(self, quiet: bool) -> None:
        self.rows: list[dict[str, Any]] = []
        self._quiet = quiet

    def run(self, name: str, work: Callable[[], T]) -> T:
        """Do the work and note it."""
        began = time.perf_counter()
        result = work()
        seconds = time.perf_counter() - began
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        self.rows.append({"stage": name, "seconds": seconds, "peak_mb": peak})
        if not self._quiet:
            print(f"{name:10} {seconds:9.1f} s  peak {peak:8.0f} MB", flush=True)
        return result


def fit(arguments: argparse.Namespace, parts: Split, options: RunOptions) -> Model[Any]:
    """DSIML with the epochs asked for, or as many as validation chooses."""
    start = {"epochs": arguments.start_epochs}
    model = DSIML(bits=arguments.bits, epochs=arguments.epochs, start=start)
    return fit_with_validation(model, parts.train, parts.validation, options)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--scale", type=float, default=1.0)
    parser.add_argument("--users", type=int)
    parser.add_argument("--items", type=int)
    parser.add_argument("--pairs", type=int)
    parser.add_argument("--groups", type=int, default=400)
    parser.add_argument("--bits", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=3, help="of the codes, at most")
    parser.add_argument("--start-epochs", type=int, default=5, help="of the vectors, at most")
    parser.add_argument("--validation", type=float, default=0.0, help="share to find epochs on")
    parser.add_argument("--test", type=float, default=0.1)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int)
    parser.add_argument("-o", "--output", type=Path, default=Path("books.xorec"))
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    seed, scale = arguments.seed, arguments.scale
    sizes = {"users": USERS, "items": ITEMS, "pairs": PAIRS}
    size = {name: getattr(arguments, name) or round(scale * n) for name, n in sizes.items()}
    progress = SILENT if arguments.json else TerminalProgress()
    options = RunOptions(seed=seed, threads=arguments.threads, progress=progress)
    stages = Stages(arguments.json)
    data = stages.run("make", lambda: make(**size, groups=arguments.groups, seed=seed))
    shares = {"test": arguments.test, "validation": arguments.validation, "seed": seed}
    parts = stages.run("split", lambda: split(data, **shares))
    model = stages.run("fit", lambda: fit(arguments, parts, options))
    known = parts.train if parts.validation is None else parts.train.union(parts.validation)
    shop = Recommender.from_model(model, known, seed=seed)
    stages.run("save", lambda: shop.save(arguments.output))

    def ndcg(representation: Representation) -> float:
        return evaluate(representation, known, parts.test, ks=(20,), options=options)["ndcg@20"]

    found = stages.run("evaluate", lambda: ndcg(shop.representation))
    floor = stages.run("popularity", lambda: ndcg(Popularity().fit(known).representation_))
    facts = {
        "data": {**size, "digest": data.digest()},
        "rows": stages.rows,
        "config": model.config.model_dump(),
        "codes": shop.metadata["codes"],
        "file_bytes": arguments.output.stat().st_size,
        "ndcg@20": found,
        "ndcg@20_popularity": floor,
    }
    if arguments.json:
        print(json.dumps(facts))
    else:
        for name in ("data", "codes", "file_bytes", "ndcg@20", "ndcg@20_popularity"):
            print(f"{name:18} {facts[name]}")


if __name__ == "__main__":
    main()
