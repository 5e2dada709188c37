from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.references.scale_invariant import (
    pairwise_part,
    scale_part,
    siml_gradients,
    siml_slopes,
    siml_values,
)
from tests.support.steps import (
    adagrad,
    random_triplets,
    step_items,
    step_users,
    unfinished_items,
)
from xorec.core.threads import ThreadPool
from xorec.models.siml.siml import SIML, ScaleInvariantStep, SIMLConfig
from xorec.testing.data import planted
from xorec.testing.models import EpochModelTests
from xorec.training.discrete.rotation import unit_rows
from xorec.training.passes import Triplets
from xorec.training.rows import Rows

TINY = {"dimensions": 16, "epochs": 40}


class TestSIML(EpochModelTests):
    model = SIML
    settings = TINY


class TestTriplets(EpochModelTests):
    variant = True
    model = SIML
    settings = {**TINY, "form": "triplet", "negatives": 5}  # noqa: RUF012


LOSSES: list[dict[str, Any]] = [
    {},
    {"form": "triplet", "temperature": 3.0},
    {"form": "triplet", "gamma": 0.7, "lambda_": 0.4, "margin": "geometric"},
    {"form": "npair", "gamma": 1.3, "margin": "geometric", "lambda_": 2.0},
]


RATE = 0.3


def block(seed: int) -> tuple[Any, Any, Triplets]:
    """Unit users and items, and triplets of a block."""
    rng = np.random.default_rng(seed)
    triplets = random_triplets(rng)
    users, items = (unit_rows(rng.standard_normal((n, 5)).astype(np.float32)) for n in (6, 9))
    return users, items, triplets


def steps_over(
    users: Any, items: Any, t: Triplets, settings: dict[str, Any]
) -> tuple[ScaleInvariantStep, SIMLConfig, dict[str, Any], tuple[Any, Any]]:
    """The steps, the settings, those of the reference loss, and what rows have spent before."""
    config = SIMLConfig(learning_rate=RATE, **settings).resolved()
    loss = config.model_dump(include={"gamma", "lambda_", "temperature", "margin", "form"})
    spent = (np.full(len(users), 0.5, np.float32), np.full(len(items), 2.0, np.float32))
    params = config.params()
    rows = Rows.of(users, spent[0]), Rows.of(items, spent[1])
    before = spent[0].astype(np.float64), spent[1].astype(np.float64)
    return ScaleInvariantStep(*rows, params), config, loss, before


@pytest.mark.parametrize("settings", LOSSES)
def test_the_users_step_is_the_gradient_of_the_reference_loss(settings: dict[str, Any]) -> None:
    """Pair after pair: an Adagrad step, back to the sphere; and the loss as it was met."""
    users, items, t = block(1)
    steps, _, loss, (spent, _) = steps_over(users, items, t, settings)
    expected, losses = users.astype(np.float64), []
    for u, i, j in zip(t.users, t.positives, t.negatives, strict=True):
        rows = (expected[u], items[i].astype(float), items[j].astype(float))
        losses.append(siml_values(*rows, **loss))
        expected[u] = adagrad(expected[u], spent, u, siml_gradients(*rows, **loss)[0], RATE)
        expected[u] /= np.linalg.norm(expected[u])
    result = step_users(steps, t)
    np.testing.assert_allclose(users, expected, atol=2e-5)
    np.testing.assert_allclose(steps.loss(result.kept.losses), np.sum(losses), rtol=2e-5)


@pytest.mark.parametrize("parts", [1, 2, 4])
@pytest.mark.parametrize("settings", LOSSES)
def test_the_items_step_is_the_gradient_of_the_reference_loss(
    settings: dict[str, Any], parts: int
) -> None:
    """With the slopes of the users' step: both roles of an item, others as they were before."""
    users, items, t = block(2)
    before, start = items.astype(np.float64), users.astype(np.float64)
    steps, config, loss, (user_spent, spent) = steps_over(users, items, t, settings)
    result = step_users(steps, t)
    moved = before.copy()
    g, scale = config.gamma**2, config.lambda_ * config.temperature
    kind: dict[str, Any] = {key: loss[key] for key in ("temperature", "gamma", "margin")}
    for u, i, j in zip(t.users, t.positives, t.negatives, strict=True):
        rows = (start[u], before[i], before[j])
        v, w = siml_slopes(pairwise_part(*rows), scale_part(*rows, **kind), form=config.form)
        start[u] = adagrad(start[u], user_spent, u, siml_gradients(*rows, **loss)[0], RATE)
        start[u] /= np.linalg.norm(start[u])
        b = users[u].astype(np.float64)  # the user as the whole users' step left it
        together = sum(
            scale * w[k] * (2 * g * before[j[k]] - (1 + g) * b) - v[k] * b / 2 for k in range(3)
        )
        moved[i] = adagrad(moved[i], spent, i, together, RATE)
        for k in range(3):
            apart = scale * w[k] * 2 * g * (b + before[i]) + v[k] * b / 2
            moved[j[k]] = adagrad(moved[j[k]], spent, j[k], apart, RATE)
    for ids, new in unfinished_items(steps, result, parts):
        np.testing.assert_allclose(new.vectors, moved[ids], atol=5e-5)
    step_items(steps, result, parts)
    np.testing.assert_allclose(items, unit_rows(moved), atol=5e-5)
    np.testing.assert_allclose(np.linalg.norm(items, axis=1), 1, atol=1e-6)
    np.testing.assert_array_equal(items, steps.items.snapshot)


@pytest.mark.parametrize(("norms", "reg"), [("sphere", 0.0), ("ball", 0.0), ("free", 0.05)])
def test_norms_are_what_they_are_said_to_be(norms: str, reg: float) -> None:
    settings = {**TINY, "norms": norms, "reg": reg}
    model = SIML(**settings).fit(planted(100, 60))
    vectors = model.representation_.tensors()
    for rows in (vectors["user_vectors"], vectors["item_vectors"]):
        lengths = np.linalg.norm(rows, axis=1)
        if norms == "sphere":
            np.testing.assert_allclose(lengths, 1, atol=1e-5)
        elif norms == "ball":
            assert lengths.max() <= 1 + 1e-5
        else:
            assert lengths.max() > 1.01


@pytest.mark.parametrize("parts", [1, 4])
@pytest.mark.parametrize("form", ["triplet", "npair"])
def test_reg_counts_once_for_each_pair_and_negative_that_is_there(form: str, parts: int) -> None:
    """Free norms, some negatives missing, of one pair all: the reference loss and reg |row|^2 / 2
    of the user and the positive of each pair, and of each negative that is there."""
    users, items, t = block(3)
    t.negatives[np.random.default_rng(4).random(t.negatives.shape) < 0.3] = -1
    t.negatives[7] = -1
    before, reg = items.astype(np.float64), 0.2
    settings = {"form": form, "norms": "free", "reg": reg, "lambda_": 0.7}
    steps, config, loss, (spent, item_spent) = steps_over(users, items, t, settings)
    slopes: list[Any] = []
    expected = users.astype(np.float64)
    for u, i, js in zip(t.users, t.positives, t.negatives, strict=True):
        rows = (expected[u], before[i], before[js[js >= 0]])
        gradient = reg * expected[u]
        x, y = pairwise_part(*rows), scale_part(*rows, temperature=config.temperature)
        slopes.append(siml_slopes(x, y, form=config.form) if len(rows[2]) else ([], []))
        if len(rows[2]):
            gradient = gradient + siml_gradients(*rows, **loss)[0]
        expected[u] = adagrad(expected[u], spent, u, gradient, RATE)
    result = step_users(steps, t)
    np.testing.assert_allclose(users, expected, atol=2e-5)
    moved, scale = before.copy(), config.lambda_ * config.temperature
    for (v, w), u, i, js in zip(slopes, t.users, t.positives, t.negatives, strict=True):
        there, b = js[js >= 0], users[u].astype(np.float64)
        together = reg * moved[i]
        for k, j in enumerate(there):
            together = together + scale * w[k] * 2 * (before[j] - b) - v[k] * b / 2
        moved[i] = adagrad(moved[i], item_spent, i, together, RATE)
        for k, j in enumerate(there):
            apart = scale * w[k] * 2 * (b + before[i]) + v[k] * b / 2 + reg * moved[j]
            moved[j] = adagrad(moved[j], item_spent, j, apart, RATE)
    step_items(steps, result, parts)
    np.testing.assert_allclose(items, moved, atol=5e-5)


@pytest.mark.parametrize("norms", ["sphere", "ball"])
def test_what_is_kept_is_the_mean_over_epochs_where_rows_live(norms: str) -> None:
    data = planted(60, 40)
    model = SIML(dimensions=8, epochs=3, norms=norms).fit(data)
    arrays = model._start(data, 0)
    mean = np.zeros((data.n_items, 8))
    with ThreadPool(1) as pool:
        run_epoch = model.run_epoch(data, 0, pool)
        for epoch in range(3):
            run_epoch(epoch, arrays)
            mean += 4 / (epoch + 4) * (arrays["item_vectors"] - mean)
    if norms == "sphere":
        mean /= np.linalg.norm(mean, axis=1, keepdims=True)
    np.testing.assert_allclose(model.representation_.tensors()["item_vectors"], mean, atol=1e-5)
