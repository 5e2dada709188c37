from __future__ import annotations

import numpy as np
import pytest

from xorec.data.tie_rank import tie_rank
from xorec.models.baselines.item_knn import ItemKNN
from xorec.testing.data import planted, weighted
from xorec.testing.models import PersonalModelTests


class TestItemKNN(PersonalModelTests):
    model = ItemKNN


@pytest.mark.parametrize("has_weights", [False, True])
@pytest.mark.parametrize(("neighbours", "shrink"), [(5, 0.0), (100, 0.0), (7, 3.5)])
def test_similarity_equals_the_formula(neighbours: int, shrink: float, has_weights: bool) -> None:
    data = weighted(planted(80, 40)) if has_weights else planted(80, 40)
    roots = None if data.weights is None else np.sqrt(data.weights)
    X = data.matrix(roots).toarray().astype(np.float64)
    together, order = (X.T @ X).astype(np.float32), tie_rank(data.items, data.item_counts)
    sizes = together.diagonal()
    learned = ItemKNN(neighbours=neighbours, shrink=shrink).fit(data).representation_
    found, expected = learned.similar(np.arange(40)), np.zeros((40, 40), dtype=np.float32)
    for i in range(40):
        cosine = together[i] / (np.sqrt(sizes[i] * sizes) + np.float32(shrink))
        cosine[i] = 0
        nearest = sorted(np.flatnonzero(cosine), key=lambda j: (-cosine[j], order[j]))[:neighbours]
        expected[i, nearest] = cosine[nearest]
    np.testing.assert_allclose(found, expected, rtol=1e-5 if has_weights else 1e-6)
    np.testing.assert_allclose(learned.scores(np.arange(80)), X @ expected, rtol=1e-4)
