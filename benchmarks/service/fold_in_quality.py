"""Events over HTTP are nearly as good as a refit that has them.

    python benchmarks/service/fold_in_quality.py --data PATH/TO/ml-1m --json

The last fifth of the history of some users is taken out of the training part (by time where there
are times, else at random). A model learns from the rest and is served; the fifth arrives as events;
NDCG@10 of the lists over HTTP is held against that of a model that learned from everything. Both
are measured on a test part that neither has seen.
"""

from __future__ import annotations

import argparse
import math
import sys
import tempfile
from pathlib import Path
from typing import Any

import numpy as np

import xorec
from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.models import model_class
from xorec.recommender.recommender import Recommender

sys.path.insert(0, str(Path(__file__).parents[2]))  # for tests.support
from tests.support.load import Caller, Figures, Served, promise

K = 10
SHARE = 0.2
"""The last fifth."""
WORSE = 0.03


def run(wanted: argparse.Namespace) -> tuple[bool, Figures]:
    data = _read(wanted)
    parts = xorec.split(data, test=0.2, seed=wanted.seed, method=wanted.split)
    train, test = parts.train, parts.test
    rng = np.random.default_rng(wanted.seed)
    counts = np.asarray(train.user_counts)
    tested = np.flatnonzero((counts >= 5) & (np.asarray(test.user_counts) > 0))
    chosen = np.sort(rng.permutation(tested)[: wanted.users])
    late = _late(train, chosen, rng)
    without, refit = _learn(wanted, train.select(~late)), _learn(wanted, train)
    users = [train.users[int(row)] for row in chosen]
    relevant = {user: _items(test, int(row)) for user, row in zip(users, chosen, strict=True)}
    late_rows = np.flatnonzero(late)
    sent = [
        {"user": _json(train.users[int(u)]), "item": _json(train.items[int(i)]), "event_id": f"{n}"}
        for n, (u, i) in enumerate(
            zip(train.user_rows[late_rows], train.indices[late_rows], strict=True)
        )
    ]
    with tempfile.TemporaryDirectory(prefix="xorec-fold-in-") as name:
        folder = Path(name)
        without.save(folder / "shop.xorec")
        with Served(folder) as served, served.caller() as caller:
            before = [_list(caller, user) for user in users]
            for begin in range(0, len(sent), 1000):
                status, answer = caller.post("/v1/events", {"events": sent[begin : begin + 1000]})
                assert status == 200, answer
            after = [_list(caller, user) for user in users]
    whole = [best.ids() for best in refit.recommend_many(users, K)]
    figures = {
        "ndcg@10_before_events": _mean(before, users, relevant),
        "ndcg@10_with_events": _mean(after, users, relevant),
        "ndcg@10_refit": _mean(whole, users, relevant),
    }
    ratio = figures["ndcg@10_with_events"] / figures["ndcg@10_refit"]
    return ratio >= 1 - WORSE, {
        "data": str(wanted.data),
        "model": wanted.model,
        "users": len(users),
        "events": len(sent),
        **{key: round(value, 5) for key, value in figures.items()},
        "ratio": round(ratio, 4),
    }


def _learn(wanted: argparse.Namespace, train: Interactions) -> Recommender:
    settings = {"seed": wanted.seed, "threads": wanted.threads}
    model = model_class(wanted.model)(**_settings(wanted))
    return Recommender.from_model(model.fit(train, options=RunOptions(**settings)), train)


def _read(wanted: argparse.Namespace) -> Interactions:
    if wanted.data is None:
        from xorec.testing.data import planted

        return planted(400, 200, per_user=25)
    place = Path(wanted.data)
    return xorec.read(place / "interactions.parquet" if place.is_dir() else place)


def _settings(wanted: argparse.Namespace) -> dict[str, object]:
    pairs = (setting.split("=") for setting in wanted.set)
    return {name: int(value) if value.isdigit() else value for name, value in pairs}


def _late(train: Interactions, chosen: Any, rng: np.random.Generator) -> Any:
    """Which pairs arrive as events."""
    late = np.zeros(train.n_pairs, dtype=np.bool_)
    times = train.times
    for row in chosen.tolist():
        begin, end = int(train.indptr[row]), int(train.indptr[row + 1])
        count = max(1, round(SHARE * (end - begin)))
        keys = rng.random(end - begin) if times is None else np.asarray(times[begin:end])
        late[begin + np.argsort(keys, kind="stable")[-count:]] = True
    return late


def _items(part: Interactions, row: int) -> set[object]:
    return {part.items[int(i)] for i in part.indices[part.indptr[row] : part.indptr[row + 1]]}


def _json(raw: object) -> object:
    return raw.item() if hasattr(raw, "item") else raw


def _list(caller: Caller, user: object) -> list[object]:
    status, answer = caller.post("/v1/recommend", {"user": _json(user), "k": K})
    assert status == 200, answer
    return [item["id"] for item in answer["items"]]


def _mean(
    lists: list[list[object]], users: list[object], relevant: dict[object, set[object]]
) -> float:
    """NDCG@10."""
    total = 0.0
    for user, listed in zip(users, lists, strict=True):
        wanted = relevant[user]
        gain = sum(1 / math.log2(at + 2) for at, item in enumerate(listed) if item in wanted)
        total += gain / sum(1 / math.log2(at + 2) for at in range(min(K, len(wanted))))
    return total / len(users)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", help="a folder or file; without it a planted data set")
    parser.add_argument("--model", default="dsiml")
    parser.add_argument("--set", nargs="*", default=[], help="settings of the model: bits=64")
    parser.add_argument("--users", type=int, default=2000)
    parser.add_argument("--split", default="per-user")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int, default=1)
    short = {"users": 100, "model": "als", "set": ["epochs=5", "dimensions=8"]}
    return promise("fold-in-quality", run, parser, short)


if __name__ == "__main__":
    sys.exit(main())
