"""What DCF and CCCF share, for one group and for several, against plain loops over the pairs."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from tests.support.sweeping import descended
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.models.hashing.factored_kernels import (
    Entities,
    RowRule,
    Side,
    Sides,
    by_other,
    mixed_weights,
    of_history,
    sampled,
    solve,
)
from xorec.models.new_rows import signs_of
from xorec.testing.data import planted

HIGH, LOW = 3.0, -1.0


def pairs_of(side: Side, row: int) -> np.ndarray:
    return side.pairs[side.starts[row] : side.starts[row + 1]]


def rule(passes: int, ridge: float = 0.0, real: bool = False) -> RowRule:
    return RowRule(np.float32(HIGH), np.float32(LOW), np.float32(ridge), passes, real)


def entities(rng: np.random.Generator, n: int, bits: int, groups: int, zeros: bool) -> Entities:
    """Random codes; weights 1 for one group, else random ones, some of them 0."""
    weights = np.ones((n, groups)) if groups == 1 else rng.random((n, groups))
    if zeros and groups > 1:
        weights[rng.random(weights.shape) < 0.3] = 0
    codes = rng.choice([-1.0, 1.0], (n, bits))
    return Entities(codes.astype(np.float32), weights.astype(np.float32))


def problem(groups: int, bits: int = 6) -> tuple[Sides, Entities, Entities]:
    """Sampled pairs of users with few and many items; user 7 and item 3 have none."""
    data = planted(40, 30, per_user=9)
    rows = np.arange(data.n_pairs)
    data = data.select((data.user_rows != 7) & ((rows % 3 > 0) | (data.user_rows % 2 == 0)))
    sides = sampled(data, Negatives.of(data), 3, 0, 0)
    kept = np.where(sides[0].pairs >= 0, sides[0].pairs, -1 - sides[0].pairs) != 3
    starts = np.concatenate([[0], np.cumsum(kept)])[sides[0].starts]
    users = Side(starts, sides[0].pairs[kept])
    items = by_other(users, 30)
    rng = np.random.default_rng(groups)
    return (
        (users, items),
        entities(rng, 40, bits, groups, True),
        entities(rng, 30, bits, groups, True),
    )


def own_problem(
    side: Side, row: int, own: Entities, others: Entities, pull: np.ndarray
) -> tuple[np.ndarray, np.ndarray, float]:
    """A, c and the constant of a row's problem, pair by pair: value = z'Az + c'z + constant."""
    bits = own.rows.shape[1]
    each = bits // own.weights.shape[1]
    A, c, constant = np.zeros((bits, bits)), -2.0 * pull[row].astype(np.float64), 0.0
    for pair in pairs_of(side, row):
        other, target = (pair, HIGH) if pair >= 0 else (-1 - pair, LOW)
        mixed = own.weights[row].astype(np.float64) * others.weights[other]
        w = np.repeat(mixed, each) * others.rows[other]
        A += np.outer(w, w)
        c -= 2 * target * w
        constant += target**2
    return A, c, constant


def objective(
    sides: Sides, users: Entities, items: Entities, X: np.ndarray, Y: np.ndarray
) -> float:
    """The formula, by a loop over users, their pairs and the groups."""
    groups = users.weights.shape[1]
    each = users.rows.shape[1] // groups
    total = -2.0 * np.sum(users.rows.astype(np.float64) * X)
    total -= 2.0 * np.sum(items.rows.astype(np.float64) * Y)
    for u in range(len(users.rows)):
        for pair in pairs_of(sides[0], u):
            i, target = (pair, HIGH) if pair >= 0 else (-1 - pair, LOW)
            x = 0.0
            for g in range(groups):
                group = slice(g * each, (g + 1) * each)
                weight = float(users.weights[u, g]) * float(items.weights[i, g])
                x += weight * float(users.rows[u, group] @ items.rows[i, group])
            total += (target - x) ** 2
    return float(total)


@pytest.mark.parametrize("groups", [1, 2, 3])
def test_a_row_is_coordinate_descent_on_its_own_binary_problem(groups: int) -> None:
    """The same bits as descent on A and c, whose values are the objective for all 64 codes."""
    sides, users, items = problem(groups)
    pull = np.random.default_rng(9).standard_normal(users.rows.shape).astype(np.float32)
    start = users.rows.copy()
    _, turned = solve(rule(50), sides[0], users, items, pull, ThreadPool(1))
    assert turned == np.count_nonzero(start != users.rows) > 30
    for u in (0, 1, 2, 7, 20):
        A, c, constant = own_problem(sides[0], u, users, items, pull)
        np.testing.assert_array_equal(users.rows[u], descended(A, c, start[u], 50, least=1e-6))
        mine = pairs_of(sides[0], u)
        alone = (Side(np.array([0, len(mine)]), mine),) * 2
        values = {}
        for code in product((-1.0, 1.0), repeat=6):
            z = np.array(code)
            one = Entities(z[None].astype(np.float32), users.weights[[u]])
            values[code] = objective(alone, one, items, pull[[u]], np.zeros_like(items.rows))
            assert values[code] == pytest.approx(z @ A @ z + c @ z + constant, rel=1e-9, abs=1e-9)
        found = tuple(users.rows[u].tolist())
        for k in range(6):
            flipped = tuple(-z if at == k else z for at, z in enumerate(found))
            assert values[flipped] >= values[found] - 1e-6


@pytest.mark.parametrize("groups", [1, 2, 3])
def test_no_half_step_raises_the_objective(groups: int) -> None:
    from xorec.training.discrete.balance import balanced

    sides, users, items = problem(groups)
    both, alpha = (users, items), 0.7
    X, Y = (np.float32(alpha) * balanced(e.rows, 0) for e in both)
    last = objective(sides, users, items, X, Y)
    first = last
    for sweep in range(5):
        pulls = [X, Y]
        for at in (0, 1):
            facing = (sides[at], both[at], both[1 - at], pulls[at])
            value, _ = solve(rule(5), *facing, ThreadPool(2))
            now = objective(sides, users, items, X, Y)
            assert now <= last + 1e-9 * abs(last)
            squares = now + 2 * np.sum(users.rows * X, dtype=float)
            squares += 2 * np.sum(items.rows * Y, dtype=float)
            assert value == pytest.approx(squares, rel=1e-5)
            last = now
        each = users.rows.shape[1] // groups
        for g in range(groups):
            group = slice(g * each, (g + 1) * each)
            X[:, group] = alpha * balanced(users.rows[:, group], sweep)
            Y[:, group] = alpha * balanced(items.rows[:, group], sweep)
        now = objective(sides, users, items, X, Y)
        assert sweep == 0 or now <= last + 1e-6 * abs(last)
        last = now
    assert last < 0.9 * first


@pytest.mark.parametrize("groups", [1, 2])
def test_a_real_row_ends_at_its_ridge_regression(groups: int) -> None:
    sides, users, items = problem(groups)
    users.rows[...] = 0
    solve(rule(3000, 0.3, True), sides[0], users, items, None, ThreadPool(1))
    nothing = np.zeros_like(users.rows)
    for u in range(40):
        count = np.diff(sides[0].starts)[u]
        if count == 0:
            assert not users.rows[u].any()
            continue
        A, c, _ = own_problem(sides[0], u, users, items, nothing)
        mine = pairs_of(sides[0], u)
        weights = items.weights[np.where(mine >= 0, mine, -1 - mine)].astype(np.float64)
        ridge = 0.3 * np.repeat((users.weights[u] ** 2) * (weights**2).sum(axis=0), 6 // groups)
        expected = np.linalg.lstsq(A + np.diag(ridge), -c / 2)[0]
        np.testing.assert_allclose(users.rows[u], expected, atol=2e-4)


def test_rows_without_pairs_follow_the_balanced_rows() -> None:
    sides, users, items = problem(1)
    pull = np.random.default_rng(1).standard_normal(users.rows.shape).astype(np.float32)
    pull[7, 2] = 0
    before = users.rows[7, 2]
    solve(rule(5), sides[0], users, items, pull, ThreadPool(1))
    expected = signs_of(pull[7])
    expected[2] = before
    np.testing.assert_array_equal(users.rows[7], expected)


def test_the_sample_has_every_positive_and_its_negatives_on_both_sides() -> None:
    pairs = [(u, i) for u in range(6) for i in range(5) if (u + i) % 3 or u == 5]
    data = Interactions.from_pairs(pairs)  # user 5 has everything: no negatives
    users, items = sampled(data, Negatives.of(data), 4, 1, 2)
    for u in range(6):
        own = set(data.of_user(u))
        assert sorted(users.positives(u)) == sorted(own)
        mine = pairs_of(users, u)
        lacked = -1 - mine[mine < 0]
        assert len(lacked) == (0 if u == 5 else 4 * len(own))
        assert not own & set(lacked)
    by_user = [(u, int(p)) for u in range(6) for p in pairs_of(users, u)]
    by_item = [
        (int(p) if p >= 0 else int(-1 - p), i if p >= 0 else -1 - i)
        for i in range(5)
        for p in pairs_of(items, i)
    ]
    assert sorted(by_user) == sorted(by_item)


def test_the_pairs_of_a_new_user() -> None:
    own = np.array([2, 5, 11], dtype=np.int32)
    side, met = of_history(own, 40, 5)
    mine = side.pairs
    assert sorted(met[mine[mine >= 0]]) == sorted([2, 5, 11] * 4)
    lacked = met[-1 - mine[mine < 0]]
    assert len(lacked) == 3 * 4 * 5
    assert not set(lacked) & {2, 5, 11}
    assert len(of_history(own[:0], 40, 5)[0].pairs) == 0


def test_weights_of_new_rows_are_those_of_their_pairs() -> None:
    weights = np.array([[0.5, 0.5, 0], [1, 0, 0]], dtype=np.float32)
    np.testing.assert_allclose(mixed_weights(weights), [0.75, 0.25, 0])
    np.testing.assert_allclose(mixed_weights(weights[:0]), [1 / 3] * 3)
    assert mixed_weights(np.ones((4, 1), dtype=np.float32)) == [1.0]
