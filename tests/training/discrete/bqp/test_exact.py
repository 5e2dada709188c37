from itertools import product

import numpy as np
import numpy.typing as npt
import pytest

from xorec.core.errors import OptionError
from xorec.testing.block_problems import BlockProblems
from xorec.testing.solvers import BatchSolverTests, planted_problem, random_problem
from xorec.training.discrete.bqp.base import value_of
from xorec.training.discrete.bqp.bound_kernels import convexify_roughly, homogenise
from xorec.training.discrete.bqp.exact import Exact, arrange, explore, factor
from xorec.training.discrete.bqp.local_search import Tabu, magnitude

Matrix = npt.NDArray[np.float64]
Order = npt.NDArray[np.int64]


def prepared(d: int, seed: int) -> tuple[Matrix, Matrix, Order, Matrix, Matrix, float]:
    """(C, N, order, G, e, lower) of a random problem."""
    A, c = random_problem(d, seed)
    N, W = np.empty((d + 1, d + 1)), np.empty((d + 1, d + 1))
    homogenise(A, c, np.ones(d, dtype=np.int8), 1 / magnitude(A, c), N)
    C = N.copy()
    assert convexify_roughly(N, W)
    order, G, e = np.empty(d, dtype=np.int64), np.empty((d, d)), np.empty(d)
    arrange(W, order)
    assert factor(N, order, 0.0, G, e)
    return C, N, order, G, e, float(-N.diagonal()[:d].sum() - e @ e)


def free_minimum(N: Matrix, order: Order, x: Matrix) -> float:
    """The least convex value over real numbers for all bits but the first len(x) of the order."""
    fixed, free = [*order[: len(x)], len(order)], order[len(x) :]
    y = np.append(x, 1.0)
    value = y @ N[np.ix_(fixed, fixed)] @ y - N[-1, -1]
    if len(free):
        slope = N[np.ix_(free, fixed)] @ y
        value -= slope @ np.linalg.solve(N[np.ix_(free, free)], slope)
    return float(value - N.diagonal()[:-1].sum())


@pytest.mark.parametrize("d", [1, 2, 6, 12])
def test_squares_so_far_are_the_minimum_over_the_rest(d: int) -> None:
    C, N, order, G, e, lower = prepared(d, d)
    assert sorted(order) == list(range(d))
    rng = np.random.default_rng(d)
    for _ in range(10):
        x = np.where(rng.random(d) < 0.5, -1.0, 1.0)
        bound = lower
        for k in range(d + 1):
            assert bound == pytest.approx(free_minimum(N, order, x[:k]), abs=1e-9)
            if k < d:
                bound += (e[k] + G[k, : k + 1] @ x[: k + 1]) ** 2
        y = np.empty(d + 1)
        y[order], y[d] = x, 1
        assert bound == pytest.approx(y @ C @ y, abs=1e-9)


def test_each_next_bit_raises_the_bound_most_when_turned() -> None:
    d = 9
    _, N, order, *_ = prepared(d, 3)
    for place in range(d):
        rises = []
        for k in range(place, d):
            moved = np.concatenate([order[:place], [order[k]], np.delete(order[place:], k - place)])
            turned = np.append(np.ones(place), -1.0)
            rises.append(free_minimum(N, moved, turned))
        assert np.argmax(rises) == 0


@pytest.mark.parametrize("d", [1, 2, 5, 10])
def test_tree_finds_the_least_code_or_none(d: int) -> None:
    for seed in range(5):
        C, _, order, G, e, lower = prepared(d, seed)
        codes = np.array([(*x, 1.0) for x in product((-1.0, 1.0), repeat=d)])
        values = ((codes @ C) * codes).sum(axis=1)
        least, found = values.min(), np.zeros(d)
        best, nodes = explore(G, e, lower, 1e9, 1e-12, 10**6, found)
        assert best == pytest.approx(least, abs=1e-9)
        assert nodes < 2 ** (d + 1)
        np.testing.assert_array_equal(found, codes[values.argmin(), order])
        unfound = np.zeros(d)
        assert explore(G, e, lower, least, 1e-9, 10**6, unfound)[0] == least
        assert not unfound.any()
        assert explore(G, e, lower, 1e9, 1e-12, 1, found)[1] == (2 if d > 1 or nodes > 1 else 1)


def test_lifting_the_diagonal_is_paid_for() -> None:
    _, N, order, G, e, lower = prepared(6, 1)
    assert factor(N, order, 0.1, G, e)
    assert -N.diagonal()[:6].sum() - 6 * 0.1 - e @ e < lower
    assert not factor(N - 5 * np.eye(7), order, 0.0, G, e)


class TestExact(BatchSolverTests):
    name = "exact"
    exact = True


@pytest.mark.parametrize("bits", [20, 32, 64])
@pytest.mark.parametrize("temperature", [None, 3.0])
def test_proves_what_training_makes(bits: int, temperature: float | None) -> None:
    """All proven; no other search from other seeds finds anything better."""
    A, c, start = BlockProblems(bits=bits, temperature=temperature).draw(4, seed=bits)
    Z = start.copy()
    _, proven = Exact().solve_many(A, c, Z)
    assert proven.all()
    for row in range(4):
        for seed in range(10):
            other = Tabu(starts=20).solve(A[row], c[row], seed=seed)
            assert value_of(A[row], c[row], Z[row]) <= other.value + 1e-9 * abs(other.value)


def test_planted_optima_beyond_enumeration() -> None:
    for d in (40, 64):
        A, c, z, _ = planted_problem(d, d)
        found = Exact().solve(A, c)
        assert found.proven
        assert (found.z == z).all()


def test_independent_blocks_are_as_good_as_each_alone() -> None:
    """Sixteen pairs of bits that are tied two ways each: 65,536 best codes, few nodes."""
    A = np.kron(np.eye(16), np.array([[0.0, 1.0], [1.0, 0.0]]))
    found = Exact().solve(A, np.zeros(32))
    assert found.proven
    assert found.value == -32.0
    assert found.steps < 5000


def test_node_limit_is_kept_and_told() -> None:
    with pytest.raises(OptionError, match="node_limit is 0"):
        Exact(node_limit=0)
    A, c = random_problem(60, 0)
    start = np.ones(60, dtype=np.int8)
    found = Exact(node_limit=100).solve(A, c, start)
    assert not found.proven
    assert found.steps == 101
    assert found.value <= value_of(A, c, start)
    assert found.value <= Tabu(starts=2).solve(A, c, start).value


@pytest.mark.parametrize("limit", [100, 4300])
def test_node_limit_is_kept_by_both_bounds_together(limit: int) -> None:
    """Up to 40 bits a rough bound goes first, for 4,000 nodes: what is left is for the fine one."""
    A, c = random_problem(40, 0)
    found = Exact(node_limit=limit).solve(A, c, np.ones(40, dtype=np.int8))
    assert not found.proven
    assert found.steps == limit + 1


@pytest.mark.parametrize("scale", [1e-280, 1e-12, 1e12, 1e280])
def test_scale_does_not_matter(scale: float) -> None:
    A, c = random_problem(12, 4)
    assert (Exact().solve(A * scale, c * scale).z == Exact().solve(A, c).z).all()
