from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.references.scale_invariant import siml_values
from tests.support.steps import differences, random_triplets, take_step
from xorec.core.options import RunOptions
from xorec.models.siml.siml import DEFAULTS, SIML, popularity_bias
from xorec.models.siml.siml_gcn import SIMLGCN, SIMLGradientStep
from xorec.models.siml.siml_kernels import LossParams
from xorec.models.siml.siml_race import settle
from xorec.representations.vectors import Vectors
from xorec.testing.data import halves, planted
from xorec.testing.models import EpochModelTests, Notes
from xorec.training.loss import margin_offset
from xorec.training.passes import Triplets
from xorec.training.rows import Gradients

TINY = {
    "dimensions": 16,
    "epochs": 30,
    "batch_size": 1000,
    "validate_every": 2,
    "layers": 2,
    "learning_rate": 0.01,
}


class TestSIMLGCN(EpochModelTests):
    model = SIMLGCN
    settings = TINY


def test_vectors_are_of_unit_length() -> None:
    learned = SIMLGCN(**TINY).fit(planted(60, 40)).representation_
    assert isinstance(learned, Vectors)
    for rows in (learned.user_vectors, learned.item_vectors):
        np.testing.assert_allclose(np.linalg.norm(rows, axis=1), 1, atol=1e-5)


def test_its_scores_have_popularity_as_those_of_siml() -> None:
    data = planted(60, 40)
    learned = SIMLGCN(**TINY, popularity=0.2).fit(data).representation_
    assert isinstance(learned, Vectors)
    np.testing.assert_array_equal(learned.item_bias, popularity_bias(data, 0.2))
    plain = SIMLGCN(**TINY, popularity=0.0).fit(data).representation_
    assert isinstance(plain, Vectors)
    assert plain.item_bias is None
    np.testing.assert_array_equal(learned.item_vectors, plain.item_vectors)


def test_what_is_left_open_is_raced_as_for_siml() -> None:
    train, validation = halves(planted())
    told = Notes()
    options = RunOptions(threads=1, progress=told)
    config = SIMLGCN(**TINY, alpha=0.4).fit(train, validation, options).config
    raced = settle(SIML(dimensions=16, alpha=0.4).config, train, validation, RunOptions(threads=1))
    assert {name: getattr(config, name) for name in DEFAULTS} == {
        name: getattr(raced, name) for name in DEFAULTS
    }
    assert config.alpha == 0.4
    assert [note.partition(":")[0] for note in told.said if "race" in note] == ["siml-gcn"]


def test_a_mean_of_the_epochs_is_kept() -> None:
    data = planted(60, 40)
    two = SIMLGCN(**{**TINY, "epochs": 2}).fit(data).representation_
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(SIMLGCN, "averages", False)
        last = SIMLGCN(**{**TINY, "epochs": 2}).fit(data).representation_
    assert not np.array_equal(last.tensors()["item_vectors"], two.tensors()["item_vectors"])


@pytest.mark.parametrize("parts", [1, 4])
@pytest.mark.parametrize("form", ["triplet", "npair"])
@pytest.mark.parametrize("margin", ["paper", "geometric"])
def test_loss_and_gradients(form: Any, margin: Any, parts: int) -> None:
    """In float64: the reference loss to 1e-9, and its finite differences, both roles of an item."""
    rng = np.random.default_rng(parts)
    owner, positives, negatives = random_triplets(rng, 5, 7, 14)
    users, items = rng.standard_normal((5, 4)), rng.standard_normal((7, 4))
    loss: dict[str, Any] = {"gamma": 0.9, "lambda_": 0.7, "temperature": 1.3}

    def value(users: Any, items: Any) -> float:
        rows = (users[owner], items[positives], items[negatives])
        return float(siml_values(*rows, **loss, margin=margin, form=form).sum())

    tables = Gradients(np.zeros((5, 4)), np.zeros(5)), Gradients(np.zeros((7, 4)), np.zeros(7))
    params = LossParams(0.9**2, 0.7, 1.3, float(margin_offset(0.9, margin)), form == "npair")
    step = SIMLGradientStep(*tables, users, items, params)
    losses = take_step(step, Triplets(owner, positives, negatives), parts).kept.losses
    np.testing.assert_allclose(losses.sum(), value(users, items), rtol=1e-9)
    by_users = differences(lambda rows: value(rows, items), users)
    np.testing.assert_allclose(tables[0].sums, by_users, atol=1e-7)
    by_items = differences(lambda rows: value(users, rows), items)
    np.testing.assert_allclose(tables[1].sums, by_items, atol=1e-7)
