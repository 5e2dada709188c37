"""What scores by the items that users have: ItemWeights and Neighbours, against plain sums."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from scipy.sparse import csr_array

from xorec.representations.base import Representation
from xorec.representations.item_weights import ItemWeights
from xorec.representations.neighbours import Neighbours

ITEMS = 23


def history(rng: np.random.Generator) -> Any:
    """Users with 0, 1, 2, ... 11 items: whole groups of four, and what is left of one."""
    rows = np.zeros((12, ITEMS), dtype=np.float32)
    for user in range(12):
        rows[user, rng.choice(ITEMS, size=user, replace=False)] = 1
    return csr_array(rows)


def cases() -> list[tuple[Representation, Any]]:
    """(representation, what item i says for item j (ITEMS, ITEMS))."""
    rng = np.random.default_rng(0)
    every = rng.standard_normal((ITEMS, ITEMS)).astype(np.float32)
    some = np.sort(rng.choice(ITEMS, size=15, replace=False)).astype(np.int32)
    between = np.zeros_like(every)
    between[np.ix_(some, some)] = every[np.ix_(some, some)]
    sparse = every * (rng.random(every.shape) < 0.3)
    all_items = np.arange(ITEMS, dtype=np.int32)
    return [
        (ItemWeights(every, all_items, history(rng)), every),
        (ItemWeights(np.ascontiguousarray(every[np.ix_(some, some)]), some, history(rng)), between),
        (Neighbours.of(csr_array(sparse), history(rng)), sparse),
    ]


@pytest.mark.parametrize("case", range(3))
def test_scores_are_sums_over_the_items_that_a_user_has(case: int) -> None:
    found, weights = cases()[case]
    has = found.queries(np.arange(12)).toarray()
    expected = has.astype(np.float64) @ weights
    np.testing.assert_allclose(found.scores(np.arange(12)), expected, atol=1e-5)
    np.testing.assert_allclose(found.scores(np.array([11, 3])), expected[[11, 3]], atol=1e-5)
    np.testing.assert_allclose(found.similar(np.arange(ITEMS)), weights, atol=1e-6)


@pytest.mark.parametrize("case", range(3))
def test_reasons_sum_to_the_score(case: int) -> None:
    found, weights = cases()[case]
    own = np.flatnonzero(found.queries(np.array([11])).toarray()[0])
    for item in range(ITEMS):
        np.testing.assert_allclose(found.likeness(own, item), weights[own, item], atol=1e-6)
        total = found.scores(np.array([11]))[0, item]
        np.testing.assert_allclose(found.likeness(own, item).sum(), total, atol=1e-5)
