import numpy as np
import numpy.typing as npt
import pytest

from xorec.testing.block_problems import BlockProblems
from xorec.testing.solvers import random_problem
from xorec.training.discrete.bqp.bound_kernels import (
    centre,
    convexify,
    convexify_roughly,
    dominate,
    eliminate,
    homogenise,
    improve,
    invert,
    longest,
)
from xorec.training.discrete.bqp.exact import Exact
from xorec.training.discrete.bqp.local_search import magnitude

Matrix = npt.NDArray[np.float64]


def definite(n: int, seed: int) -> Matrix:
    root = np.random.default_rng(seed).standard_normal((n, n + 3))
    return root @ root.T


@pytest.mark.parametrize("n", [1, 2, 5, 21])
def test_inverse_and_solution_are_those_of_lapack(n: int) -> None:
    N, W, right = definite(n, n), np.empty((n, n)), np.arange(n) - 1.5
    assert invert(N, W)
    np.testing.assert_allclose(W, np.linalg.inv(N), rtol=1e-6, atol=1e-9)
    solved = right.copy()
    assert eliminate(N.copy(), solved)
    np.testing.assert_allclose(solved, np.linalg.solve(N, right), rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("n", [1, 2, 5, 21])
def test_what_is_not_positive_definite_is_found_out(n: int) -> None:
    N = definite(n, n)
    N -= 1.01 * np.linalg.eigvalsh(N)[0] * np.eye(n)
    assert not invert(N, np.empty((n, n)))
    assert not eliminate(N, np.zeros(n))
    assert not invert(np.full((n, n), np.nan), np.empty((n, n)))


def test_longest_step_stays_inside() -> None:
    M, direction = definite(6, 1), -definite(6, 2)
    length = longest(M, direction, np.empty((6, 6)), np.empty(6))
    assert 0 < length < 1
    assert np.linalg.eigvalsh(M + length * direction)[0] > 0
    assert np.linalg.eigvalsh(M + length / 0.95 / 0.7 * direction)[0] <= 0
    assert longest(M, definite(6, 3), np.empty((6, 6)), np.empty(6)) == 1.0


def test_centring_makes_the_inverse_even_and_keeps_it() -> None:
    A, _ = random_problem(8, 1)
    N, W = A.copy(), np.empty((8, 8))
    dominate(N, 1.0)
    assert np.linalg.eigvalsh(N)[0] > 0
    invert(N, W)
    for _ in range(60):
        centre(N, W, 0.5, np.empty(8))
    np.testing.assert_allclose(W.diagonal(), 2.0, rtol=1e-4)
    np.testing.assert_allclose(W, np.linalg.inv(N), rtol=1e-6, atol=1e-9)


def test_step_solves_the_linearised_conditions() -> None:
    """diag(X + move) = 1, and N move + diag(step) X = mu I - N X up to symmetrising."""
    n, mu = 7, 0.3
    N, X = definite(n, 4), definite(n, 5)
    W, step, move, H = np.linalg.inv(N), np.empty(n), np.empty((n, n)), np.empty((n, n))
    assert improve(W, X, mu, step, move, H)
    np.testing.assert_allclose((X + move).diagonal(), 1.0, atol=1e-9)
    raw = mu * W - X - W @ np.diag(step) @ X
    np.testing.assert_allclose(move, (raw + raw.T) / 2, atol=1e-9)


def test_homogenised_value_is_the_value_without_the_trace() -> None:
    A, c = random_problem(9, 2)
    rng = np.random.default_rng(2)
    z = np.where(rng.random(9) < 0.5, -1, 1).astype(np.int8)
    C = np.empty((10, 10))
    at_start = homogenise(A, c, z, 0.5, C)
    for _ in range(20):
        x = np.where(rng.random(9) < 0.5, -1, 1)
        y = np.append(x * z, 1)
        assert 2 * (y @ C @ y) == pytest.approx(x @ A @ x + c @ x - np.trace(A))
    assert 2 * at_start == pytest.approx(z @ A @ z + c @ z - np.trace(A))


@pytest.mark.parametrize("temperature", [None, 3.0])
def test_bounds_are_below_the_optimum_and_the_fine_one_is_near_it(
    temperature: float | None,
) -> None:
    A, c, start = BlockProblems(bits=24, temperature=temperature).draw(6, seed=3)
    Exact().solve_many(A, c, start)
    for row in range(6):
        rough, fine, W = (np.empty((25, 25)) for _ in range(3))
        scale = 1 / magnitude(A[row], c[row])
        best = homogenise(A[row], c[row], start[row], scale, rough)
        homogenise(A[row], c[row], start[row], scale, fine)
        assert convexify_roughly(rough, W)
        assert convexify(fine, W, best, 1e-11)
        for N in (rough, fine):
            assert np.linalg.eigvalsh(N)[0] > 0
            assert -np.trace(N) <= best + 1e-12
        assert -np.trace(fine) >= -np.trace(rough)
        np.testing.assert_allclose(W @ fine, np.eye(25), atol=1e-5)


def test_fine_bound_against_an_sdp_solver() -> None:
    """Against an SDP solver of another make."""
    cvxpy = pytest.importorskip("cvxpy")
    A, c, start = BlockProblems(bits=16, codes="random").draw(3, seed=4)
    for row in range(3):
        N, W = np.empty((17, 17)), np.empty((17, 17))
        homogenise(A[row], c[row], start[row], 1 / magnitude(A[row], c[row]), N)
        C = N.copy()
        X = cvxpy.Variable((17, 17), PSD=True)
        sdp = cvxpy.Problem(cvxpy.Minimize(cvxpy.trace(C @ X)), [cvxpy.diag(X) == 1])
        optimum = float(sdp.solve(solver="CLARABEL"))
        convexify(N, W, optimum + 1e-9, 1e-11)  # until what is lost is a share of 1e-9
        assert optimum - 1e-6 * abs(optimum) - 1e-8 <= -np.trace(N) <= optimum + 1e-7
