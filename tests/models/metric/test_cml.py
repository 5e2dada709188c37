from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.references.metric import (
    cml_gradients,
    cml_values,
    covariance_gradient,
    covariance_penalty,
    rank_weights,
)
from tests.support.steps import (
    adagrad,
    in_ball,
    random_triplets,
    step_items,
    step_users,
    unfinished_items,
)
from xorec.core.options import RunOptions
from xorec.models.metric.cml import CML, CMLConfig, CMLStep, decorrelate, into_ball
from xorec.testing.data import planted
from xorec.testing.models import EpochModelTests
from xorec.training.passes import Triplets
from xorec.training.rows import Rows


class TestCML(EpochModelTests):
    model = CML
    settings = {"dimensions": 16, "epochs": 40, "negatives": 5, "margin": 1.9}  # noqa: RUF012


RATE = 0.2
LOSSES: list[dict[str, Any]] = [{}, {"margin": 0.4}, {"rank_weight": False, "margin": 1.5}]


def follow_users(users: Any, items: Any, t: Triplets, loss: dict[str, Any], spent: Any) -> Any:
    """In float64: the users after the block, and of each pair its loss, 2w and nearest negative."""
    rows, d, kept = users.astype(np.float64), items.astype(np.float64), []
    for u, i, j in zip(t.users, t.positives, t.negatives, strict=True):
        drawn = j[j >= 0]
        if not len(drawn):
            kept.append((0.0, 0.0, -1))
            continue
        given = (rows[[u]], d[[i]], d[drawn][None])
        value = cml_values(*given, **loss)[0]
        weight = rank_weights(*given, margin=loss["margin"], n_items=loss["n_items"])[0]
        weight = weight if loss["rank_weight"] else 1.0
        nearest = drawn[np.sum((d[drawn] - rows[u]) ** 2, axis=1).argmin()]
        kept.append((value, 2 * weight, nearest) if value > 0 else (0.0, 0.0, -1))
        if value > 0:
            gradient = cml_gradients(*given, **loss)[0][0]
            rows[u] = in_ball(adagrad(rows[u], spent, u, gradient, RATE))
    return rows, kept


@pytest.mark.parametrize("parts", [1, 2, 4])
@pytest.mark.parametrize("settings", LOSSES)
def test_both_steps_are_the_gradient_of_the_reference_loss(
    settings: dict[str, Any], parts: int
) -> None:
    """Pair after pair: an Adagrad step, back into the ball; and the loss as it was met.

    Items move in both roles, with the users as their own step left them; some negatives are -1.
    """
    rng = np.random.default_rng(parts)
    t = random_triplets(rng)
    t.negatives[3, 1], t.negatives[7] = -1, -1
    users, items = (into_ball(rng.standard_normal((n, 5)).astype(np.float32) / 2) for n in (6, 9))
    config = CMLConfig(learning_rate=RATE, negatives=3, **settings)
    loss = {**config.model_dump(include={"margin", "rank_weight"}), "n_items": len(items)}
    spent, item_spent = np.full(6, 0.5), np.full(9, 2.0)
    user_rows = Rows.of(users, spent.astype(np.float32))
    item_rows = Rows.of(items, item_spent.astype(np.float32))
    step = CMLStep(user_rows, item_rows, config.params(), config.negatives)
    expected, kept = follow_users(users, items, t, loss, spent)
    values, weights, nearest = zip(*kept, strict=True)
    result = step_users(step, t)
    np.testing.assert_allclose(users, expected, atol=1e-5)
    np.testing.assert_allclose(result.kept.losses, values, atol=1e-5)
    np.testing.assert_allclose(result.kept.weights, weights, atol=1e-5)
    np.testing.assert_array_equal(result.kept.nearest[:, 0], nearest)
    assert step.loss(result.kept.losses) == pytest.approx(3 * sum(values), rel=1e-5)
    moved = items.astype(np.float64)
    for u, i, (_, weight, j) in zip(t.users, t.positives, kept, strict=True):
        if weight:
            moved[i] = adagrad(moved[i], item_spent, i, weight * (moved[i] - users[u]), RATE)
            moved[j] = adagrad(moved[j], item_spent, j, weight * (users[u] - moved[j]), RATE)
    for ids, new in unfinished_items(step, result, parts):
        np.testing.assert_allclose(new.vectors, moved[ids], atol=5e-5)
    step_items(step, result, parts)
    np.testing.assert_allclose(items, [in_ball(row) for row in moved], atol=5e-5)
    np.testing.assert_array_equal(items, step.items.snapshot)


def rows_and_spent(seed: int = 0) -> dict[str, Any]:
    """Axes that repeat each other: 30 users and 20 items of 4 entries from 2 numbers."""
    rng = np.random.default_rng(seed)
    mix = rng.standard_normal((2, 4))
    arrays = {
        f"{kind}_vectors": into_ball((rng.standard_normal((n, 2)) @ mix).astype(np.float32) / 4)
        for kind, n in (("user", 30), ("item", 20))
    }
    spent = {"user_grad_sq_sum": np.full(30, 2.0), "item_grad_sq_sum": np.full(20, 3.0)}
    return arrays | {name: values.astype(np.float32) for name, values in spent.items()}


def test_decorrelation_is_a_step_along_the_gradient_of_the_penalty() -> None:
    arrays = rows_and_spent()
    arrays["item_grad_sq_sum"][5] = 0  # a row without pairs
    both = np.vstack([arrays["user_vectors"], arrays["item_vectors"]]).astype(np.float64)
    spent = np.concatenate([arrays["user_grad_sq_sum"], arrays["item_grad_sq_sum"]]).astype(
        np.float64
    )
    gradient = 7.0 * covariance_gradient(both)
    for row in range(50):
        if spent[row]:
            both[row] = in_ball(adagrad(both[row], spent, row, gradient[row], RATE))
    decorrelate(arrays, 7.0, RATE)
    found = np.vstack([arrays["user_vectors"], arrays["item_vectors"]])
    np.testing.assert_allclose(found, both, atol=1e-6)
    np.testing.assert_allclose(arrays["user_grad_sq_sum"], spent[:30], rtol=1e-5)


def test_decorrelation_in_pieces_is_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    whole, pieces = rows_and_spent(), rows_and_spent()
    decorrelate(whole, 7.0, RATE)
    monkeypatch.setattr("xorec.models.metric.cml._PIECE", 7)
    decorrelate(pieces, 7.0, RATE)
    for name, rows in whole.items():
        np.testing.assert_allclose(rows, pieces[name], atol=1e-6)


def test_the_covariance_weight_lowers_the_covariances_for_any_number_of_threads() -> None:
    data = planted(120, 90)
    penalties, files = [], []
    for covariance, threads in ((0.0, 1), (30.0, 1), (30.0, 2)):
        model = CML(dimensions=16, epochs=20, negatives=5, covariance=covariance)
        model.fit(data, options=RunOptions(threads=threads))
        rows = np.vstack(list(model.representation_.tensors().values()))
        penalties.append(covariance_penalty(rows))
        files.append(rows.tobytes())
    assert penalties[1] < 0.7 * penalties[0]
    assert files[1] == files[2] != files[0]
