"""The vectors as a teacher of the codes: its lesson is a gradient; who is taught."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt
import pytest

from tests.support.steps import take_step
from xorec.core.options import RunOptions
from xorec.models.siml.dsiml import DSIML
from xorec.models.siml.siml import ScaleInvariantStep
from xorec.models.siml.siml_kernels import LossParams, Teacher
from xorec.testing.data import halves, planted
from xorec.training.discrete.rotation import unit_rows
from xorec.training.passes import Triplets
from xorec.training.rows import FREE, Rows

Doubles = npt.NDArray[np.float64]
WEIGHT, TAU = 0.7, 3.0


def shares(cosines: Doubles) -> Doubles:
    powers = np.exp(2 * TAU * cosines)
    return np.asarray(powers / powers.sum())


def loss_of(user: Doubles, candidates: Doubles, told: Doubles, weight: float) -> float:
    """The pairwise part, and the cross-entropy of the shares; the positive is candidate 0."""
    cosines = candidates @ user
    pairwise = np.log1p(np.exp((cosines[1:] - cosines[0]) / 2)).sum()
    return float(pairwise - weight * shares(told) @ np.log(shares(cosines)))


@pytest.mark.parametrize("lessons", [[WEIGHT, 0.0, WEIGHT], []])
def test_the_lesson_is_a_gradient(lessons: list[float]) -> None:
    """Users by central differences, items by the slope times the user; a negative of -1 is none."""
    rng = np.random.default_rng(1)
    n, m, d = 3, 12, 6
    owner, lists = np.arange(n, dtype=np.int32), np.arange(m, dtype=np.int32).reshape(n, 4)
    lists[2, 3] = -1
    users, items = (unit_rows(rng.standard_normal((rows, d))) for rows in (n, m))
    teacher = Teacher(
        unit_rows(rng.standard_normal((n, 5))),
        unit_rows(rng.standard_normal((m, 5))),
        np.array(lessons, dtype=np.float32),
        np.float32(2 * TAU),
    )
    spent = 1e8  # so large that Adagrad divides every step by 1e4
    params = LossParams(1.0, 0.0, TAU, 0.0, True, FREE, rate=1e4)
    mine = Rows.of(users.copy(), np.full(n, spent, np.float32))
    theirs = Rows.of(items.copy(), np.full(m, spent, np.float32))
    triplets = Triplets(owner, lists[:, 0].copy(), lists[:, 1:].copy())
    step = ScaleInvariantStep(mine, theirs, params, teacher=teacher)
    result = take_step(step, triplets, 2)
    total = 0.0
    for u in range(n):
        known = lists[u][lists[u] >= 0]
        weight = lessons[u] if lessons else 0.0
        told = teacher.items[known].astype(np.float64) @ teacher.users[u]
        user, rows = users[u].astype(np.float64), items[known].astype(np.float64)
        total += loss_of(user, rows, told, weight)
        for f in range(d):
            nudge = 1e-5 * np.eye(d)[f]
            up, down = (loss_of(user + s * nudge, rows, told, weight) for s in (1, -1))
            assert users[u, f] - mine.vectors[u, f] == pytest.approx((up - down) / 2e-5, abs=1e-5)
        cosines = rows @ user
        slopes = weight * 2 * TAU * (shares(cosines) - shares(told))
        half = 0.5 / (1 + np.exp((cosines[0] - cosines[1:]) / 2))
        slopes += np.concatenate([[-half.sum()], half])
        moved = (items - theirs.vectors)[known]
        np.testing.assert_allclose(moved, np.outer(slopes, mine.vectors[u]), rtol=1e-5, atol=1e-5)
    assert step.loss(result.kept.losses) == pytest.approx(total, abs=1e-5)


def test_best_items_take_the_place_of_the_teacher(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a large catalogue short histories get best items; else all learn the vectors' order."""
    train, _ = halves(planted())
    rng = np.random.default_rng(0)
    users, items = (rng.standard_normal((rows, 8)) for rows in (train.n_users, train.n_items))
    model = DSIML.from_vectors(
        users,
        items,
        bits=int(np.median(train.user_counts)),
        distill_weight=2.5,
        teacher_list_length=0,
    )
    vectors = (users.astype(np.float32), items.astype(np.float32))
    lessons = model._rotated(train, *vectors, RunOptions(seed=0)).teacher.distill_weight
    np.testing.assert_array_equal(lessons, np.full(train.n_users, 2.5, np.float32))
    monkeypatch.setattr("xorec.models.siml.teacher_lists._ONE_IN", 1)
    begin = model._rotated(train, *vectors, RunOptions(seed=0))
    assert begin.pairs.n_pairs > train.n_pairs
    assert len(begin.teacher.distill_weight) == 0
