from __future__ import annotations

from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.processes import compiled_and_loaded
from xorec.core.engine import LocalEngine
from xorec.core.options import RunOptions
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.models.base import DataUpdate
from xorec.models.factorization.als import ALS, ALSPairs
from xorec.representations.vectors import Vectors
from xorec.testing.data import halves, planted, weighted
from xorec.testing.models import EpochModelTests

SETTINGS = {"reg": 0.02, "unobserved": 0.3, "reg_exponent": 0.7}


class TestALS(EpochModelTests):
    model = ALS
    settings = {"dimensions": 16}  # noqa: RUF012


def solve_all(side: ALSPairs, vectors: Any, others: Any) -> float:
    return side.solve_all(vectors, others, LocalEngine(2), side.blocks(), ThreadPool(1))


def sides(data: Interactions, **settings: float) -> tuple[ALSPairs, ALSPairs]:
    return ALS(**{**SETTINGS, **settings})._sides(data)


def vectors(data: Interactions, size: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(size)
    return rng.standard_normal((data.n_users, size)), rng.standard_normal((data.n_items, size))


def objective(data: Interactions, B: np.ndarray, D: np.ndarray) -> float:
    """The formula, by a loop over all users and all items."""
    reg, unobserved, nu = SETTINGS["reg"], SETTINGS["unobserved"], SETTINGS["reg_exponent"]
    own = data.matrix(data.weights).toarray().astype(np.float64)
    n, m = own.shape
    total = 0.0
    for u in range(n):
        total += reg * (own[u].sum() + unobserved * m) ** nu * (B[u] @ B[u])
        for i in range(m):
            x = B[u] @ D[i]
            total += unobserved * x**2 + own[u, i] * (1 - x) ** 2
    for i in range(m):
        total += reg * (own[:, i].sum() + unobserved * n) ** nu * (D[i] @ D[i])
    return float(total)


@pytest.mark.parametrize("size", [1, 3, 8, 13, 24])
@pytest.mark.parametrize(
    ("weigh", "dtype", "digits"),
    [
        (False, np.float64, 1e-9),
        (False, np.float32, 1e-4),
        pytest.param(True, np.float64, 1e-6, marks=pytest.mark.exhaustive),
        (True, np.float32, 1e-4),
    ],
)
def test_a_half_sweep_solves_every_normal_equation(
    size: int, weigh: bool, dtype: type, digits: float
) -> None:
    """Users with fewer and with more pairs than dimensions, and one with none."""
    data = planted(40, 30, per_user=12)
    data = weighted(data) if weigh else data
    user = data.user_rows
    data = data.select((user != 7) & ((user % 3 > 0) | (np.arange(data.n_pairs) % 4 == 0)))
    B: Any
    D: Any
    B, D = (rows.astype(dtype) for rows in vectors(data, size))
    solve_all(sides(data)[0], B, D)
    D = D.astype(np.float64)
    for own, found in zip(data.matrix(data.weights).toarray().astype(np.float64), B, strict=True):
        weight = SETTINGS["reg"] * (own.sum() + SETTINGS["unobserved"] * 30) ** 0.7
        system = D.T @ ((SETTINGS["unobserved"] + own)[:, None] * D) + weight * np.eye(size)
        expected = np.linalg.solve(system, D.T @ own)
        np.testing.assert_allclose(found, expected, rtol=digits, atol=digits)
    assert not B[7].any()


def test_many_pairs_are_taken_in_pieces() -> None:
    """A row of more pairs than the kernel's buffer holds at once."""
    pairs = [(u, i) for u in range(600) for i in range(3) if i == 0 or (u + i) % 5 == 0]
    data = Interactions.from_pairs(pairs)
    B, D = vectors(data, 6)
    solve_all(sides(data)[1], D, B)
    own = B[data.matrix().toarray()[:, 0] > 0]
    weight = SETTINGS["reg"] * (600 + SETTINGS["unobserved"] * 600) ** 0.7
    system = own.T @ own + SETTINGS["unobserved"] * B.T @ B + weight * np.eye(6)
    np.testing.assert_allclose(D[0], np.linalg.solve(system, own.sum(axis=0)), rtol=1e-9)


@pytest.mark.parametrize("weigh", [False, True])
@pytest.mark.parametrize("size", [2, 9, 20])
def test_the_objective_equals_a_loop_over_all_users_and_items(size: int, weigh: bool) -> None:
    data = planted(40, 30, per_user=12)
    data = weighted(data) if weigh else data
    digits = 1e-6 if weigh else 1e-9  # weights are float32
    B, D = vectors(data, size)
    users, items = sides(data)
    found = solve_all(users, B, D) + items.penalty(D)
    assert found == pytest.approx(objective(data, B, D), rel=digits)
    found = solve_all(items, D, B) + users.penalty(B)
    assert found == pytest.approx(objective(data, B, D), rel=digits)


def test_the_loss_is_the_objective_of_what_was_learned_and_never_rises() -> None:
    data = planted(60, 40)
    model = ALS(dimensions=12, epochs=30, **SETTINGS).fit(data)
    losses = [row["loss"] for row in model.history_]
    found = model.representation_
    assert isinstance(found, Vectors)
    B, D = (v.astype(np.float64) for v in (found.user_vectors, found.item_vectors))
    assert losses[-1] * data.n_pairs == pytest.approx(objective(data, B, D), rel=1e-5)
    assert losses[-1] < 0.9 * losses[0]
    assert all(after <= before * (1 + 1e-6) for before, after in pairwise(losses))


def test_fold_in_is_the_next_half_sweep() -> None:
    data = planted(60, 40)
    model = ALS(dimensions=12, epochs=3, **SETTINGS).fit(data)
    found = model.representation_
    assert isinstance(found, Vectors)
    next_users = found.user_vectors.copy()
    solve_all(model._sides(data)[0], next_users, found.item_vectors)
    for user in range(60):
        row = model.fold_in(found, data.of_user(user))
        np.testing.assert_allclose(row[0], next_users[user], rtol=1e-3, atol=1e-6)


def test_an_update_solves_the_rows_that_changed_and_leaves_the_others() -> None:
    data = planted(60, 40)
    early = data.select((data.user_rows < 50) & (data.indices < 35))
    model = ALS(dimensions=12, **SETTINGS).fit(early)
    before = model.representation_
    assert isinstance(before, Vectors)
    old = Vectors(before.user_vectors[:50], before.item_vectors[:35])
    changed = np.flatnonzero(data.user_counts > early.user_counts)
    update = DataUpdate(data, changed, np.arange(35, 40), early.user_counts)
    after = model.update(old, update).representation_
    assert isinstance(after, Vectors)
    same = np.setdiff1d(np.arange(50), changed)
    assert (after.user_vectors[same] == old.user_vectors[same]).all()
    assert (after.item_vectors[:35] == old.item_vectors).all()
    expected = after.user_vectors.copy()
    solve_all(model._sides(data)[0], expected, after.item_vectors)
    np.testing.assert_allclose(after.user_vectors[changed], expected[changed], atol=1e-5)
    assert (np.abs(after.item_vectors[35:]).sum(axis=1) > 0).all()


def test_validation_works_with_another_number_of_threads() -> None:
    train, validation = halves(planted())
    runs = [
        ALS(dimensions=8, epochs=4).fit(train, validation, RunOptions(threads=threads))
        for threads in (1, 3)
    ]
    assert runs[0].history_ == runs[1].history_


_SCRIPT = """
from xorec.models.factorization.als import ALS
from xorec.testing.data import planted
learned = ALS(dimensions=8, epochs=3).fit(planted(200, 90, per_user=12)).representation_
print_digest(learned.user_vectors, learned.item_vectors)
"""


@pytest.mark.process
def test_the_process_that_compiles_learns_the_same_as_those_after_it(tmp_path: Path) -> None:
    """Kernels called by kernels were optimised once more than what the disk keeps of them."""
    compiled, loaded = compiled_and_loaded(_SCRIPT, tmp_path)
    assert compiled == loaded
