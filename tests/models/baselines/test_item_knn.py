from __future__ import annotations

import numpy as np
import pytest

from xorec.data.tie_rank import tie_rank
from xorec.models.baselines.item_knn import ItemKNN
from xorec.testing.data import planted, weighted
from xorec.testing.models import PersonalModelTests


class TestItemKNN(PersonalModelTests):
    model = ItemKNN


def test_weighted_similarity_and_scores_equal_the_formula() -> None:
    data = weighted(planted(80, 40))
    assert data.weights is not None
    X = data.matrix(np.sqrt(data.weights)).toarray().astype(np.float64)
    size = (X**2).sum(axis=0)
    expected = X.T @ X / (np.sqrt(np.outer(size, size)) + 2.5)
    np.fill_diagonal(expected, 0)
    found = ItemKNN(neighbours=40, shrink=2.5).fit(data).representation_
    np.testing.assert_allclose(found.similar(np.arange(40)), expected, rtol=1e-5)
    np.testing.assert_allclose(found.scores(np.arange(80)), X @ expected, rtol=1e-4)


@pytest.mark.parametrize(("neighbours", "shrink"), [(5, 0.0), (100, 0.0), (7, 3.5)])
def test_similarity_equals_a_plain_loop(neighbours: int, shrink: float) -> None:
    data = planted(80, 40)
    users = [set(np.flatnonzero(data.matrix().toarray()[:, item])) for item in range(40)]
    order = tie_rank(data.items, data.item_counts)
    model = ItemKNN(neighbours=neighbours, shrink=shrink).fit(data)
    found = model.representation_.similar(np.arange(40))
    for i in range(40):
        cosine = np.zeros(40, dtype=np.float32)
        for j in range(40):
            if i != j:
                norm = np.float32(np.sqrt(np.float32(len(users[i]) * len(users[j]))))
                cosine[j] = np.float32(len(users[i] & users[j])) / (norm + np.float32(shrink))
        nearest = sorted(np.flatnonzero(cosine), key=lambda j: (-cosine[j], order[j]))
        expected = np.zeros(40, dtype=np.float32)
        expected[nearest[:neighbours]] = cosine[nearest[:neighbours]]
        np.testing.assert_allclose(found[i], expected, rtol=1e-6)
