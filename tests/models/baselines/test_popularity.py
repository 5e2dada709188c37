from __future__ import annotations

import numpy as np

from xorec.models.baselines.popularity import Popularity
from xorec.testing.data import planted, weighted
from xorec.testing.models import ModelTests


class TestPopularity(ModelTests):
    model = Popularity


def test_scores_are_the_sums_of_weights() -> None:
    data = weighted(planted(30, 20))
    expected = data.matrix(data.weights).toarray().sum(axis=0)
    found = Popularity().fit(data).representation_.scores(np.array([3]))
    np.testing.assert_allclose(found[0], expected, rtol=1e-5)


def test_scores_are_the_counts_of_training_pairs() -> None:
    data = planted(50, 30)
    scores = Popularity().fit(data).representation_.scores(np.array([4]))[0]
    for item in range(30):
        assert scores[item] == np.sum(data.indices == item)
