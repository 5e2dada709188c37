import sys

import numpy as np
import pytest

from tests.support.external_solvers import EXTERNAL_SOLVERS, make_external_solver
from tests.support.external_solvers.boolean import to_boolean
from xorec.core.errors import MissingExtraError, OptionError
from xorec.testing.solvers import random_problem
from xorec.training.discrete.bqp.base import random_code


def test_unknown_solver_is_told_the_names() -> None:
    with pytest.raises(OptionError, match="no external solver 'gurobi': they are scip, xpress"):
        make_external_solver("gurobi")


def test_every_solver_has_a_module_and_a_class() -> None:
    for name in EXTERNAL_SOLVERS:
        assert make_external_solver(name).name == name


@pytest.mark.parametrize(
    ("name", "package"), [("scip", "pyscipopt"), ("xpress", "xpress"), ("xpress-cvxpy", "xpress")]
)
def test_missing_package_names_the_extra(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"package {package}: pip install 'xorec\[solv"):
        make_external_solver(name).solve(np.eye(2), [0.0, 1.0])


@pytest.mark.parametrize("name", ["scip", "xpress", "xpress-cvxpy"])
def test_time_limit_is_checked(name: str) -> None:
    with pytest.raises(OptionError, match="time_limit is 0"):
        make_external_solver(name, time_limit=0)


@pytest.mark.parametrize("convex", [False, True])
def test_boolean_problem_has_the_same_values(convex: bool) -> None:
    A, c = random_problem(7, 1)
    A = A @ A if convex else A
    problem = to_boolean(A, c)
    assert np.linalg.eigvalsh(problem.Q)[0] > -1e-9
    for seed in range(20):
        z = random_code(7, seed).astype(np.float64)
        t = (z + 1) / 2
        value = t @ problem.Q @ t + problem.linear @ t + problem.constant
        assert value == pytest.approx(z @ A @ z + c @ z)
