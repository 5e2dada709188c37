from __future__ import annotations

from itertools import permutations

import numpy as np
import pytest

from xorec.core.bits import unpack_signs
from xorec.core.errors import OptionError
from xorec.core.options import DEFAULTS, RunOptions
from xorec.data.interactions import Interactions
from xorec.models.hashing.cccf import (
    CCCF,
    directions,
    group_weights,
    kernel_weights,
    medoids,
    partners,
)
from xorec.models.hashing.dcf import DCF
from xorec.models.hashing.factored_kernels import Floats
from xorec.representations.codes import Codes
from xorec.representations.composed import ComposedCodes
from xorec.testing.data import planted
from xorec.testing.models import EpochModelTests


class TestCCCF(EpochModelTests):
    model = CCCF
    settings = {"bits": 20, "epochs": 6, "bandwidth": 3.0}  # noqa: RUF012


@pytest.mark.parametrize(("bits", "groups"), [(20, 4), (32, 4), (64, 8), (128, 8), (8, 1), (13, 1)])
def test_groups_by_the_number_of_bits(bits: int, groups: int) -> None:
    assert CCCF(bits=bits).groups == groups


def test_groups_of_unequal_length_are_refused() -> None:
    with pytest.raises(OptionError, match="groups is 3 but bits is 20"):
        CCCF(bits=20, groups=3)


class EqualWeights(CCCF):
    name = "cccf"

    def _weights(self, train: Interactions, options: RunOptions) -> tuple[Floats, Floats]:
        equal = np.float32(1 / self.groups)
        users = np.full((train.n_users, self.groups), equal, dtype=np.float32)
        return users, np.full((train.n_items, self.groups), equal, dtype=np.float32)


@pytest.mark.parametrize(("groups", "balance"), [(1, 0.1), (2, 0.0), (4, 0.0)])
def test_one_group_or_equal_weights_are_dcf(groups: int, balance: float) -> None:
    """(The balance is of each group by itself, so with several it is another.)"""
    data = planted(60, 40)
    settings = {"bits": 16, "balance": balance, "epochs": 5}
    one = DCF(**settings).fit(data).representation_
    model = CCCF if groups == 1 else EqualWeights
    found = model(groups=groups, **settings).fit(data).representation_
    assert isinstance(one, Codes)
    assert isinstance(found, ComposedCodes)
    assert (found.user_codes == one.user_codes).all()
    assert (found.item_codes == one.item_codes).all()
    best = one.scores(np.arange(60))
    np.testing.assert_allclose(found.scores(np.arange(60)), 16 * (2 * best - 1) / groups**2)


def test_the_objective_never_rises() -> None:
    data = planted(60, 40)
    model = CCCF(bits=20, epochs=10, balance=0.2, bandwidth=1.5, fresh=False).fit(data)
    losses = np.array([row["loss"] for row in model.history_])
    assert (np.diff(losses) <= 1e-6 * np.abs(losses[:-1])).all()
    found = model.representation_
    assert isinstance(found, ComposedCodes)
    assert np.unique(found.user_weights).size > 20


def test_fold_in_takes_the_weights_of_the_users_items() -> None:
    data = planted(60, 40)
    model = CCCF(bits=20, epochs=4, bandwidth=1.5).fit(data)
    found = model.representation_
    assert isinstance(found, ComposedCodes)
    history = data.of_user(3)
    query = model.fold_in(found, history)
    mean = found.item_weights[history].mean(axis=0)
    np.testing.assert_allclose(query.weights[0], mean / mean.sum(), rtol=1e-5)
    assert (np.abs(unpack_signs(query.words, 20)) == 1).all()


def test_kernel_weights_equal_the_formula() -> None:
    rng = np.random.default_rng(0)
    cosines, h = rng.uniform(-1, 1, (50, 3)), 0.7
    found = kernel_weights(cosines, h)
    bare = 0
    for row in range(50):
        w = []
        for cosine in cosines[row]:
            s = 1 - 2 / np.pi * np.arccos(cosine)
            w.append(max(0.0, 0.75 * (1 - ((1 - s) / h) ** 2)))
        bare += not any(w)
        expected = np.array(w) / sum(w) if any(w) else np.full(3, 1 / 3)
        np.testing.assert_allclose(found[row], expected, rtol=1e-5)
        assert (found[row][cosines[row] < np.cos(np.radians(63))] == 0).all() or not any(w)
    assert 0 < bare < 50


def test_medoids_are_the_best_rows_of_their_clusters() -> None:
    rng = np.random.default_rng(1)
    centres = np.linalg.qr(rng.standard_normal((6, 6)))[0][:4]
    kind = rng.integers(4, size=200)
    rows = centres[kind] + 0.1 * rng.standard_normal((200, 6))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    chosen = medoids(rows, np.ones(200, dtype=np.int64), 4, seed=0)
    assert sorted(kind[chosen]) == [0, 1, 2, 3]
    for at in chosen:
        own = rows[kind == kind[at]]
        assert (rows[at] @ own.T).sum() == pytest.approx((own @ own.T).sum(axis=1).max())


def test_medoids_of_fewer_rows_than_groups() -> None:
    rows = np.eye(3)[:2]
    assert set(medoids(rows, np.array([1, 1]), 4, seed=0)) <= {0, 1}


def test_partners_have_the_largest_sum_of_cosines() -> None:
    rng = np.random.default_rng(2)
    users, items = rng.standard_normal((2, 5, 4))
    found = partners(users, items)
    total = (users * items[found]).sum()
    assert total == pytest.approx(
        max((users * items[list(order)]).sum() for order in permutations(range(5)))
    )


def test_directions_are_centred_units_and_rows_without_pairs_have_none() -> None:
    rng = np.random.default_rng(3)
    vectors = rng.standard_normal((20, 4)).astype(np.float32) + 5
    counts = np.ones(20, dtype=np.int64)
    counts[4] = 0
    found = directions(vectors, counts)
    assert not found[4].any()
    np.testing.assert_allclose(np.linalg.norm(found[counts > 0], axis=1), 1)
    assert np.linalg.norm(found.mean(axis=0)) < 0.5  # uncentred: near 1


def test_weights_tell_planted_groups_apart() -> None:
    """Users and items of one planted group have most of their weight in one and the same place."""
    data = planted(120, 80)
    users, items = group_weights(data, 4, 8, 0.7, DEFAULTS)
    np.testing.assert_allclose(users.sum(axis=1), 1, rtol=1e-5)
    np.testing.assert_allclose(items.sum(axis=1), 1, rtol=1e-5)
    own = np.mean([np.mean(users[u] @ items[data.of_user(u)].T) for u in range(120)])
    assert own > 1.3 * np.mean(users @ items.T)
