from __future__ import annotations

import numpy as np
import pytest

from xorec.training.discrete.rotation import learn_rotation, unit_rows


def quantisation_error(vectors: np.ndarray, rotation: np.ndarray) -> float:
    """|sign(XQ) - XQ|^2 / (n d) for rows of unit length times sqrt(d): 0 if they are codes."""
    turned = unit_rows(vectors).astype(np.float64) @ rotation * np.sqrt(vectors.shape[1])
    return float(np.mean((np.where(turned >= 0, 1.0, -1.0) - turned) ** 2))


def test_the_error_falls_with_every_round_and_q_is_orthogonal() -> None:
    rng = np.random.default_rng(0)
    vectors = (rng.standard_normal((400, 5)) @ rng.standard_normal((5, 16))).astype(np.float32)
    errors = []
    for rounds in (0, 1, 2, 5, 10, 30):
        rotation = learn_rotation(vectors, rounds=rounds)
        np.testing.assert_allclose(rotation.T @ rotation, np.eye(16), atol=1e-5)
        errors.append(quantisation_error(vectors, rotation))
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.9 * errors[0]


@pytest.mark.parametrize("d", [4, 8])
def test_turned_codes_are_turned_back(d: int) -> None:
    """Codes under a random rotation: from several starts ITQ finds one with (almost) no error."""
    rng = np.random.default_rng(d)
    codes = np.where(rng.standard_normal((500, d)) >= 0, 1.0, -1.0)
    q, _ = np.linalg.qr(rng.standard_normal((d, d)))
    hidden = (codes @ q).astype(np.float32)
    found = [learn_rotation(hidden, seed=seed) for seed in range(10)]
    exact = [one for one in found if quantisation_error(hidden, one) < 1e-6]
    assert len(exact) >= 2
    assert len({one.round(3).tobytes() for one in exact}) >= 2, "the starts were one"


@pytest.mark.parametrize("rounds", [0, 3])
def test_the_start_is_drawn_from_the_seed(rounds: int) -> None:
    vectors = np.random.default_rng(2).standard_normal((40, 6)).astype(np.float32)
    one, same, other = (learn_rotation(vectors, rounds=rounds, seed=seed) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, same)
    assert np.abs(one - other).max() > 0.1


def test_many_rows_are_looked_at_here_and_there(monkeypatch: pytest.MonkeyPatch) -> None:
    """Every third row, where a third is the most; parts are one below the other."""
    vectors = np.random.default_rng(3).standard_normal((90, 5)).astype(np.float32)
    monkeypatch.setattr("xorec.training.discrete.rotation._MOST_ROWS", 30)
    every_third = learn_rotation(vectors[::3])
    np.testing.assert_array_equal(learn_rotation(vectors), every_third)
    np.testing.assert_array_equal(learn_rotation(vectors[:47], vectors[47:]), every_third)
