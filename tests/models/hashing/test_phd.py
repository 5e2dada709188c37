from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.steps import differences, take_step
from xorec.core.threads import ThreadPool
from xorec.evaluation.protocol import evaluate
from xorec.models.base import DataUpdate
from xorec.models.hashing.phd import (
    PHD,
    Items,
    PHDLossParams,
    PHDStep,
    Users,
    singular_rows,
    tables,
    turned_rows,
)
from xorec.representations.codes import MaskedCodes
from xorec.testing.data import halves, planted
from xorec.testing.models import EpochModelTests
from xorec.training.passes import Triplets

TINY = {"bits": 32, "epochs": 20}
BITS = 8  # 2 / 8 is exact in float32


class TestPHD(EpochModelTests):
    model = PHD
    settings = TINY


class TestReleased(EpochModelTests):
    """A random start, bits drawn from the first epoch on, noise on the targets."""

    variant = True
    model = PHD
    settings = {**TINY, "epochs": 60, "start": "random", "softness": 0.0, "noise": 0.3}  # noqa: RUF012


def sigma(x: Any) -> Any:
    return 1 / (1 + np.exp(-x))


def block(seed: int, hard: float, **params: float) -> tuple[Users, Items, Triplets, PHDLossParams]:
    """Logits in float64, and a block of pairs, some of them without a negative."""
    rng = np.random.default_rng(seed)
    n, m, pairs, count = 6, 9, 25, 3
    arrays = {
        "users": rng.uniform(-2, 2, (n, BITS)),
        "items": rng.uniform(-2, 2, (m, BITS)),
        "user_grad_sq_sum": rng.uniform(0, 1, n),
        "item_grad_sq_sum": rng.uniform(0, 1, m),
    }
    chosen = np.sort(rng.choice(n * m, size=pairs, replace=False))
    triplets = Triplets(
        (chosen // m).astype(np.int32),
        (chosen % m).astype(np.int32),
        rng.integers(-1, m, size=(pairs, count)).astype(np.int32),
    )
    given = {"rate": 0.7, "kl": 0.0, "target": -0.2, "noise": 0.0, "hardness": hard, **params}
    settings = PHDLossParams(**given, seed=seed, turn=3 << 24)
    return *tables(arrays, settings), triplets, settings


def examples(t: Triplets) -> list[tuple[int, int, int, int]]:
    """(pair, place among the candidates, user, item) of every example of a block."""
    found = []
    for pair, (u, i, js) in enumerate(zip(t.users, t.positives, t.negatives, strict=True)):
        found += [(pair, k, int(u), int(c)) for k, c in enumerate([i, *js]) if c >= 0]
    return found


def objective(users: Any, items: Any, t: Triplets, params: PHDLossParams) -> float:
    """The relaxed loss of a block, chances for bits, with each example's KL, by the definition."""
    total, p_users, p_items = 0.0, sigma(users), sigma(items)
    for _, k, u, c in examples(t):
        s = 1 - 2 * p_users[u] @ (1 - p_items[c]) / BITS
        total += ((1 if k == 0 else params.target) - s) ** 2
        for p in (p_users[u], p_items[c]):
            total += params.kl * np.mean(p * np.log(2 * p) + (1 - p) * np.log(2 - 2 * p))
    return total


def slopes_at(
    z_users: Any, z_items: Any, users: Any, items: Any, t: Triplets, params: PHDLossParams
) -> Any:
    """The gradient with respect to the logits, straight through from bits z: a plain loop."""
    found = np.zeros_like(users), np.zeros_like(items)
    for _, k, u, c in examples(t):
        s = 1 - 2 * z_users[u] @ (1 - z_items[c]) / BITS
        error = 2 * (s - (1 if k == 0 else params.target))
        found[0][u] += error * -2 / BITS * (1 - z_items[c]) + params.kl / BITS * users[u]
        found[1][c] += error * 2 / BITS * z_users[u] + params.kl / BITS * items[c]
    return tuple(
        slope * sigma(logits) * (1 - sigma(logits))
        for slope, logits in zip(found, (users, items), strict=True)
    )


def adagrad(rows: Any, slope: Any, spent: Any, rate: float) -> Any:
    """Rows after one step; those without a slope stay."""
    spent = spent + np.sum(slope**2, axis=1)
    return rows - rate * slope / np.sqrt(spent + float(np.float32(1e-8)))[:, None]


def run(
    users: Users, items: Items, t: Triplets, params: PHDLossParams, parts: int = 1
) -> tuple[Any, float]:
    """The step over one block, written; the users' bits as they were drawn, and the loss."""
    step = PHDStep(users, items, params._replace(turn=params.turn + 1))
    kept = take_step(step, t, parts).kept
    return kept.bits, step.loss(kept.losses)


@pytest.mark.parametrize(("hard", "kl"), [(0.0, 0.0), (0.0, 0.3), (1.0, 0.0), (0.6, 0.1)])
@pytest.mark.parametrize("parts", [1, 2, 4])
def test_a_block_is_one_step_along_the_plain_loops_gradient(
    hard: float, kl: float, parts: int
) -> None:
    """Chances, drawn bits, and what lies between: the slope at the bits, through to the logits."""
    mine, theirs, t, params = block(parts, hard, kl=kl)
    users, items = mine.logits.copy(), theirs.logits.copy()
    spent, z_items = (mine.grad_sq_sum.copy(), theirs.grad_sq_sum.copy()), 1 - theirs.lacks
    met, bits = np.unique(t.users), np.zeros_like(users)
    bits[met], _ = run(mine, theirs, t, params, parts)
    slopes = slopes_at(bits, z_items, users, items, t, params)
    moved = adagrad(users, slopes[0], spent[0], params.rate)
    np.testing.assert_allclose(mine.logits[met], moved[met], atol=1e-9)
    np.testing.assert_allclose(
        theirs.logits, adagrad(items, slopes[1], spent[1], params.rate), atol=1e-9
    )


@pytest.mark.parametrize("kl", [0.0, 0.2])
def test_with_chances_for_bits_the_gradient_is_that_of_the_relaxed_loss(kl: float) -> None:
    """Finite differences; and the loss that the steps report is the loss (without the KL)."""
    mine, theirs, t, params = block(5, 0.0, kl=kl)
    users, items = mine.logits.copy(), theirs.logits.copy()
    slopes = slopes_at(sigma(users), sigma(items), users, items, t, params)
    by_users = differences(lambda table: objective(table, items, t, params), users, 1e-5)
    np.testing.assert_allclose(slopes[0], by_users, atol=1e-8)
    by_items = differences(lambda table: objective(users, table, t, params), items, 1e-5)
    np.testing.assert_allclose(slopes[1], by_items, atol=1e-8)
    plain = PHDLossParams(params.rate, 0.0, params.target, 0.0, 0.0)
    expected = objective(users, items, t, plain)
    np.testing.assert_allclose(run(mine, theirs, t, params)[1], expected, rtol=1e-12)


def test_drawn_bits_have_their_chances() -> None:
    """Bits are 0 or 1 with mean p, users and items drawn apart; half hard lies half way."""
    logits = np.linspace(-3, 3, 40)[None].repeat(4000, axis=0)
    arrays = {"users": logits.copy(), "items": logits.copy()}
    arrays |= {name: np.zeros(4000) for name in ("user_grad_sq_sum", "item_grad_sq_sum")}
    params = PHDLossParams(1.0, 0.0, 0.0, 0.0, 1.0, seed=1)
    z = 1 - tables(arrays, params)[1].lacks
    assert set(np.unique(z)) == {0.0, 1.0}
    np.testing.assert_allclose(z.mean(axis=0), sigma(logits[0]), atol=5 * 0.5 / np.sqrt(4000))
    other = 1 - tables(arrays, params._replace(turn=1 << 24))[1].lacks
    assert 0.3 < np.mean(z[:, 20] == other[:, 20]) < 0.7
    half = 1 - tables(arrays, params._replace(hardness=0.5))[1].lacks
    np.testing.assert_allclose(half, (z + sigma(logits)) / 2, atol=1e-12)


def test_the_dot_product_is_r_less_twice_the_bits_that_the_item_lacks() -> None:
    rng = np.random.default_rng(2)
    users, items = rng.integers(2, size=(7, 20)), rng.integers(2, size=(9, 20))
    dots = np.array(
        [[(2 * u - 1) @ (2 * u * i - 1) for i in items] for u in users]  # the masked item
    )
    lacking = np.array([[np.sum(u & ~i & 1) for i in items] for u in users])
    np.testing.assert_array_equal(dots, 20 - 2 * lacking)
    scores = MaskedCodes.from_bits(users, items).scores(np.arange(7))
    np.testing.assert_allclose(scores, (1 + dots / 20) / 2, atol=1e-6)


def test_noise_moves_the_targets_and_decays() -> None:
    config = PHD(noise=2.0, noise_decay=0.5).config
    assert [config.params(epoch, 12).noise for epoch in range(4)] == [2.0, 1.0, 0.5, 0.25]
    quiet, noisy = (run(*given)[1] for given in (block(3, 0.0), block(3, 0.0, noise=1.0)))
    _, _, t, _ = block(3, 0.0)
    assert 0.4 < (noisy - quiet) / len(examples(t)) < 1.8  # about its variance, an example


def test_bits_harden_over_the_epochs() -> None:
    hard = [PHD(softness=0.5).config.params(epoch, 9).hardness for epoch in range(9)]
    np.testing.assert_allclose(hard, [0, 0.25, 0.5, 0.75, 1, 1, 1, 1, 1])
    assert PHD(softness=0.0).config.params(0, 9).hardness == 1


def test_the_start_is_the_leading_singular_vectors() -> None:
    data = planted(150, 90)
    X = data.matrix().toarray().astype(np.float64)
    X /= np.sqrt(X.sum(axis=1, keepdims=True)) * np.sqrt(np.maximum(X.sum(axis=0), 1))
    users, items = singular_rows(data, 82, 0)  # with the spare directions: all of them
    np.testing.assert_allclose(users @ items.T, _nearest(X, 82), atol=1e-5)
    small, _ = turned_rows(data, 120, 0)  # more bits than items
    np.testing.assert_allclose(np.linalg.norm(small, axis=1), 1, atol=1e-5)


def _nearest(X: Any, rank: int) -> Any:
    left, values, right = np.linalg.svd(X, full_matrices=False)
    return left[:, :rank] * values[:rank] @ right[:rank]


def test_a_user_without_pairs_lacks_nothing_anywhere() -> None:
    """No bit is set, so every item scores 1 and the tie rule ranks them."""
    data = planted(60, 40)
    data = data.select(data.user_rows != 7)
    scores = PHD(**TINY).fit(data).representation_.scores(np.array([7]))
    np.testing.assert_array_equal(scores, 1)


@pytest.mark.parametrize("side", ["users", "items"])
def test_update_learns_new_rows_and_leaves_the_others(side: str) -> None:
    """New users find their items; codes of new items find the users of their group."""
    train, test = halves(planted())
    rows, late = ("user_rows", np.arange(0, train.n_users, 5))
    if side == "items":
        rows, late = "indices", np.arange(0, train.n_items, 6)
    old = train.select(~np.isin(getattr(train, rows), late))
    theirs = test.select(np.isin(getattr(test, rows), late))

    def quality(representation: Any) -> float:
        return evaluate(representation, train, theirs, ks=(10,))["ndcg@10"]

    model, none = PHD(**TINY).fit(old), late[:0]
    users, items = (late, none) if side == "users" else (none, late)
    before = model.representation_
    grown = DataUpdate(train, users, items, old.user_counts)
    after = model.update(before, grown).representation_
    fitted = quality(PHD(**TINY).fit(train).representation_)
    if side == "users":
        assert quality(after) > 0.85 * fitted
        same = np.setdiff1d(np.arange(train.n_users), late)
        codes, kept = after.tensors(), before.tensors()
        np.testing.assert_array_equal(codes["item_codes"], kept["item_codes"])
        np.testing.assert_array_equal(codes["user_codes"][same], kept["user_codes"][same])
    else:
        assert quality(after) > max(2 * quality(before), 0.8 * fitted)


def test_each_block_of_each_epoch_draws_its_own_codes() -> None:
    data = planted(60, 40)
    model = PHD(bits=8)
    arrays = model._start(data, 3)
    steps = [
        model._step_of(arrays, epoch, 3, ThreadPool(1))(block, 100)
        for epoch in (0, 1, 2)
        for block in (0, 1)
    ]
    assert all(isinstance(step, PHDStep) and step.params.seed == 3 for step in steps)
    assert len({step.params.turn for step in steps}) == 6  # type: ignore[attr-defined]
