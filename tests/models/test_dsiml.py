from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from xorec.bits import unpack_signs
from xorec.data.catalog import load_data
from xorec.errors import DataError
from xorec.evaluation.protocol import evaluate
from xorec.losses.scale_invariant import siml_gradients
from xorec.models.dsiml import DSIML, to_dimensions
from xorec.models.fitting import fit_with_validation
from xorec.models.siml import SIML
from xorec.optim.passes import Triplets
from xorec.optim.straight_through import StraightThroughSteps, Tables, unit_codes
from xorec.representations.codes import Codes
from xorec.testing.data import halves, planted
from xorec.testing.models import EpochModelTests, PersonalModelTests

START = {"epochs": 30}


class TestStraightThrough(EpochModelTests):
    model = DSIML
    settings = {"bits": 32, "epochs": 10, "start": START}  # noqa: RUF012


class TestAsymmetric(EpochModelTests):
    model = DSIML
    settings = {"bits": 16, "epochs": 10, "start": START, "asymmetric": True}  # noqa: RUF012


class TestSignsAlone(PersonalModelTests):
    model = DSIML
    settings = {"bits": 32, "optimizer": "none", "start": START}  # noqa: RUF012
    better_than_popularity = 1.1


def test_the_steps_are_gradients_at_the_codes() -> None:
    """Latent rows move by the gradient of the reference loss at the signs; then clip, then sign."""
    rng = np.random.default_rng(0)
    n, m, d, pairs, count = 6, 9, 20, 25, 3
    owner = np.sort(rng.integers(n, size=pairs)).astype(np.int32)
    positives = rng.integers(m, size=pairs).astype(np.int32)
    negatives = rng.integers(m, size=(pairs, count)).astype(np.int32)
    latent_users = rng.uniform(-1, 1, (n, d)).astype(np.float32)
    latent_items = rng.uniform(-1, 1, (m, d)).astype(np.float32)
    tables = Tables.of(latent_users, latent_items)
    loss: dict[str, Any] = {"temperature": 3.0, "gamma": 1.0, "lambda_": 0.5}
    terms = (np.float32(1), np.float32(0.5), np.float32(3), np.float32(0), False)
    items = tables.items.astype(np.float64)
    expected = latent_users.astype(np.float64)
    moved = latent_items.astype(np.float64)
    for u, i, j in zip(owner, positives, negatives, strict=True):
        code = unit_codes(expected[u : u + 1].astype(np.float32))[0].astype(np.float64)
        expected[u] -= 0.3 * siml_gradients(code, items[i], items[j], **loss)[0]
        expected[u] = np.clip(expected[u], -1, 1)
    triplets = Triplets(owner, positives, negatives)
    steps = StraightThroughSteps.of(triplets, tables, np.float32(0.3), terms)
    steps.learn_users(slice(None))
    np.testing.assert_allclose(latent_users, expected, atol=1e-5)
    np.testing.assert_array_equal(tables.users, unit_codes(latent_users))
    for pair, (u, i) in enumerate(zip(owner, positives, strict=True)):
        b = tables.users[u].astype(np.float64)
        moved[i] -= 0.3 * (steps.lean[pair] - steps.lift[pair] * b)
        for k, j in enumerate(negatives[pair]):
            push, pull = steps.push[pair, k], steps.pull[pair, k]
            moved[j] -= 0.3 * (push * (b + items[i]) + pull * b)
    for part in (0, 1):
        steps.learn_items(part, 2)
    for part in (0, 1):
        steps.finish(part, 2)
    np.testing.assert_allclose(latent_items, np.clip(moved, -1, 1), atol=1e-5)
    np.testing.assert_array_equal(tables.items, unit_codes(latent_items))


def test_learning_the_bits_beats_taking_signs() -> None:
    """From the same vectors: rotation beats plain signs, and the optimiser beats rotation."""
    train, test = halves(load_data("debian"))
    vectors = SIML(dimensions=64, epochs=30).fit(train).representation_.tensors()
    users, items = vectors["user_vectors"], vectors["item_vectors"]

    def ndcg(representation: Any) -> float:
        return evaluate(representation, train, test, ks=(20,))["ndcg@20_expected"]

    plain = ndcg(Codes.from_signs(users, items))
    learned = {
        name: ndcg(
            DSIML.from_vectors(users, items, bits=64, optimizer=name, epochs=10)
            .fit(train)
            .representation_
        )
        for name in ("none", "ste")
    }
    assert learned["none"] > 1.05 * plain
    assert learned["ste"] > 1.01 * learned["none"]


@pytest.mark.parametrize("bits", [8, 12, 20])
def test_vectors_of_any_length_can_be_hashed(bits: int) -> None:
    train = planted(100, 60)
    rng = np.random.default_rng(0)
    users, items = rng.standard_normal((100, 12)), rng.standard_normal((60, 12))
    model = DSIML.from_vectors(users, items, bits=bits, epochs=2).fit(train)
    codes = model.representation_
    assert isinstance(codes, Codes)
    assert unpack_signs(codes.item_codes, codes.bits).shape == (60, bits)


def test_shorter_vectors_keep_dot_products_and_longer_ones_the_main_part() -> None:
    rng = np.random.default_rng(1)
    mixing = rng.standard_normal((4, 10))
    users = (rng.standard_normal((30, 4)) @ mixing).astype(np.float32)
    items = (rng.standard_normal((20, 4)) @ mixing).astype(np.float32)
    for size in (4, 7, 10, 15):  # the vectors have rank 4
        u, i = to_dimensions(users, items, size)
        assert u.shape == (30, size)
        np.testing.assert_allclose(u @ i.T, users @ items.T, atol=1e-3)


def test_vectors_that_do_not_fit_are_refused() -> None:
    with pytest.raises(DataError, match="rows of one length"):
        DSIML.from_vectors(np.zeros((3, 4)), np.zeros((5, 6)))
    with pytest.raises(DataError, match="NaN"):
        DSIML.from_vectors(np.full((3, 4), np.nan), np.zeros((5, 4)))
    with pytest.raises(DataError, match="3 users and 5 items but the training part has 100"):
        DSIML.from_vectors(np.zeros((3, 8)), np.zeros((5, 8))).fit(planted(100, 60))


def test_both_numbers_of_epochs_are_chosen_on_validation() -> None:
    train, validation = halves(planted(150, 100))
    model = DSIML(bits=16, epochs=10, start={"epochs": 20})
    final = fit_with_validation(model, train, validation)
    assert 1 <= final.config.epochs <= 10
    assert final.config.start.epochs in (5, 10, 15, 20)
