from math import log2
from pathlib import Path

import numpy as np
import pytest

from xorec.evaluation.metrics import ITEM_METRICS, METRICS, USER_METRICS
from xorec.evaluation.metrics.base import MISSED, RankedTests, make_cuts
from xorec.evaluation.metrics.hits import gini


def metrics(ranks: list[int], n_test: int, ks: list[int]) -> dict[str, list[float]]:
    """What the metrics measure of one user, by the name of the values; without ties."""
    padded = np.array([*ranks, *[MISSED] * (n_test - len(ranks))], np.int32)
    tests = RankedTests(np.array([0, n_test]), padded, padded - 1, np.ones_like(padded))
    found = {}
    for metric in USER_METRICS.values():
        out = np.full((1, len(ks)), np.nan)
        metric.ranked(tests, make_cuts(tuple(ks), max(ks)), out)
        name = metric.per_user or metric.name
        counts = np.array([n_test])
        found[name] = [float(metric.scale(out[:, at], counts, k)[0]) for at, k in enumerate(ks)]
    return found


def test_names_are_distinct_and_in_order() -> None:
    assert (*USER_METRICS, *ITEM_METRICS) == METRICS
    assert len(set(METRICS)) == len(METRICS)
    assert METRICS[:3] == ("ndcg", "recall", "hr")
    for metric in USER_METRICS.values():
        assert bool(metric.per_user) == metric.pooled  # a pooled one keeps what it sums up


def test_the_documents_list_every_metric() -> None:
    text = (Path(__file__).parents[2] / "docs" / "evaluation.md").read_text()
    for metric in USER_METRICS.values():
        assert f"| `{metric.name}@k` | {metric.formula} | " in text
    for of_items in ITEM_METRICS.values():
        assert f"| `{of_items.name}@k` | | {of_items.formula} |" in text
    twins = " ".join(metric.name for metric in USER_METRICS.values() if metric.expected)
    assert f"`{twins}`" in text, f"under Expected values in docs/evaluation.md: {twins}"


def test_three_test_items_of_which_two_are_found_by_hand() -> None:
    found = metrics([2, 5], 3, [1, 2, 5])
    assert found["hits"] == [0, 1, 2]
    assert found["recall"] == pytest.approx([0, 1 / 3, 2 / 3], abs=1e-15)
    assert found["precision"] == pytest.approx([0, 1 / 2, 2 / 5], abs=1e-15)
    assert found["user_hr"] == [0, 1, 1]
    assert found["mrr"] == [0, 1 / 2, 1 / 2]
    ideal = [1, 1 + 1 / log2(3), 1 + 1 / log2(3) + 1 / 2]
    dcg = [0, 1 / log2(3), 1 / log2(3) + 1 / log2(6)]
    assert found["ndcg"] == pytest.approx([dcg[i] / ideal[i] for i in range(3)], abs=1e-15)
    assert found["map"] == pytest.approx([0, (1 / 2) / 2, (1 / 2 + 2 / 5) / 3], abs=1e-15)


def test_gini_by_hand() -> None:
    assert gini(np.array([3, 3, 3])) == pytest.approx(0)
    assert gini(np.array([0, 0, 0, 8])) == pytest.approx(3 / 4)
    assert gini(np.array([1, 3])) == pytest.approx(1 / 4)
    assert gini(np.array([0, 0])) == 0
