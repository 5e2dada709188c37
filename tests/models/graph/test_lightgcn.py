from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.steps import take_step
from xorec.core.threads import ThreadPool
from xorec.models.factorization.bpr import BPRGradientStep
from xorec.models.graph.lightgcn import Encoder, LightGCN, start_arrays
from xorec.testing.data import planted
from xorec.testing.models import EpochModelTests
from xorec.training.passes import Triplets
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


def block(seed: int, n: int = 6, m: int = 9, pairs: int = 25, count: int = 3) -> tuple[Any, ...]:
    """Users and items in float64, and the triplets of a block, some negatives missing."""
    rng = np.random.default_rng(seed)
    owner = np.sort(rng.integers(n, size=pairs)).astype(np.int32)
    positives = rng.integers(m, size=pairs).astype(np.int32)
    negatives = rng.integers(-1, m, size=(pairs, count)).astype(np.int32)
    return rng.standard_normal((n, 5)), rng.standard_normal((m, 5)), owner, positives, negatives


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
    users, items, *rows = block(parts)
    tables = Gradients(np.zeros((6, 5)), np.zeros(6)), Gradients(np.zeros((9, 5)), np.zeros(9))
    step = BPRGradientStep(*tables, users, items, np.float64(1 / rows[2].size))
    losses = take_step(step, Triplets(*rows), parts).kept.losses
    slopes = (*tables[0], *tables[1])
    loss = loss_by_hand(users, items, *rows)
    np.testing.assert_allclose(losses.sum() / rows[2].size, loss, rtol=1e-9)
    eps = 1e-6
    for table, found in ((users, slopes[0]), (items, slopes[2])):
        for at in np.ndindex(table.shape):
            ends = []
            for sign in (1, -2):
                table[at] += sign * eps
                ends.append(loss_by_hand(users, items, *rows))
            table[at] += eps
            np.testing.assert_allclose(found[at], (ends[0] - ends[1]) / (2 * eps), atol=1e-8)
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
    for at in np.ndindex(before.shape):
        up, down = before.copy(), before.copy()
        up[at] += 1e-5
        down[at] -= 1e-5
        slope = (value(up) - value(down)) / 2e-5
        if abs(slope) > 1e-3:
            np.testing.assert_allclose(moved[at], np.sign(slope), atol=1e-3)
    assert not encoder.gradients.any()
    assert not encoder.counts.any()
