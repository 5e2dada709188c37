from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.steps import differences, random_triplets, take_step
from xorec.core.threads import ThreadPool
from xorec.models.factorization.bpr import BPRGradientStep
from xorec.models.graph.lightgcn import Encoder, LightGCN, start_arrays
from xorec.testing.data import planted
from xorec.testing.models import EpochModelTests
from xorec.training.propagation import Propagation
from xorec.training.rows import Gradients

TINY = {"dimensions": 16, "epochs": 40, "batch_size": 1000, "validate_every": 2}


class TestLightGCN(EpochModelTests):
    model = LightGCN
    settings = TINY


class TestByUser(EpochModelTests):
    variant = True
    model = LightGCN
    settings = {**TINY, "sampling": "users", "layers": 1, "negatives": 1}  # noqa: RUF012


class TestAdagrad(EpochModelTests):
    variant = True
    model = LightGCN
    settings = {**TINY, "optimizer": "adagrad", "learning_rate": 0.3, "decay": 0.01}  # noqa: RUF012


def loss_by_hand(users: Any, items: Any, owner: Any, positives: Any, negatives: Any) -> float:
    """softplus(b_u.d_j - b_u.d_i), a plain loop; the share of each triplet of the block."""
    total = 0.0
    for u, i, row in zip(owner, positives, negatives, strict=True):
        for j in row[row >= 0]:
            total += np.log1p(np.exp(users[u] @ items[j] - users[u] @ items[i]))
    return float(total / negatives.size)


@pytest.mark.parametrize("parts", [1, 4])
def test_loss_and_gradients(parts: int) -> None:
    """In float64: the loss of a plain loop to 1e-9, and its finite differences."""
    rng = np.random.default_rng(parts)
    rows = random_triplets(rng, first=-1)
    users, items = rng.standard_normal((6, 5)), rng.standard_normal((9, 5))
    tables = Gradients(np.zeros((6, 5)), np.zeros(6)), Gradients(np.zeros((9, 5)), np.zeros(9))
    step = BPRGradientStep(*tables, users, items, np.float64(1 / rows[2].size))
    losses = take_step(step, rows, parts).kept.losses
    slopes = (*tables[0], *tables[1])
    loss = loss_by_hand(users, items, *rows)
    np.testing.assert_allclose(losses.sum() / rows[2].size, loss, rtol=1e-9)
    by_users = differences(lambda table: loss_by_hand(table, items, *rows), users)
    np.testing.assert_allclose(slopes[0], by_users, atol=1e-8)
    by_items = differences(lambda table: loss_by_hand(users, table, *rows), items)
    np.testing.assert_allclose(slopes[2], by_items, atol=1e-8)
    np.testing.assert_array_equal(slopes[1], np.bincount(rows[0], minlength=6))
    met = np.bincount(rows[1], minlength=9) + np.bincount(rows[2][rows[2] >= 0], minlength=9) / 3
    np.testing.assert_allclose(slopes[3], met, rtol=1e-6)


def test_one_step_of_the_encoder_follows_the_gradient_at_the_ego_vectors() -> None:
    """Adam's first step is rate * sign(gradient), the gradient of the loss of P E0."""
    train = planted(12, 8, groups=2, per_user=3)
    arrays = start_arrays(train, 3, 0.5, 0)
    before = arrays["ego"].astype(np.float64)
    operator = Propagation.of(train, 2)
    target = np.random.default_rng(1).standard_normal((20, 3)).astype(np.float32)

    def value(ego: Any) -> float:
        """A loss whose gradient at the vectors is `target`, and 0.1 / 2 |e|^2 of each row."""
        out, spare = np.empty_like(ego), (np.empty_like(ego), np.empty_like(ego))
        with ThreadPool(1) as pool:
            operator.apply(ego, out, spare, pool)
        return float((out * target).sum() + 0.05 * (ego**2).sum())

    with ThreadPool(1) as pool:
        encoder = Encoder(operator, arrays, 12, pool)
        encoder.gradients[:] = target
        encoder.counts[:] = 1
        encoder.learn(0.01, 0.1)
    moved = (before - arrays["ego"]) / 0.01
    slopes = differences(value, before, 1e-5)
    clear = np.abs(slopes) > 1e-3
    assert clear.mean() > 0.9
    np.testing.assert_allclose(moved[clear], np.sign(slopes[clear]), atol=1e-3)
    assert not encoder.gradients.any()
    assert not encoder.counts.any()
