import numpy as np
import pytest

from xorec.core.errors import OptionError
from xorec.testing.block_problems import BlockProblems
from xorec.testing.solvers import BatchSolverTests, planted_problem, random_problem
from xorec.training.discrete.bqp.base import value_of
from xorec.training.discrete.bqp.exact import Exact
from xorec.training.discrete.bqp.local_search import Tabu


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


def test_node_limit_is_checked() -> None:
    with pytest.raises(OptionError, match="node_limit is 0"):
        Exact(node_limit=0)
