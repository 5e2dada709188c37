import numpy as np
import pytest

from xorec.core.errors import DataError, OptionError
from xorec.testing.solvers import random_problem
from xorec.training.discrete.bqp import SOLVERS, make_solver
from xorec.training.discrete.bqp.base import check_problem, random_code


def test_unknown_solver_is_told_the_names() -> None:
    with pytest.raises(OptionError, match="no solver 'gurobi': the solvers are exact, descent"):
        make_solver("gurobi")


def test_random_codes_follow_the_seed() -> None:
    assert (random_code(64, 3) == random_code(64, 3)).all()
    assert (random_code(64, 3) != random_code(64, 4)).any()
    assert abs(np.mean([random_code(256, seed) for seed in range(50)])) < 0.05


def test_every_solver_has_a_module_and_a_class() -> None:
    for name in SOLVERS:
        assert make_solver(name).name == name


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
