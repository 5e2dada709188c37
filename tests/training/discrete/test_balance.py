from __future__ import annotations

import numpy as np
import pytest
from threadpoolctl import threadpool_limits

from xorec.training.discrete.balance import balanced


def signs(n: int, r: int, seed: int) -> np.ndarray:
    return np.where(np.random.default_rng(seed).random((n, r)) < 0.4, 1, -1).astype(np.int8)


def deficient(name: str) -> np.ndarray:
    """Codes of 200 rows and 8 bits whose centred matrix has fewer than 8 directions."""
    codes = signs(200, 8, 3)
    codes[:, 1::2] = {
        "all columns equal": codes[:, :1],
        "half the columns constant": 1,
        "columns and their opposites": -codes[:, ::2],
        "constant": 1,
    }[name]
    if name in ("all columns equal", "constant"):
        codes[:] = codes[:, 1:2]
    return codes


DEFICIENT = ["all columns equal", "half the columns constant", "columns and their opposites"]


def nuclear(rows: np.ndarray) -> float:
    """sqrt(n) times the sum of the singular values of the centred rows: the largest trace."""
    centred = rows - rows.mean(axis=0, dtype=np.float64)
    return float(np.sqrt(len(rows)) * np.linalg.svd(centred, compute_uv=False).sum())


def trace(rows: np.ndarray, X: np.ndarray) -> float:
    return float(np.sum(rows.astype(np.float64) * X))


def feasible(n: int, r: int, seed: int) -> np.ndarray:
    drawn = np.random.default_rng(seed).standard_normal((n, r))
    basis, _ = np.linalg.qr(np.column_stack([np.ones(n), drawn]))
    return np.asarray(np.sqrt(n) * basis[:, 1:])


@pytest.mark.parametrize("dtype", [np.int8, np.float32, np.float64])
@pytest.mark.parametrize(("n", "r"), [(9, 8), (50, 8), (5000, 20), (10_001, 64)])
def test_constraints_hold_and_the_trace_is_the_nuclear_norm(n: int, r: int, dtype: type) -> None:
    codes: np.ndarray = signs(n, r, n + r).astype(dtype)
    X = balanced(codes, seed=1)
    assert X.dtype == (np.float64 if dtype == np.float64 else np.float32)
    X = X.astype(np.float64)
    np.testing.assert_allclose(X.sum(axis=0) / n, 0, atol=1e-6)
    np.testing.assert_allclose(X.T @ X / n, np.eye(r), atol=1e-6)
    assert trace(codes, X) == pytest.approx(nuclear(codes), rel=1e-6)


def test_no_other_feasible_rows_have_a_larger_trace() -> None:
    rows = np.random.default_rng(0).standard_normal((60, 5)) @ np.diag([3, 1, 1, 0.2, 0.1]) + 0.5
    X = balanced(rows, seed=0)
    for other in (feasible(60, 5, seed) for seed in range(200)):
        for one in (other, balanced(X + 0.05 * other, seed=0)):
            assert trace(rows, one) < trace(rows, X)


@pytest.mark.parametrize("name", [*DEFICIENT, "constant"])
def test_rows_of_lower_rank_have_the_largest_trace_too(name: str) -> None:
    codes = deficient(name)
    X = balanced(codes.astype(np.float64), seed=5)
    np.testing.assert_allclose(X.sum(axis=0) / 200, 0, atol=1e-6)
    np.testing.assert_allclose(X.T @ X / 200, np.eye(8), atol=1e-6)
    assert trace(codes, X) == pytest.approx(nuclear(codes), abs=1e-6)


@pytest.mark.parametrize("name", DEFICIENT)
def test_the_pairing_of_the_released_code_loses_it(name: str) -> None:
    """Q with its extra columns at the end, P as `eigh` gives it: null directions first."""
    codes = deficient(name)
    centred = codes - codes.mean(axis=0)
    squares, P = np.linalg.eigh(centred.T @ centred)
    kept = squares > 1e-10
    Q = centred @ P[:, kept] / np.sqrt(squares[kept])
    drawn = np.random.default_rng(0).standard_normal((200, 8 - kept.sum()))
    basis, _ = np.linalg.qr(np.column_stack([np.ones(200), Q, drawn]))
    shifted = np.sqrt(200) * np.column_stack([Q, basis[:, 1 + kept.sum() :]]) @ P.T
    np.testing.assert_allclose(shifted.T @ shifted / 200, np.eye(8), atol=1e-6)
    assert trace(codes, shifted) < 0.75 * trace(codes, balanced(codes, seed=0))


@pytest.mark.parametrize(("n", "r"), [(1, 4), (2, 4), (4, 4), (8, 8)])
def test_fewer_rows_than_directions(n: int, r: int) -> None:
    """n - 1 columns are orthogonal to 1: X'X = n times a projection, the trace as large as ever."""
    codes = signs(n, r, n).astype(np.float64)
    X = balanced(codes, seed=0)
    np.testing.assert_allclose(X.sum(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(
        np.linalg.eigvalsh(X.T @ X / n), [0] * (r - n + 1) + [1] * (n - 1), atol=1e-9
    )
    assert trace(codes, X) == pytest.approx(nuclear(codes), abs=1e-9)
    assert balanced(codes[:0], seed=0).shape == (0, r)


def test_same_bytes_for_any_number_of_threads_and_from_the_seed_alone() -> None:
    codes = signs(20_000, 32, 0)
    codes[:, 7] = codes[:, 3]
    found = []
    for threads in (1, 2, 3):
        with threadpool_limits(threads, user_api="blas"):
            found.append(balanced(codes, seed=2).tobytes())
    assert found[0] == found[1] == found[2]
    assert balanced(codes, seed=3).tobytes() != found[0]
