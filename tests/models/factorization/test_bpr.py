from __future__ import annotations

import numpy as np
import pytest

from tests.support.steps import differences, random_triplets, take_step
from xorec.models.factorization.bpr import BPR, BPRStep, Factors, StepSize
from xorec.testing.models import EpochModelTests
from xorec.training.passes import Triplets


class TestBPR(EpochModelTests):
    model = BPR
    settings = {"dimensions": 16, "epochs": 60, "learning_rate": 0.1, "block_size": 500}  # noqa: RUF012


@pytest.mark.parametrize("parts", [1, 2, 4])
def test_the_two_steps_equal_a_plain_loop(parts: int) -> None:
    """Users pair by pair with items fixed, then items pair by pair with users fixed."""
    rng = np.random.default_rng(parts)
    owner, positives, negatives = triplets = random_triplets(rng, first=-1)
    users, items = (rng.standard_normal((n, 5)).astype(np.float32) for n in (6, 9))
    rate, reg = 0.07, 0.02
    expected_users, expected_items = users.astype(np.float64), items.astype(np.float64)
    pulls = np.zeros(negatives.shape)
    for p, (u, i) in enumerate(zip(owner, positives, strict=True)):
        js = [(k, j) for k, j in enumerate(negatives[p]) if j >= 0]
        for k, j in js:
            x = expected_users[u] @ (expected_items[i] - expected_items[j])
            pulls[p, k] = 1 / (1 + np.exp(x))
            gradient = pulls[p, k] * (expected_items[i] - expected_items[j])
            expected_users[u] += rate * (gradient - reg * expected_users[u])
    for p, (u, i) in enumerate(zip(owner, positives, strict=True)):
        js = [(k, j) for k, j in enumerate(negatives[p]) if j >= 0]
        together = pulls[p].sum()
        expected_items[i] += rate * (
            together * expected_users[u] - reg * len(js) * expected_items[i]
        )
        for k, j in js:
            expected_items[j] += rate * (-pulls[p, k] * expected_users[u] - reg * expected_items[j])
    step = BPRStep(Factors(users), Factors(items), StepSize(np.float32(rate), np.float32(reg)))
    pull, losses = take_step(step, triplets, parts).kept
    np.testing.assert_allclose(pull, pulls, atol=1e-5)
    np.testing.assert_allclose(losses, -np.log1p(-pulls).sum(axis=1), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(users, expected_users, atol=1e-5)
    np.testing.assert_allclose(items, expected_items, atol=1e-5)


def test_the_step_follows_the_gradient_of_the_loss() -> None:
    """One pair, one negative: the move is -rate times the finite difference of the objective."""
    rng = np.random.default_rng(5)
    user, items = rng.standard_normal(4), rng.standard_normal((2, 4))
    rate, reg = 1e-3, 0.3

    def objective(b: np.ndarray) -> float:
        x = b @ (items[0] - items[1])
        norms = b @ b + items[0] @ items[0] + items[1] @ items[1]
        return float(np.log1p(np.exp(-x)) + reg / 2 * norms)

    users32, items32 = user.astype(np.float32)[None].copy(), items.astype(np.float32)
    step = BPRStep(Factors(users32), Factors(items32), StepSize(np.float32(rate), np.float32(reg)))
    triplets = Triplets(np.zeros(1, np.int32), np.zeros(1, np.int32), np.ones((1, 1), np.int32))
    users32 = step.step_users(triplets).rows.vectors
    np.testing.assert_allclose((user - users32[0]) / rate, differences(objective, user), atol=1e-3)
