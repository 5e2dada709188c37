from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tests.support.references.scale_invariant import (
    hinge,
    pairwise_part,
    scale_part,
    siml_gradients,
    siml_loss,
    siml_slopes,
    siml_values,
)
from tests.support.steps import differences
from xorec.core.errors import OptionError

GAMMAS = [0.5, 1.0, 1.3]
SETTINGS = [
    {"margin": margin, "form": form, "space": space}
    for margin, form, space in itertools.product(
        ["paper", "geometric"], ["triplet", "npair"], ["sphere", "codes"]
    )
]


def unit(rng: np.random.Generator, *shape: int) -> np.ndarray:
    rows = rng.standard_normal(shape)
    return np.asarray(rows / np.linalg.norm(rows, axis=-1, keepdims=True))


def codes(rng: np.random.Generator, *shape: int) -> np.ndarray:
    return rng.choice([-1.0, 1.0], size=shape)


def triplets(seed: int, space: str, pairs: int = 7, count: int = 3, size: int = 6) -> Any:
    rng = np.random.default_rng(seed)
    draw = unit if space == "sphere" else codes
    return draw(rng, pairs, size), draw(rng, pairs, size), draw(rng, pairs, count, size)


def plain_loop(
    b: np.ndarray,
    d_pos: np.ndarray,
    d_neg: np.ndarray,
    *,
    temperature: float,
    gamma: float,
    lambda_: float,
    margin: str,
    form: str,
    space: str,
    weights: np.ndarray,
) -> float:
    """METHOD: triplet by triplet, with scalars."""
    size, g, total = b.shape[1], gamma * gamma, 0.0
    for p in range(len(b)):
        inside = 0.0
        for k in range(d_neg.shape[1]):
            ui, uj, ij = b[p] @ d_pos[p], b[p] @ d_neg[p, k], d_pos[p] @ d_neg[p, k]
            x = (uj - ui) / 2
            y = 2 * g * (uj + ij) - (1 + g) * ui
            if margin == "geometric":
                y += (size if space == "codes" else 1) * (1 - 3 * g)
            if space == "codes":
                x, y = x / size, y / size
            y *= temperature
            total += weights[p, k] * np.log(1 + np.exp(x))
            inside += weights[p, k] * np.exp(y)
            if form == "triplet":
                total += lambda_ * weights[p, k] * np.log(1 + np.exp(y))
        if form == "npair":
            total += lambda_ * np.log(1 + inside)
    return total


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: "-".join(s.values()))
def test_the_loss_is_a_plain_loop(setting: dict[str, Any], gamma: float) -> None:
    rows = triplets(1, setting["space"])
    weights = np.random.default_rng(2).integers(0, 3, size=(7, 3)).astype(float)
    run = {"temperature": 2.5, "gamma": gamma, "lambda_": 0.7, "weights": weights, **setting}
    assert siml_loss(*rows, **run) == pytest.approx(plain_loop(*rows, **run), abs=1e-12)
    assert siml_values(*rows, **run).shape == (7,)


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("setting", SETTINGS, ids=lambda s: "-".join(s.values()))
def test_gradients_are_central_differences(setting: dict[str, Any], gamma: float) -> None:
    rows = triplets(3, setting["space"], pairs=3)
    weights = np.random.default_rng(4).uniform(0, 2, size=(3, 3))
    weights[0, 1] = 0
    run = {"temperature": 3.0, "gamma": gamma, "lambda_": 0.6, "weights": weights, **setting}
    for role, gradient in enumerate(siml_gradients(*rows, **run)):

        def loss(moved: np.ndarray, role: int = role) -> float:
            changed: Any = (*rows[:role], moved, *rows[role + 1 :])
            return siml_loss(*changed, **run)

        np.testing.assert_allclose(gradient, differences(loss, rows[role], 1e-5), atol=1e-6)


@pytest.mark.parametrize("margin", ["paper", "geometric"])
def test_one_negative_is_the_same_in_both_forms(margin: Any) -> None:
    rows = triplets(5, "sphere", count=1)
    run: Any = {"temperature": 4.0, "gamma": 0.9, "margin": margin}
    assert siml_loss(*rows, form="npair", **run) == pytest.approx(
        siml_loss(*rows, form="triplet", **run), abs=1e-12
    )
    pairs = zip(
        siml_gradients(*rows, form="npair", **run),
        siml_gradients(*rows, form="triplet", **run),
        strict=True,
    )
    for npair, triplet in pairs:
        np.testing.assert_allclose(npair, triplet, atol=1e-12)


def test_npair_weights_share_one_softmax() -> None:
    """w_k = e^y_k / (1 + sum e^y): below 1 together, and the larger y has the larger part."""
    x, y = np.zeros((1, 3)), np.array([[0.0, np.log(2), np.log(4)]])
    v, w = siml_slopes(x, y, form="npair")
    np.testing.assert_allclose(w, [[1 / 8, 2 / 8, 4 / 8]], atol=1e-15)
    np.testing.assert_allclose(v, 0.5)
    _, masked = siml_slopes(x, y, form="npair", weights=[[1, 1, 0]])
    np.testing.assert_allclose(masked, [[1 / 4, 2 / 4, 0]], atol=1e-15)


@pytest.mark.parametrize("form", ["triplet", "npair"])
def test_weight_zero_is_a_triplet_left_out(form: Any) -> None:
    b, d_pos, d_neg = triplets(6, "sphere")
    mask = np.ones((7, 3))
    mask[:, 2] = 0
    run: Any = {"temperature": 3.0, "form": form}
    without = siml_values(b, d_pos, d_neg[:, :2], **run)
    np.testing.assert_allclose(siml_values(b, d_pos, d_neg, weights=mask, **run), without)
    g_u, g_i, g_j = siml_gradients(b, d_pos, d_neg, weights=mask, **run)
    for got, expected in zip(
        (g_u, g_i, g_j[:, :2]), siml_gradients(b, d_pos, d_neg[:, :2], **run), strict=True
    ):
        np.testing.assert_allclose(got, expected, atol=1e-15)
    assert not g_j[:, 2].any()


@pytest.mark.parametrize("gamma", GAMMAS)
@pytest.mark.parametrize("size", [6, 20, 64])
def test_the_scale_part_is_twice_the_hinge(gamma: float, size: int) -> None:
    """2h = y + d (1 - 3 gamma^2) in codes; 2h = y + (1 - 3 gamma^2) on the sphere."""
    rows = triplets(size, "codes", size=size)
    constant = size * (1 - 3 * gamma**2)
    run: Any = {"temperature": size, "gamma": gamma, "space": "codes"}
    twice = 2 * hinge(*rows, gamma=gamma)
    np.testing.assert_allclose(twice, scale_part(*rows, **run) + constant, atol=1e-10)
    np.testing.assert_allclose(twice, scale_part(*rows, margin="geometric", **run), atol=1e-10)
    rows = triplets(size, "sphere", size=size)
    y = scale_part(*rows, temperature=1, gamma=gamma, margin="geometric")
    np.testing.assert_allclose(2 * hinge(*rows, gamma=gamma), y, atol=1e-12)


@pytest.mark.parametrize("gamma", GAMMAS)
def test_the_hinge_is_the_angle_at_the_negative(gamma: float) -> None:
    """h <= 0 exactly where tan(alpha) = |oi'| / |oj| <= gamma, by the triangle o i' j itself."""
    rng = np.random.default_rng(8)
    inside = 0
    for _ in range(200):
        u, i, j = unit(rng, 3, 3)
        o = (u + i) / 2
        across = np.cross(j - o, rng.standard_normal(3))
        corner = o + across / np.linalg.norm(across) * np.linalg.norm(u - i) / 2
        to_corner, to_middle = corner - j, o - j
        cosine = to_corner @ to_middle / np.linalg.norm(to_corner) / np.linalg.norm(to_middle)
        alpha = np.arccos(np.clip(cosine, -1, 1))
        assert (np.tan(alpha) <= gamma) == (hinge(u, i, j[None], gamma=gamma)[0] <= 0)
        inside += int(np.tan(alpha) <= gamma)
    assert 0 < inside < 200


def every_triplet() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """All 2^9 triplets of 3 bits: (512, 3), (512, 3), (512, 1, 3)."""
    every = np.array(list(itertools.product([-1.0, 1.0], repeat=3)))
    u, i, j = (every[k] for k in np.indices((8, 8, 8)).reshape(3, -1))
    return u, i, j[:, None]


def test_gamma_one_counts_bits() -> None:
    """y = 2d - 8 #{bits where user and positive agree and the negative differs}.

    So h = -4 # is never above 0: a plain hinge would learn nothing from codes.
    """
    u, i, j = every_triplet()
    alone = np.sum((u == i) & (j[:, 0] != i), axis=1)
    y = scale_part(u, i, j, temperature=3, space="codes")[:, 0]
    np.testing.assert_array_equal(y, 2 * 3 - 8 * alone)
    np.testing.assert_array_equal(hinge(u, i, j, gamma=1)[:, 0], -4 * alone)


@pytest.mark.parametrize("gamma", GAMMAS)
def test_ranges_are_reached(gamma: float) -> None:
    """x in [-1, 1]; y in d [-(1 + 5g), max(1 + g, 3g - 1)], g = gamma^2: [-6d, 2d] at gamma 1."""
    rows, g = every_triplet(), gamma**2
    x = pairwise_part(*rows, space="codes")
    y = scale_part(*rows, temperature=3, gamma=gamma, space="codes")
    assert (x.min(), x.max()) == (-1, 1)
    assert y.min() == pytest.approx(-3 * (1 + 5 * g), abs=1e-12)
    assert y.max() == pytest.approx(3 * max(1 + g, 3 * g - 1), abs=1e-12)
    if gamma == 1:
        assert (y.min(), y.max()) == (-6 * 3, 2 * 3)


def test_codes_are_unit_vectors_in_other_units() -> None:
    rows = triplets(9, "codes", size=16)
    on_sphere = [part / 4 for part in rows]
    for margin in ("paper", "geometric"):
        run: Any = {"temperature": 2.0, "gamma": 0.8, "margin": margin}
        assert siml_loss(*rows, space="codes", **run) == pytest.approx(
            siml_loss(*on_sphere, space="sphere", **run), abs=1e-12
        )


@pytest.mark.parametrize("form", ["triplet", "npair"])
def test_steep_temperatures_stay_finite(form: Any) -> None:
    rows = triplets(10, "sphere")
    value = siml_loss(*rows, temperature=1e5, form=form)
    assert np.isfinite(value)
    assert value > 0
    for gradient in siml_gradients(*rows, temperature=1e5, form=form):
        assert np.isfinite(gradient).all()


def test_names_and_shapes_are_checked() -> None:
    b, d_pos, d_neg = triplets(11, "sphere")
    wrong: Any
    for wrong in ({"margin": "none"}, {"form": "list"}, {"space": "ball"}, {"weights": -1.0}):
        with pytest.raises(OptionError):
            siml_gradients(b, d_pos, d_neg, temperature=1, **wrong)
        with pytest.raises(OptionError):
            siml_loss(b, d_pos, d_neg, temperature=1, **wrong)
    with pytest.raises(ValueError, match="shapes must be"):
        siml_loss(b, d_pos, d_neg[:, 0], temperature=1)
