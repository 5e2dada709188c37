from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.references.metric import sml_gradients, sml_values
from tests.support.steps import (
    adagrad,
    in_ball,
    random_triplets,
    step_items,
    step_users,
    unfinished_items,
)
from xorec.models.metric.cml import into_ball
from xorec.models.metric.sml import SML, MarginRows, SMLConfig, SMLStep
from xorec.testing.data import planted
from xorec.testing.models import EpochModelTests
from xorec.training.epochs import EpochTrainer
from xorec.training.passes import Triplets
from xorec.training.rows import write_rows


class TestSML(EpochModelTests):
    model = SML
    settings = {"dimensions": 16, "epochs": 40, "negatives": 5, "learning_rate": 0.3}  # noqa: RUF012


RATE, MARGIN_RATE, MOST = 0.2, 0.05, 0.9
LOSSES: list[dict[str, Any]] = [
    {"lambda_": 0.3},
    {"lambda_": 0.0, "rho": 0.2},
    {"lambda_": 1.5, "scaling": "released", "gamma": 20.0},
]


class Scene:
    """A block, its steps in float32, and everything that moves in float64."""

    def __init__(self, seed: int, settings: dict[str, Any]) -> None:
        rng = np.random.default_rng(seed)
        self.t = random_triplets(rng)
        self.t.negatives[3, 1], self.t.negatives[7] = -1, -1
        self.arrays: dict[str, Any] = {}
        for kind, n, spent, of_margins in (("user", 6, 0.5, 0.3), ("item", 9, 2.0, 0.4)):
            vectors = into_ball(rng.standard_normal((n, 5)).astype(np.float32) / 2)
            self.arrays[f"{kind}_vectors"] = vectors
            self.arrays[f"{kind}_grad_sq_sum"] = np.full(n, spent, np.float32)
            self.arrays[f"{kind}_margins"] = rng.random(n).astype(np.float32) * np.float32(MOST)
            self.arrays[f"{kind}_margin_grad_sq_sum"] = np.full(n, of_margins, np.float32)
        config = SMLConfig(
            learning_rate=RATE, margin_rate=MARGIN_RATE, max_margin=MOST, negatives=3, **settings
        )
        self.loss: dict[str, Any] = {"lambda_": config.lambda_, "rewards": config.rewards()}
        users, items = (
            MarginRows(*(self.arrays[f"{kind}_{name}"] for name in MarginRows._fields))
            for kind in ("user", "item")
        )
        self.exact = {name: values.astype(np.float64) for name, values in self.arrays.items()}
        self.shown = self.exact["item_vectors"].copy()
        self.shown_margins = self.exact["item_margins"].copy()
        self.steps = SMLStep(users, items, config.params())

    def pairs(self) -> Any:
        """(user, positive, negatives that there are) of each pair that has some."""
        for u, i, j in zip(self.t.users, self.t.positives, self.t.negatives, strict=True):
            if (j >= 0).any():
                yield u, i, j[j >= 0]

    def slope(self, user: Any, margin: Any, i: Any, j: Any) -> Any:
        """Gradients and loss of one pair, the items as they were before the block."""
        rows = (user[None], self.shown[[i]], self.shown[j][None])
        given = (*rows, np.array([margin]), self.shown_margins[[i]])
        values = sml_values(*given, **self.loss)
        return [g[0] for g in sml_gradients(*given, **self.loss)], values[0]

    def margin(self, kind: str, at: Any, slope: float) -> None:
        margins = self.exact[f"{kind}_margins"]
        spent = self.exact[f"{kind}_margin_grad_sq_sum"]
        moved = adagrad(margins[at], spent, at, slope, MARGIN_RATE)
        margins[at] = min(max(moved, 0), MOST)

    def follow_users(self) -> list[Any]:
        """The users' step in float64; the gradients of each pair as they were met, and its loss."""
        users, met = self.exact["user_vectors"], []
        for u, i, j in self.pairs():
            slopes, value = self.slope(users[u], self.exact["user_margins"][u], i, j)
            met.append((slopes, value))
            spent = self.exact["user_grad_sq_sum"]
            users[u] = in_ball(adagrad(users[u], spent, u, slopes[0], RATE))
            self.margin("user", u, slopes[3])
        return met


@pytest.mark.parametrize("parts", [1, 2, 4])
@pytest.mark.parametrize("settings", LOSSES)
def test_both_steps_are_the_gradient_of_the_reference_loss(
    settings: dict[str, Any], parts: int
) -> None:
    """Pair after pair: rows and margins take Adagrad steps, and stay where they live.

    The items' step has the hinges as the users met them; both roles of an item, from where it is.
    """
    scene = Scene(parts, settings)
    met = scene.follow_users()
    result = step_users(scene.steps, scene.t)
    for name in ("user_vectors", "user_grad_sq_sum", "user_margins", "user_margin_grad_sq_sum"):
        np.testing.assert_allclose(scene.arrays[name], scene.exact[name], rtol=2e-5, atol=1e-5)
    total = sum(value for _, value in met)
    assert scene.steps.loss(result.kept.losses) == pytest.approx(total, rel=1e-4)
    lambda_, (_, reward) = scene.loss["lambda_"], scene.loss["rewards"]
    users = scene.arrays["user_vectors"].astype(np.float64)
    items, spent, shown = scene.exact["item_vectors"], scene.exact["item_grad_sq_sum"], scene.shown
    kept = zip(result.kept.active, scene.t.negatives, strict=True)
    active = [row[j >= 0] for row, j in kept if (j >= 0).any()]
    for (u, i, j), state, (slopes, _) in zip(scene.pairs(), active, met, strict=True):
        x, y = 1.0 * (state & 1), lambda_ * (state >> 1)
        assert slopes[4] == pytest.approx(np.sum(y - reward), abs=1e-5)  # the hinges are the same
        assert slopes[3] == pytest.approx(np.sum(x - scene.loss["rewards"][0]), abs=1e-5)
        together = 2 * sum(
            x[k] * (items[i] - users[u]) + y[k] * (shown[j[k]] - users[u]) for k in range(len(j))
        )
        items[i] = adagrad(items[i], spent, i, together, RATE)
        scene.margin("item", i, slopes[4])
        for k, v in enumerate(j):
            if state[k]:
                apart = 2 * x[k] * (users[u] - items[v]) + 2 * y[k] * (shown[i] - items[v])
                items[v] = adagrad(items[v], spent, v, apart, RATE)
    for ids, new in unfinished_items(scene.steps, result, parts):
        for name, found in zip(MarginRows._fields, new, strict=True):
            exact = scene.exact[f"item_{name}"][ids]
            np.testing.assert_allclose(found, exact, rtol=5e-5, atol=5e-5)
    step_items(scene.steps, result, parts)
    np.testing.assert_allclose(
        scene.arrays["item_vectors"], [in_ball(row) for row in items], atol=5e-5
    )


def settled(scaling: Any, rho: float, lambda_: float, gamma: float) -> tuple[Any, ...]:
    """Shares of active triplets at users and at items, and their margins, when rows stand still.

    Every user has one of the 10 first items, and 40 random negatives a pass.
    """
    rng = np.random.default_rng(0)
    users = into_ball(rng.standard_normal((30, 8)).astype(np.float32))
    items = into_ball(rng.standard_normal((400, 8)).astype(np.float32))
    owner = np.arange(30, dtype=np.int32)
    positives = (owner % 10).astype(np.int32)
    users = into_ball(users * np.float32(0.4) + items[positives])
    loss = {"lambda_": lambda_, "rho": rho, "scaling": scaling, "gamma": gamma}
    config = SMLConfig(**loss, max_margin=4.0, margin_rate=0.2)
    m, n = np.ones(30, np.float32), np.ones(400, np.float32)
    still = [MarginRows(users, np.ones(30, np.float32), m, np.zeros(30, np.float32))]
    still.append(MarginRows(items, np.ones(400, np.float32), n, np.zeros(400, np.float32)))
    params = config.params()._replace(rate=np.float32(0))  # only margins move
    step, shares = SMLStep(still[0], still[1], params), np.zeros((2, 30))
    for turn in range(4000):
        negatives = rng.integers(10, 400, size=(30, 40)).astype(np.int32)
        result = step.step_users(Triplets(owner, positives, negatives))
        write_rows(step.users, result.users, result.rows)
        write_rows(step.items, *step.step_items([result], 0, 1))
        active = result.kept.active
        if turn >= 3000:
            shares += np.array([(active & 1).mean(axis=1), (active >> 1).mean(axis=1)]) / 1000
    return shares[0], shares[1], m, n[:10]


@pytest.mark.parametrize("rho", [0.2, 0.5, 0.8])
def test_with_mean_scaling_the_share_of_active_triplets_settles_at_rho(rho: float) -> None:
    at_users, at_items, _, _ = settled("mean", rho, lambda_=0.1, gamma=0.0)
    np.testing.assert_allclose(at_users, rho, atol=0.02)
    np.testing.assert_allclose(at_items.reshape(3, 10).mean(axis=0), rho, atol=0.02)


def test_with_released_scaling_it_settles_at_gamma_over_batch_and_margins_fall() -> None:
    """2 % at users: their margins fall below those of rho = .5. gamma / (lambda batch) at items."""
    at_users, at_items, m, _ = settled("released", 0.5, lambda_=0.05, gamma=10.0)
    np.testing.assert_allclose(at_users, 10 / 512, atol=0.01)
    np.testing.assert_allclose(at_items.reshape(3, 10).mean(axis=0), 10 / 512 / 0.05, atol=0.02)
    wide = settled("mean", 0.5, lambda_=0.05, gamma=0.0)[2]
    assert (m < wide).all()
    assert m.mean() < 0.7 * wide.mean()


def test_released_margins_collapse_in_training_and_mean_ones_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    means, run = dict[str, float](), EpochTrainer.run
    for scaling in ("mean", "released"):

        def keep(self: Any, *arguments: Any, name: str = scaling) -> Any:
            state = run(self, *arguments)
            means[name] = float(state.arrays["user_margins"].mean())
            return state

        monkeypatch.setattr(EpochTrainer, "run", keep)
        SML(dimensions=16, epochs=40, negatives=5, scaling=scaling).fit(planted())
    assert means["released"] < 0.1
    assert means["mean"] > 3 * means["released"]
