"""The bound and its A and c, held against all 2^6 codes of a block."""

from __future__ import annotations

import itertools
from typing import Any, NamedTuple

import numpy as np
import pytest

from tests.support.references.bound import assemble, terms, upper_bound
from tests.support.references.logistic import curvature
from tests.support.references.scale_invariant import pairwise_part, scale_part, siml_loss
from xorec.training.discrete.bounds import assemble_rows
from xorec.training.discrete.problem import ITEM, USER, TripletLoss, make_problem
from xorec.training.loss import logistic_loss
from xorec.training.passes import Triplets

BITS, USERS, ITEMS, COUNT = 6, 4, 5, 60
EVERY_CODE = np.array(list(itertools.product([-1, 1], repeat=BITS)), dtype=np.int8)
SETTINGS = [
    {"gamma": gamma, "margin": margin, "temperature": temperature, "lambda_": lambda_}
    for (gamma, margin), (temperature, lambda_) in itertools.product(
        itertools.product([0.5, 1.0, 1.3], ["paper", "geometric"]), [(6.0, 1.0), (2.5, 0.3)]
    )
]
each_setting = pytest.mark.parametrize(
    "setting", SETTINGS, ids=lambda s: "-".join(map(str, s.values()))
)
each_block = pytest.mark.parametrize("block", ["user", "positive", "negative", "item"])


class Problem(NamedTuple):
    B: np.ndarray
    D: np.ndarray
    users: np.ndarray
    positives: np.ndarray
    negatives: np.ndarray
    phi: np.ndarray
    eta: np.ndarray


def scale_of(setting: dict[str, Any]) -> dict[str, Any]:
    return {name: setting[name] for name in ("gamma", "margin", "temperature")}


def problem(seed: int, bits: int = BITS) -> Problem:
    """Random codes and triplets; phi and eta have nothing to do with them."""
    rng = np.random.default_rng(seed)
    B = rng.choice([-1, 1], size=(USERS, bits)).astype(np.int8)
    D = rng.choice([-1, 1], size=(ITEMS, bits)).astype(np.int8)
    positives = rng.integers(ITEMS, size=COUNT)
    negatives = (positives + rng.integers(1, ITEMS, size=COUNT)) % ITEMS
    users = np.sort(rng.integers(USERS, size=COUNT))
    phi, eta = (4 * rng.standard_normal(COUNT) for _ in range(2))
    return Problem(B, D, users, positives, negatives, phi, eta)


def tight(given: Problem, setting: dict[str, Any]) -> Problem:
    """The same with phi, eta at the present codes."""
    rows = (given.B[given.users], given.D[given.positives], given.D[given.negatives][:, None])
    x = pairwise_part(*rows, space="codes")[:, 0]
    return given._replace(phi=x, eta=scale_part(*rows, space="codes", **scale_of(setting))[:, 0])


def touched(given: Problem, block: str, row: int) -> np.ndarray:
    """Numbers of the triplets that hold the block in its role ("item": in either)."""
    found = {"user": given.users, "positive": given.positives, "negative": given.negatives}
    if block == "item":
        return np.flatnonzero((given.positives == row) | (given.negatives == row))
    return np.flatnonzero(found[block] == row)


def with_code(given: Problem, block: str, row: int, z: np.ndarray, which: np.ndarray) -> Any:
    """b, d_pos, d_neg of the triplets `which` once the block has the code z."""
    b = given.B[given.users[which]].copy()
    d_pos, d_neg = given.D[given.positives[which]], given.D[given.negatives[which]]
    if block == "user":
        b[:] = z
    if block in ("positive", "item"):
        d_pos[given.positives[which] == row] = z
    if block in ("negative", "item"):
        d_neg[given.negatives[which] == row] = z
    return b, d_pos, d_neg[:, None]


def direct(
    given: Problem, block: str, row: int, z: np.ndarray, which: np.ndarray, setting: dict[str, Any]
) -> tuple[float, float]:
    """(bound, true loss) of the triplets `which` at code z, term by term."""
    rows = with_code(given, block, row, z, which)
    x = pairwise_part(*rows, space="codes")[:, 0]
    y = scale_part(*rows, space="codes", **scale_of(setting))[:, 0]
    bound = upper_bound(x, given.phi[which])
    bound += setting["lambda_"] * upper_bound(y, given.eta[which])
    return float(bound.sum()), siml_loss(*rows, space="codes", **setting)


def reference(
    given: Problem, block: str, row: int, setting: dict[str, Any]
) -> tuple[np.ndarray, np.ndarray, float]:
    """(A, c, constant) by `terms` and `assemble`; an item is the sum of its two roles."""
    if block == "item":
        parts = [reference(given, role, row, setting) for role in ("positive", "negative")]
        return parts[0][0] + parts[1][0], parts[0][1] + parts[1][1], parts[0][2] + parts[1][2]
    which = touched(given, block, row)
    b, d_pos = given.B[given.users[which]], given.D[given.positives[which]]
    d_neg = given.D[given.negatives[which]]
    p, q = {"user": (d_neg, d_pos), "positive": (d_neg, b), "negative": (b, d_pos)}[block]
    role: Any = block
    of_role = terms(role, p, q, **scale_of(setting))
    return assemble(of_role, given.phi[which], given.eta[which], lambda_=setting["lambda_"])


def value(A: np.ndarray, c: np.ndarray, z: np.ndarray) -> float:
    code = z.astype(np.float64)
    return float(code @ A @ code + c @ code)


@each_setting
@each_block
def test_the_quadratic_is_the_bound_at_every_code(block: str, setting: dict[str, Any]) -> None:
    """Random phi and eta, tight nowhere: equal to 1e-9, and never below the true loss."""
    given = problem(1)
    for row in range(2):
        which = touched(given, block, row)
        A, c, constant = reference(given, block, row, setting)
        np.testing.assert_array_equal(A, A.T)
        assert np.linalg.eigvalsh(A).min() > -1e-12
        for z in EVERY_CODE:
            bound, loss = direct(given, block, row, z, which, setting)
            assert value(A, c, z) + constant == pytest.approx(bound, rel=0, abs=1e-9)
            assert bound >= loss - 1e-12


@each_setting
@each_block
def test_tight_points_touch_the_loss(block: str, setting: dict[str, Any]) -> None:
    """With phi, eta refreshed at the present codes, bound = loss there and >= loss elsewhere."""
    given = tight(problem(2), setting)
    codes = given.B if block == "user" else given.D
    for row in range(2):
        which = touched(given, block, row)
        A, c, constant = reference(given, block, row, setting)
        for z in EVERY_CODE:
            _, loss = direct(given, block, row, z, which, setting)
            above = value(A, c, z) + constant - loss
            assert above >= -1e-9
            if (z == codes[row]).all():
                assert above == pytest.approx(0, abs=1e-9)


def test_an_item_without_its_role_as_a_negative_goes_wrong() -> None:
    """The paper leaves that role out: values are then off by more than a constant."""
    given = problem(1)
    setting = {"gamma": 1.0, "margin": "paper", "temperature": 6.0, "lambda_": 1.0}
    which = touched(given, "item", 0)
    A, c, _ = reference(given, "positive", 0, setting)
    off = [direct(given, "item", 0, z, which, setting)[0] - value(A, c, z) for z in EVERY_CODE]
    assert np.ptp(off) > 1


@pytest.mark.parametrize("gamma", [0.5, 1.0, 1.3])
def test_a_user_written_out(gamma: float) -> None:
    """One triplet, the scale part at tau = d: the coefficients that the paper prints otherwise."""
    rng = np.random.default_rng(3)
    d_i, d_j = rng.choice([-1.0, 1.0], size=(2, BITS))
    g, eta, inner = gamma**2, 1.7, d_i @ d_j
    p = float(curvature(np.array(eta)))
    A_y = p * (
        4 * g**2 * np.outer(d_j, d_j)
        + (1 + g) ** 2 * np.outer(d_i, d_i)
        - 2 * g * (1 + g) * (np.outer(d_i, d_j) + np.outer(d_j, d_i))
    )
    c_y = 8 * g**2 * p * inner * d_j - 4 * g * (1 + g) * p * inner * d_i
    c_y += g * d_j - (1 + g) / 2 * d_i
    block = terms("user", d_j[None], d_i[None], gamma=gamma, temperature=BITS)
    with_y = assemble(block, [0.4], [eta], lambda_=1)
    without = assemble(block, [0.4], [eta], lambda_=0)
    np.testing.assert_allclose(with_y[0] - without[0], A_y, atol=1e-12)
    np.testing.assert_allclose(with_y[1] - without[1], c_y, atol=1e-12)


def test_the_bound_is_above_and_touches_at_both_signs() -> None:
    """Also at xi = 0, where p as the paper prints it is 0/0."""
    t, xi = np.meshgrid(np.linspace(-40, 40, 161), np.linspace(-40, 40, 161))
    loss = logistic_loss(t)
    bound = upper_bound(t, xi)
    assert (bound >= loss - 1e-12).all()
    tight = np.abs(np.abs(t) - np.abs(xi)) < 1e-12
    np.testing.assert_allclose(bound[tight], loss[tight], atol=1e-12)
    assert (bound - loss)[~tight].min() > 1e-9


def test_the_bound_is_not_convex_in_xi() -> None:
    """As a function of xi it has minima at +-t and a maximum at 0, whatever the paper says."""
    xi = np.linspace(-6, 6, 1201)
    bound = upper_bound(2.0, xi)
    np.testing.assert_allclose(np.abs(xi[np.argsort(bound)[:2]]), 2, atol=1e-9)
    middle = len(xi) // 2
    assert bound[middle] > bound[middle - 1]
    assert bound[middle] > bound[middle + 1]


@each_setting
@pytest.mark.parametrize("bits", [1, 6, 20, 65])
def test_kernels_equal_the_reference(bits: int, setting: dict[str, Any]) -> None:
    """Users and items in both roles, with triplet lists that end within a group of eight terms."""
    given = tight(problem(4, bits), setting)
    triplets = (given.users, given.positives, given.negatives[:, None])
    swept = Triplets(*(rows.astype(np.int32) for rows in triplets))
    swept_problem = make_problem(*given[:2], swept, TripletLoss(**setting))
    for kind, block, count in ((USER, "user", USERS), (ITEM, "item", ITEMS)):
        A, c = np.full((count, bits, bits), np.nan), np.full((count, bits), np.nan)
        assemble_rows(kind, np.arange(count), swept_problem, A, c, np.empty((count, 2)))
        for row in range(count):
            expected = reference(given, block, row, setting)
            np.testing.assert_allclose(A[row], expected[0], rtol=0, atol=1e-9)
            np.testing.assert_allclose(c[row], expected[1], rtol=0, atol=1e-9)
            np.testing.assert_array_equal(A[row], A[row].T)
