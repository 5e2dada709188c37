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
from xorec.training.rows import Rows

TINY = {"dimensions": 16, "epochs": 40}


class TestSIML(EpochModelTests):
    model = SIML
    settings = TINY


class TestTriplets(EpochModelTests):
    variant = True
    model = SIML
    settings = {**TINY, "form": "triplet", "negatives": 5}  # noqa: RUF012


RATE = 0.3
FREE: dict[str, Any] = {"norms": "free", "reg": 0.2, "lambda_": 0.7}
LOSSES: list[dict[str, Any]] = [
    {},
    {"form": "triplet", "temperature": 3.0},
    {"form": "triplet", "gamma": 0.7, "lambda_": 0.4, "margin": "geometric"},
    {"form": "npair", "gamma": 1.3, "margin": "geometric", "lambda_": 2.0},
    {"form": "triplet", **FREE},
    {"form": "npair", **FREE},
]


@pytest.mark.parametrize("parts", [1, 2, 4])
@pytest.mark.parametrize("settings", LOSSES)
def test_both_steps_are_the_gradient_of_the_reference_loss(
    settings: dict[str, Any], parts: int
) -> None:
    """Pair after pair: an Adagrad step, back to where rows live; and the loss as it was met.

    Items move in both roles by the slopes of the users' step, others as they were before. Some
    negatives are missing, of one pair all. `reg` counts for the user and the positive of each pair,
    and for each negative that is there.
    """
    rng = np.random.default_rng(parts)
    t = random_triplets(rng)
    t.negatives[rng.random(t.negatives.shape) < 0.3] = -1
    t.negatives[7] = -1
    users, items = (unit_rows(rng.standard_normal((n, 5)).astype(np.float32)) for n in (6, 9))
    config = SIMLConfig(learning_rate=RATE, **settings).resolved()
    loss: dict[str, Any] = config.model_dump(
        include={"gamma", "lambda_", "temperature", "margin", "form"}
    )
    kind: dict[str, Any] = {key: loss[key] for key in ("temperature", "gamma", "margin")}
    spent, item_spent = np.full(6, 0.5), np.full(9, 2.0)
    user_rows = Rows.of(users, spent.astype(np.float32))
    item_rows = Rows.of(items, item_spent.astype(np.float32))
    step = ScaleInvariantStep(user_rows, item_rows, config.params())
    expected, before, reg = users.astype(np.float64), items.astype(np.float64), config.reg

    def at_home(rows: Any) -> Any:
        sphere = config.norms == "sphere"
        return rows / np.linalg.norm(rows, axis=-1, keepdims=True) if sphere else rows

    slopes: list[Any] = []
    slope: Any
    total: Any = 0.0
    for u, i, js in zip(*t, strict=True):
        rows = (expected[u], before[i], before[js[js >= 0]])
        gradient, slope = reg * expected[u], ([], [])
        if len(rows[2]):
            total += siml_values(*rows, **loss)
            gradient = gradient + siml_gradients(*rows, **loss)[0]
            slope = siml_slopes(pairwise_part(*rows), scale_part(*rows, **kind), form=config.form)
        slopes.append(slope)
        expected[u] = at_home(adagrad(expected[u], spent, u, gradient, RATE))
    result = step_users(step, t)
    np.testing.assert_allclose(users, expected, atol=2e-5)
    np.testing.assert_allclose(step.loss(result.kept.losses), total, rtol=2e-5)
    moved, g, scale = before.copy(), config.gamma**2, config.lambda_ * config.temperature
    for (v, w), u, i, js in zip(slopes, *t, strict=True):
        there, b = js[js >= 0], users[u].astype(np.float64)  # as the whole users' step left it
        together = reg * moved[i]
        for k, j in enumerate(there):
            together = together + scale * w[k] * (2 * g * before[j] - (1 + g) * b) - v[k] * b / 2
        moved[i] = adagrad(moved[i], item_spent, i, together, RATE)
        for k, j in enumerate(there):
            apart = scale * w[k] * 2 * g * (b + before[i]) + v[k] * b / 2 + reg * moved[j]
            moved[j] = adagrad(moved[j], item_spent, j, apart, RATE)
    for ids, new in unfinished_items(step, result, parts):
        np.testing.assert_allclose(new.vectors, moved[ids], atol=5e-5)
    step_items(step, result, parts)
    np.testing.assert_allclose(items, at_home(moved), atol=5e-5)
    np.testing.assert_array_equal(items, step.items.snapshot)


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
