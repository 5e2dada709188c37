"""The fold-in's kernel against plain NumPy in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from xorec.core.errors import DataError
from xorec.data.negatives import Negatives
from xorec.models.blend import Blend
from xorec.models.pretraining import folding_model, vector_models
from xorec.models.siml import siml
from xorec.models.siml.siml import FOLD_IN_PAIRS, SIML
from xorec.models.siml.siml_kernels import LossParams
from xorec.models.triplet_model import PASSES
from xorec.representations.vectors import Vectors
from xorec.training.discrete.rotation import unit_rows
from xorec.training.rows import FREE, SPHERE

Doubles = npt.NDArray[np.float64]
N_ITEMS, SIZE = 150, 12
RNG = np.random.default_rng(5)
ITEMS = unit_rows(RNG.standard_normal((N_ITEMS, SIZE)))
LEARNED = Vectors(np.zeros((1, SIZE), dtype=np.float32), ITEMS)


def sigmoid(x: Doubles) -> Doubles:
    return np.asarray(1 / (1 + np.exp(-x)))


def gradient(u: Doubles, d_i: Doubles, d_j: Doubles, params: LossParams) -> Doubles:
    """Of the loss of a pair at the user, as the head of `siml_kernels` has it."""
    g, tau = params.gamma_sq, params.temperature
    y = tau * (2 * g * (d_j @ u + d_j @ d_i) - (1 + g) * (d_i @ u) + params.offset)
    w = np.exp(y) / (1 + np.exp(y).sum()) if params.npair else sigmoid(y)
    v = sigmoid((d_j @ u - d_i @ u) / 2)
    each = params.lambda_ * tau * w[:, None] * (2 * g * d_j - (1 + g) * d_i)
    return np.asarray((each + v[:, None] * (d_j - d_i) / 2).sum(axis=0) + params.reg * u)


def projected(u: Doubles, kind: int) -> Doubles:
    length = np.linalg.norm(u)
    return u if kind == FREE or (kind != SPHERE and length <= 1) else u / length


def plain_fold_in(model: SIML, history: npt.NDArray[np.int64]) -> Doubles:
    """Pass after pass; a history of more than FOLD_IN_PAIRS items goes on in the next one."""
    params, rows = model.config.params(), np.unique(history).astype(np.int32)
    items: Doubles = ITEMS.astype(np.float64)
    sampler = Negatives(rows, np.array([0, len(rows)]), N_ITEMS)
    pairs = min(FOLD_IN_PAIRS, len(rows))
    u, squares, total = items[rows].mean(axis=0), 0.0, np.zeros(SIZE)
    for turn in range(2 * PASSES):
        drawn = np.empty((pairs, model.config.negatives), dtype=np.int32)
        sampler.draw(drawn, np.arange(pairs), np.zeros(pairs, dtype=np.int32), 0, turn)
        for pair in range(pairs):
            i = rows[(turn * pairs + pair) % len(rows)]
            slope = gradient(u, items[i], items[drawn[pair]], params)
            squares += float(slope @ slope)
            u = projected(u - params.rate * slope / np.sqrt(squares + 1e-8), params.kind)
        total += u if turn >= PASSES else 0
    return projected(total / PASSES, params.kind)


CASES: list[tuple[int, dict[str, Any]]] = [
    (1, {}),
    (7, {"form": "triplet"}),
    (5, {"negatives": 6, "margin": "geometric", "gamma": 0.7}),
    (9, {"norms": "ball", "lambda_": 0.4, "negatives": 3}),
    (6, {"norms": "free", "reg": 0.1, "learning_rate": 0.3}),
    (4, {"temperature": 9.0, "negatives": 1}),
    (FOLD_IN_PAIRS, {"negatives": 5}),
    (FOLD_IN_PAIRS + 3, {"negatives": 5}),
    (3 * FOLD_IN_PAIRS + 1, {"form": "triplet", "negatives": 4}),
    (N_ITEMS - 1, {}),
]


@pytest.mark.parametrize(("count", "settings"), CASES)
def test_the_kernel_is_the_plain_one(count: int, settings: dict[str, Any]) -> None:
    plain = {"form": "npair", "negatives": 20, "temperature": 2.5, "alpha": 0.0, "popularity": 0.0}
    model = SIML(**{**plain, **settings})
    history = RNG.permutation(N_ITEMS)[:count]
    found = model.fold_in(LEARNED, history)
    assert found.shape == (1, SIZE)
    np.testing.assert_allclose(found[0], plain_fold_in(model, history), atol=2e-5)


def test_a_history_is_a_set() -> None:
    once, again = (SIML().fold_in(LEARNED, np.array(rows)) for rows in ([3, 8], [8, 3, 8]))
    assert once.tobytes() == again.tobytes()


def test_settings_left_to_a_race_are_the_defaults() -> None:
    history = np.arange(4)
    found = SIML().fold_in(LEARNED, history)
    assert found.tobytes() == SIML(**siml.DEFAULTS).fold_in(LEARNED, history).tobytes()
    assert found.tobytes() != SIML(temperature=7.0).fold_in(LEARNED, history).tobytes()


def test_who_has_everything_is_in_the_middle() -> None:
    found = SIML().fold_in(LEARNED, np.arange(N_ITEMS))
    np.testing.assert_allclose(found, unit_rows(ITEMS.mean(axis=0, keepdims=True)), atol=1e-5)


@pytest.mark.parametrize("history", [[], [-1, 3], [3, N_ITEMS]])
def test_rows_that_are_no_items_are_refused(history: list[int]) -> None:
    with pytest.raises(DataError, match="rows 0 to 149"):
        SIML().fold_in(LEARNED, np.array(history, dtype=np.int64))


def test_items_that_cannot_be_written_to() -> None:
    """As those of a file: the kernel is compiled for one kind of array."""
    items = ITEMS.copy()
    items.flags.writeable = False
    found = SIML().fold_in(Vectors(LEARNED.user_vectors, items), np.array([2, 5]))
    assert found.tobytes() == SIML().fold_in(LEARNED, np.array([2, 5])).tobytes()


@pytest.mark.parametrize("name", vector_models())
def test_a_start_is_made_once_for_all_fold_ins(name: str) -> None:
    start, same = (Blend(start={"model": name}).config.start for _ in range(2))
    assert folding_model(start) is folding_model(same)
    assert folding_model(start).name == name
