from dataclasses import replace
from itertools import chain, permutations, product

import numpy as np
import pytest

from xorec.data.categories import Categories
from xorec.data.ids import Ids
from xorec.data.interactions import Interactions
from xorec.data.text import Text
from xorec.evaluation.protocol import evaluate
from xorec.representations.vectors import Vectors

OF = [["rock"], ["rock", "live"], ["jazz"], [], ["jazz", "live"], ["rock"], ["live"], ["none"]]


def setting(levels: int) -> tuple[Vectors, Interactions, Interactions]:
    rng = np.random.default_rng(levels)
    n, m = 30, len(OF)
    labels = ["live", "jazz", "rock", "none", "unused"]
    categories = Categories(
        Text.pack(labels),
        np.cumsum([0, *map(len, OF)]),
        np.array([labels.index(name) for names in OF for name in names], np.int32),
    )
    part = rng.choice(3, (n, m), p=[0.4, 0.2, 0.4])
    part[:, 7] = 0  # no test item has category "none"
    users, items = Ids.of(range(n)), Ids.of(range(m))
    train, test = (
        replace(Interactions.from_rows(users, items, *np.nonzero(part == p)), categories=categories)
        for p in (1, 2)
    )
    scores = rng.integers(0, levels, (n, m)).astype(np.float32)
    return Vectors(scores, np.eye(m, dtype=np.float32)), train, test


def slow_ndcg(order: list[int], relevant: set[int], k: int) -> float:
    gain = sum(1 / np.log2(at + 2) for at, item in enumerate(order[:k]) if item in relevant)
    return float(gain / sum(1 / np.log2(at + 2) for at in range(min(k, len(relevant)))))


@pytest.mark.parametrize("levels", [3, 4])
def test_agrees_with_the_definition_over_all_tie_orders(levels: int) -> None:
    model, train, test = setting(levels)
    rows = evaluate(model, train, test, ks=(1, 3, 20), by_category=True).categories
    assert {row["category"] for row in rows} == {"rock", "jazz", "live"}
    assert [row["test_items"] for row in rows] == sorted(
        (row["test_items"] for row in rows), reverse=True
    )
    for row in rows:
        members = {item for item, names in enumerate(OF) if row["category"] in names}
        assert row["items"] == len(members)
        values: dict[int, list[float]] = {1: [], 3: [], 20: []}
        tests = 0
        for user in range(train.n_users):
            relevant = members & set(test.of_user(user).tolist())
            if not relevant:
                continue
            tests += len(relevant)
            shown = set(range(len(OF))) - set(train.of_user(user).tolist())
            scores = model.scores(np.array([user]))[0]
            groups = [[i for i in shown if scores[i] == s] for s in range(levels - 1, -1, -1)]
            orders = [[*chain(*order)] for order in product(*map(permutations, groups))]
            for k, found in values.items():
                ndcgs = [slow_ndcg(order, relevant, k) for order in orders]
                found.append(float(np.mean(ndcgs)))
        assert row["users"] == len(values[1])
        assert row["test_items"] == tests
        for k, found in values.items():
            assert row[f"ndcg@{k}_expected"] == pytest.approx(np.mean(found), abs=1e-12)


def test_without_ties_both_values_are_one_and_the_same() -> None:
    model, train, test = setting(10**6)
    for row in evaluate(model, train, test, by_category=True).categories:
        assert row["ndcg@10"] == row["ndcg@10_expected"]


def test_one_category_of_everything_is_the_plain_metric() -> None:
    model, train, test = setting(3)
    m = train.n_items
    whole = Categories(Text.pack(["all"]), np.arange(m + 1), np.zeros(m, np.int32))
    found = evaluate(model, train, replace(test, categories=whole), by_category=True)
    (row,) = found.categories
    for name in ("ndcg@10", "ndcg@10_expected"):
        assert row[name] == pytest.approx(found[name], abs=1e-12)
    assert row["users"] == found.n_users
