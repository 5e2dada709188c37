from __future__ import annotations

import numpy as np
import pytest

from xorec.data.interactions import Interactions
from xorec.models.baselines.popularity import Popularity
from xorec.testing.data import planted, weighted
from xorec.testing.models import ModelTests


class TestPopularity(ModelTests):
    model = Popularity


@pytest.mark.parametrize("data", [planted(50, 30), weighted(planted(30, 20))])
def test_scores_are_the_sums_of_the_weights_of_training_pairs(data: Interactions) -> None:
    expected = data.matrix(data.weights).toarray().sum(axis=0)
    found = Popularity().fit(data).representation_.scores(np.array([3]))
    np.testing.assert_allclose(found[0], expected, rtol=1e-5)
