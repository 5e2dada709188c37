import numpy as np
import pytest

from xorec.core.errors import DataError, OptionError
from xorec.testing.block_problems import BlockProblems
from xorec.testing.solvers import BatchSolverTests, random_problem
from xorec.training.discrete.bqp import SOLVERS, make_solver
from xorec.training.discrete.bqp.base import check_problem, random_code, value_of
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
    for name, least in (("starts", 0), ("flips", -1)):
        with pytest.raises(OptionError, match=f"{name} is {least}"):
            Tabu(**{name: least})


def test_so_many_steps_are_walked_from_kicks_of_the_seed() -> None:
    A, c = random_problem(30, 0)
    start = Descent().solve(A, c, np.ones(30, dtype=np.int8)).z  # so that no descent comes first
    assert Tabu(starts=1, flips=7).solve(A, c, start).steps == 7
    assert Tabu(starts=1).solve(A, c, start).steps == 30
    assert len({Tabu(starts=3).solve(A, c, start, seed=seed).steps for seed in range(8)}) > 1


def test_solvers_have_names() -> None:
    assert [make_solver(name).name for name in SOLVERS] == list(SOLVERS)
    with pytest.raises(OptionError, match="no solver 'gurobi': the solvers are exact, descent"):
        make_solver("gurobi")


def test_random_codes_follow_the_seed() -> None:
    assert (random_code(64, 3) == random_code(64, 3)).all()
    assert (random_code(64, 3) != random_code(64, 4)).any()
    assert abs(np.mean([random_code(256, seed) for seed in range(50)])) < 0.05


@pytest.mark.parametrize(("dtype", "rounding"), [(np.float64, 1e-9), (np.float32, 1e-5)])
def test_an_asymmetry_that_rounding_explains_is_taken_out(dtype: type, rounding: float) -> None:
    A, c = random_problem(6, 11)
    A = A.astype(dtype)
    A[2, 3] += dtype(0.5 * rounding * np.abs(A).max())
    assert A[2, 3] != A[3, 2]
    even, _ = check_problem(A, c)
    np.testing.assert_array_equal(even, even.T)
    assert even[2, 3] == (A[2, 3] + A[3, 2]) / 2
    A[2, 3] += dtype(2 * rounding * np.abs(A).max())
    with pytest.raises(DataError, match="A is not symmetric"):
        check_problem(A, c)
