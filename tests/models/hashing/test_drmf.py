"""DRMF: its loss and its problems against plain loops, its sweep against DSIML's."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest

from tests.support.data_update import check_data_update
from tests.support.sweeping import descended, random_problem
from xorec.core.bits import unpack_signs
from xorec.core.threads import ThreadPool
from xorec.models.hashing.drmf import DRMF, Descents, PairLoss, easy_triplets, proposer_of
from xorec.representations.codes import Codes
from xorec.testing.models import EpochModelTests
from xorec.training.discrete.bounds import Bounds, assemble_rows
from xorec.training.discrete.bqp import make_solver
from xorec.training.discrete.problem import ITEM, USER, TripletLoss, make_problem
from xorec.training.discrete.sweeps import sweep, total_loss
from xorec.training.passes import Triplets


class TestDRMF(EpochModelTests):
    model = DRMF
    settings = {"bits": 32, "epochs": 4}  # noqa: RUF012


class TestFromRandomSigns(EpochModelTests):
    variant = True
    model = DRMF
    settings = {"bits": 32, "epochs": 6, "start_epochs": 0, "temperature": 1.6}  # noqa: RUF012


def plain(triplets: Triplets) -> list[tuple[int, int, int]]:
    rows = zip(triplets.users, triplets.positives, triplets.negatives, strict=True)
    return [(int(u), int(i), int(j)) for u, i, own in rows for j in own if j >= 0]


def loss_by_hand(B: Any, D: Any, triplets: Triplets, scale: float) -> float:
    signs = (B.astype(np.float64), D.astype(np.float64))
    apart = [signs[0][u] @ (signs[1][i] - signs[1][j]) for u, i, j in plain(triplets)]
    return float(sum(np.log1p(np.exp(-scale * o)) for o in apart))


@pytest.mark.parametrize("scale", [1.0, 0.1])
def test_the_loss_is_the_papers(scale: float) -> None:
    """-o + log(1 + e^o) for p = 1, summed over the triplets."""
    B, D, triplets = random_problem(1, d=20)
    with ThreadPool(2) as pool:
        found = total_loss(make_problem(B, D, triplets, PairLoss(scale), items=False), pool)
    assert found == pytest.approx(loss_by_hand(B, D, triplets, scale), rel=1e-12)


@pytest.mark.parametrize("scale", [1.0, 0.1])
def test_problems_are_the_papers_sums(scale: float) -> None:
    """A and c of each user and of each item in both roles, by the sums in the paper's own form."""
    B, D, triplets = random_problem(2, d=6)
    problem = make_problem(B, D, triplets, PairLoss(scale))
    for kind, table in ((USER, B), (ITEM, D)):
        A, c = np.empty((len(table), 6, 6)), np.empty((len(table), 6))
        assemble_rows(kind, np.arange(len(table)), problem, A, c, np.empty((len(table), 2)))
        expected_A, expected_c = np.zeros_like(A), np.zeros_like(c)
        for u, i, j in plain(triplets):
            b, di, dj = B[u].astype(float), D[i].astype(float), D[j].astype(float)
            phi = scale * (b @ (di - dj))
            pi = 1 / 8 if phi == 0 else np.tanh(abs(phi) / 2) / (4 * abs(phi))
            if kind == USER:
                expected_A[u] += pi * scale**2 * np.outer(di - dj, di - dj)
                expected_c[u] += (1 / 2 - 1) * scale * (di - dj)
                continue
            for v, other, p in ((i, dj, 1), (j, di, 0)):
                expected_A[v] += pi * scale**2 * np.outer(b, b)
                expected_c[v] += (1 / 2 - p) * scale * b - 2 * pi * scale**2 * (b @ other) * b
        np.testing.assert_allclose(A, expected_A, atol=1e-9)
        np.testing.assert_allclose(c, expected_c, atol=1e-9)


@pytest.mark.parametrize("solver", ["descent", "tabu", "exact"])
def test_the_sweep_is_dsimls_without_its_scale_part(solver: str) -> None:
    """Weights 1, lambda = 0, the scale 1 / (2 bits): the same codes, sweep after sweep."""
    for seed in range(5):
        B, D, triplets = random_problem(seed, n=12, m=15, d=10, pairs=120)
        other = (B.copy(), D.copy())
        with ThreadPool(2) as pool:
            for _ in range(3):
                propose = Bounds(make_solver(solver))
                ours = sweep(make_problem(B, D, triplets, PairLoss(1 / 20)), propose, pool)
                loss = TripletLoss(4.0, 1.0, 0.0)
                theirs = sweep(make_problem(*other, triplets, loss), propose, pool)
                assert ours == pytest.approx(theirs, rel=1e-12)
        np.testing.assert_array_equal(B, other[0])
        np.testing.assert_array_equal(D, other[1])


@pytest.mark.parametrize("scale", [1.0, 0.3, 0.05])
def test_descent_that_writes_no_problem_out_is_descent_by_the_problem(scale: float) -> None:
    """Bit after bit by the rule -sign(sum over the others of A_kl z_l + c_k / 2), until none turns.

    The proposals for users and items, and the change of the loss that items say they make.
    """
    turned = 0
    for seed in range(6):
        B, D, triplets = random_problem(seed, d=9, pairs=70)
        problem = make_problem(B, D, triplets, PairLoss(scale))
        for kind, table in ((USER, B), (ITEM, D)):
            rows = np.arange(len(table))
            A, c, gains = np.empty((len(rows), 9, 9)), np.empty((len(rows), 9)), np.empty((9, 2))
            assemble_rows(kind, rows, problem, A, c, gains[: len(rows)])
            Z, found = Descents()(problem, kind, rows)
            np.testing.assert_allclose(found[:, 1], gains[: len(rows), 1], rtol=1e-12)
            for row in rows:
                expected = descended(A[row], c[row], table[row], 10, least=1e-12)
                np.testing.assert_array_equal(Z[row], expected)
                turned += int(np.any(Z[row] != table[row]))
                if kind == ITEM:
                    new = D.copy()
                    new[row] = Z[row]
                    before = loss_by_hand(B, D, triplets, scale)
                    change = loss_by_hand(B, new, triplets, scale) - before
                    assert found[row, 0] == pytest.approx(change, abs=1e-9)
    assert turned > 5


@pytest.mark.parametrize("scale", [1.0, 0.2])
def test_the_loss_never_rises(scale: float) -> None:
    falls = 0
    for seed in range(10):
        B, D, triplets = random_problem(seed, d=8)
        last = loss_by_hand(B, D, triplets, scale)
        for solver in ("descent", "tabu", "exact"):
            with ThreadPool(1) as pool:
                problem = make_problem(B, D, triplets, PairLoss(scale))
                sweep(problem, proposer_of(solver), pool)
            now = loss_by_hand(B, D, triplets, scale)
            assert now <= last * (1 + 1e-9)
            falls, last = falls + (now < last), now
    assert falls > 10


@pytest.mark.parametrize("threads", [1, 3])
def test_easy_triplets_are_those_with_a_loss_below_the_pace(threads: int) -> None:
    B, D, triplets = random_problem(4, n=200, pairs=20_000)
    with ThreadPool(threads) as pool:
        found, share = easy_triplets(B, D, triplets, PairLoss(0.3), 0.5, pool)
    dots = B.astype(np.float64) @ D.astype(np.float64).T
    there, kept = 0, 0
    rows = zip(found.users, found.positives, triplets.negatives, found.negatives, strict=True)
    for u, i, own, left in rows:
        for j, k in zip(own, left, strict=True):
            easy = j >= 0 and np.log1p(np.exp(-0.3 * (dots[u, i] - dots[u, j]))) < 0.5
            assert k == (j if easy else -1)
            there, kept = there + (j >= 0), kept + easy
    assert share == pytest.approx(kept / there)
    assert 0.2 < share < 0.8


def test_the_pace_is_the_papers() -> None:
    """Two epochs over all, then eight stages of two: 0.15 grows by half while it is below 3."""
    config = DRMF(pace=0.15, growth=1.5, most=3.0, stage=2, warm_up=2).config
    paces = [config.pace_of(epoch) for epoch in range(20)]
    stages = [0.15 * 1.5**k for k in range(8)]
    expected = [np.inf] * 2 + [pace for pace in stages for _ in range(2)] + stages[-1:] * 2
    np.testing.assert_allclose(paces, expected)


def test_new_rows_and_changed_rows_are_made_and_no_others() -> None:
    check_data_update(DRMF(bits=16, epochs=3))


def test_a_new_users_code_lowers_the_bound_of_their_own_problem() -> None:
    """With one item and all others as its negatives, the best of all codes is the item's own."""
    rng = np.random.default_rng(0)
    every = np.array(list(itertools.product([-1, 1], repeat=8)), dtype=np.int8)
    items = every[rng.permutation(256)[:40]]
    codes = Codes.from_signs(items[:3], items)
    model = DRMF(bits=8, temperature=0.8)
    for item in range(40):
        code = unpack_signs(model.fold_in(codes, np.array([item])), 8)[0]
        assert code @ items[item] >= 6
