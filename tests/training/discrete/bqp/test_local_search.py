import numpy as np
import pytest

from xorec.core.errors import OptionError
from xorec.testing.block_problems import BlockProblems
from xorec.testing.solvers import BatchSolverTests, random_problem
from xorec.training.discrete.bqp.base import value_of
from xorec.training.discrete.bqp.local_search import Descent, Tabu


class TestDescent(BatchSolverTests):
    name = "descent"
    reaches = 0.4
    steady = True


class TestTabu(BatchSolverTests):
    name = "tabu"


def test_descent_ends_where_no_bit_gains() -> None:
    for seed in range(10):
        A, c = random_problem(20, seed)
        found = Descent().solve(A, c, seed=seed)
        for k in range(20):
            turned = found.z.copy()
            turned[k] *= -1
            assert value_of(A, c, turned) >= found.value - 1e-9


def test_tabu_is_below_descent_and_more_starts_are_never_worse() -> None:
    A, c, start = BlockProblems(bits=48).draw(12, seed=1)
    values = []
    for solver in (Descent(), Tabu(starts=1), Tabu(starts=4), Tabu(starts=16)):
        Z = start.copy()
        solver.solve_many(A, c, Z)
        values.append([value_of(A[row], c[row], Z[row]) for row in range(12)])
    fallen = np.diff(np.array(values), axis=0)
    assert (fallen <= 1e-9).all()
    assert (fallen.sum(axis=1) < 0).any()


def test_bits_up_to_the_most_there_are() -> None:
    A, c = random_problem(256, 1)
    start = np.ones(256, dtype=np.int8)
    assert Tabu().solve(A, c, start).value < Descent().solve(A, c, start).value


def test_settings_are_checked() -> None:
    with pytest.raises(OptionError, match="starts is 0"):
        Tabu(starts=0)
    with pytest.raises(OptionError, match="flips is -1"):
        Tabu(flips=-1)


def test_so_many_steps_are_walked_from_kicks_of_the_seed() -> None:
    A, c = random_problem(30, 0)
    start = Descent().solve(A, c, np.ones(30, dtype=np.int8)).z  # so that no descent comes first
    assert Tabu(starts=1, flips=7).solve(A, c, start).steps == 7
    assert Tabu(starts=1).solve(A, c, start).steps == 30
    assert len({Tabu(starts=3).solve(A, c, start, seed=seed).steps for seed in range(8)}) > 1
