"""DPR's steps held against the objective written out over all pairs, and against every code."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tests.support.data_update import check_data_update
from tests.support.sweeping import descended
from xorec.core.bits import unpack_signs
from xorec.core.threads import ThreadPool
from xorec.data.ids import Ids
from xorec.data.interactions import Interactions
from xorec.models.hashing.dpr import DPR, Rule, Steps
from xorec.representations.codes import Codes
from xorec.testing.data import halves, planted
from xorec.testing.models import EpochModelTests
from xorec.training.discrete.balance import balanced


class TestDPR(EpochModelTests):
    model = DPR
    settings = {"bits": 32, "alpha": 1e-3, "beta": 1e-3}  # noqa: RUF012


def random_pairs(seed: int, n: int = 9, m: int = 11, share: float = 0.35) -> Interactions:
    """Pairs at random; the first user has every item, the second none; nor has the last item."""
    rng = np.random.default_rng(seed)
    has = rng.random((n, m)) < share
    has[:, m - 1], has[0], has[1] = False, True, False
    ids = Ids("int64", np.arange(n)), Ids("int64", np.arange(m))
    return Interactions.from_rows(*ids, *np.nonzero(has))


def objective(train: Interactions, B: Any, D: Any, X: Any, Y: Any, rule: Rule) -> float:
    """The sum over all pairs (i, j) of each user, one by one."""
    total, m = 0.0, train.n_items
    scores = B.astype(np.float64) @ D.astype(np.float64).T
    for u in range(train.n_users):
        own = train.of_user(u).tolist()
        others = [j for j in range(m) if j not in own]
        if own and others:
            apart = scores[u, own][:, None] - scores[u, others][None]
            total += float(np.mean((rule.target - apart) ** 2))
    for rows, near, pull in ((B, X, rule.users), (D, Y, rule.items)):
        total -= 2 * pull * float(np.sum(rows * near.astype(np.float64)))
        if rule.real:
            total += rule.ridge * float(np.sum(rows.astype(np.float64) ** 2))
    return total


def codes(rng: np.random.Generator, rows: int, bits: int) -> Any:
    return rng.choice([-1, 1], size=(rows, bits)).astype(np.int8)


RULES = [
    Rule(12.0, 0.5, 2.0, passes=3),
    Rule(6.0, 0.0, 0.0),
    Rule(12.0, 30.0, 30.0),
    Rule(1.0, 0.7, 0.4, ridge=0.5, real=True, passes=2),
]


@pytest.mark.parametrize("rule", RULES)
def test_the_objective_never_rises(rule: Rule) -> None:
    """After X and Y, after each user, after each item; nor does it stay where it was."""
    falls, rounding = 0, 1e-6 if rule.real else 1e-9
    for seed in range(6):
        rng, train = np.random.default_rng(seed), random_pairs(seed)
        steps = Steps.of(train, ThreadPool(1))
        B, D = codes(rng, train.n_users, 6), codes(rng, train.n_items, 6)
        if rule.real:
            B, D = (rng.standard_normal(rows.shape, np.float32) for rows in (B, D))
        X, Y = balanced(codes(rng, *B.shape), 0), balanced(codes(rng, *D.shape), 0)
        last = objective(train, B, D, X, Y, rule)
        for _ in range(3):
            X, Y = balanced(B, 0), balanced(D, 0)
            for u in range(train.n_users):
                steps.users(B, D, X[u : u + 1], rule, np.array([u]))
                now = objective(train, B, D, X, Y, rule)
                assert now <= last + rounding * abs(last)
                falls, last = falls + (now < last), now
            for v in range(train.n_items):
                steps.items(B, D, Y[v : v + 1], rule, np.array([v]))
                now = objective(train, B, D, X, Y, rule)
                assert now <= last + rounding * abs(last)
                falls, last = falls + (now < last), now
    assert falls > 30


@pytest.mark.parametrize("rule", RULES)
def test_all_rows_at_once_are_the_rows_one_after_another(rule: Rule) -> None:
    """What is kept up to date between items is what is computed anew for each of them."""
    rng, train = np.random.default_rng(3), random_pairs(3, 20, 15)
    B, D = codes(rng, 20, 10), codes(rng, 15, 10)
    if rule.real:
        B, D = (rng.standard_normal(rows.shape, np.float32) for rows in (B, D))
    X, Y = balanced(B, 0), balanced(D, 0)
    steps, ones, alls = Steps.of(train, ThreadPool(1)), (B.copy(), D.copy()), (B.copy(), D.copy())
    steps.users(*alls, X, rule)
    steps.items(*alls, Y, rule)
    for u in range(20):
        steps.users(*ones, X[u : u + 1], rule, np.array([u]))
    for v in range(15):
        steps.items(*ones, Y[v : v + 1], rule, np.array([v]))
    for one, all_, start in zip(ones, alls, (B, D), strict=True):
        np.testing.assert_allclose(one, all_, atol=1e-5 if rule.real else 0)
        assert np.any(one != start)


def users_problem(train: Interactions, B: Any, D: Any, X: Any, rule: Rule, u: int) -> Any:
    """A and c of the user's step: S+ + S- - m+ m-' - m- m+' and -2T(m+ - m-) - 2 alpha n x."""
    own, d = train.of_user(u), D.astype(np.float64)
    plus, minus = d[own], np.delete(d, own, axis=0)
    p, q = plus.mean(axis=0), minus.mean(axis=0)
    spread = plus.T @ plus / len(plus) + minus.T @ minus / len(minus)
    A = spread - np.outer(p, q) - np.outer(q, p)
    return A, -2 * rule.target * (p - q) - 2 * rule.users * X[u].astype(np.float64)


def items_problem(train: Interactions, B: Any, D: Any, Y: Any, rule: Rule, v: int) -> Any:
    """A and c of the item's step, user by user: a positive of some, a negative of all others."""
    size, m = D.shape[1], train.n_items
    A, c = np.zeros((size, size)), -2 * rule.items * Y[v].astype(np.float64)
    for u in range(train.n_users):
        own, b = train.of_user(u), B[u].astype(np.float64)
        if not 0 < len(own) < m:
            continue
        scores = D.astype(np.float64) @ b
        if v in own:
            rest = np.delete(scores, own).mean()
            A += np.outer(b, b) / len(own)
            c -= 2 * (rule.target + rest) / len(own) * b
        else:
            A += np.outer(b, b) / (m - len(own))
            c += 2 * (rule.target - scores[own].mean()) / (m - len(own)) * b
    return A, c


@pytest.mark.parametrize("side", ["users", "items"])
def test_a_step_is_descent_by_the_problem_of_every_code(side: str) -> None:
    """z'Az + c'z + constant is the true objective of all 64 codes; descent by it ends likewise."""
    rule, turned = Rule(12.0, 0.5, 2.0, passes=50), 0
    every = np.array(list(itertools.product([-1, 1], repeat=6)), dtype=np.int8)
    for seed in range(4):
        rng, train = np.random.default_rng(seed), random_pairs(seed)
        steps = Steps.of(train, ThreadPool(1))
        B, D = codes(rng, train.n_users, 6), codes(rng, train.n_items, 6)
        X, Y = balanced(B, 0), balanced(D, 0)
        table, near = (B, X) if side == "users" else (D, Y)
        problem_of = users_problem if side == "users" else items_problem
        rows = np.flatnonzero(train.user_counts) if side == "users" else np.arange(train.n_items)
        for row in rows[1:]:
            A, c = problem_of(train, B, D, near, rule, row)
            old, values = table[row].copy(), []
            for code in every:
                table[row] = code
                values.append(objective(train, B, D, X, Y, rule))
            table[row] = old
            found = np.einsum("zk,kl,zl->z", every, A, every) + every @ c
            np.testing.assert_allclose(found - found[0], np.array(values) - values[0], atol=1e-8)
            z = descended(A, c, old, 50)
            getattr(steps, side)(B, D, near[row : row + 1], rule, np.array([row]))
            np.testing.assert_array_equal(table[row], z)
            turned += int(np.any(z != old))
    assert turned > 15


def test_the_loss_is_the_objective_without_the_pull() -> None:
    train, rng = random_pairs(5), np.random.default_rng(5)
    B, D = codes(rng, train.n_users, 8), codes(rng, train.n_items, 8)
    with ThreadPool(2) as pool:
        found = Steps.of(train, pool).loss(B, D, 9.0)
    assert found == pytest.approx(objective(train, B, D, B, D, Rule(9.0, 0, 0)), rel=1e-12)


def test_a_new_users_code_is_the_users_step() -> None:
    """From nothing, with no row of X: for every user of the data."""
    train, _ = halves(planted(80, 60))
    model = DPR(bits=16, epochs=2).fit(train)
    found = model.representation_
    assert isinstance(found, Codes)
    items, rule = unpack_signs(found.item_codes, 16), model.config.rule(80)
    B = np.zeros((80, 16), dtype=np.int8)
    Steps.of(train, ThreadPool(1)).users(B, items, np.zeros((80, 16)), rule)
    for u in range(80):
        code = unpack_signs(model.fold_in(found, train.of_user(u)), 16)
        np.testing.assert_array_equal(code[0], np.where(B[u] >= 0, 1, -1))


def test_new_rows_and_changed_rows_are_solved_and_no_others() -> None:
    check_data_update(DPR(bits=16, epochs=3))
