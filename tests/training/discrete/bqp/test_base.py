import sys
from pathlib import Path

import numpy as np
import pytest

from xorec.core.errors import MissingExtraError, OptionError
from xorec.testing.processes import compiled_and_loaded
from xorec.testing.solvers import random_problem
from xorec.training.discrete.bqp import SOLVERS, make_solver
from xorec.training.discrete.bqp.base import random_code
from xorec.training.discrete.bqp.boolean import to_boolean


def test_unknown_solver_is_told_the_names() -> None:
    with pytest.raises(OptionError, match="no solver 'gurobi': the solvers are exact, descent"):
        make_solver("gurobi")


@pytest.mark.parametrize(
    ("name", "package"), [("scip", "pyscipopt"), ("xpress", "xpress"), ("xpress-cvxpy", "xpress")]
)
def test_missing_package_names_the_extra(
    name: str, package: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, package, None)
    with pytest.raises(MissingExtraError, match=rf"package {package}: pip install 'xorec\[solv"):
        make_solver(name).solve(np.eye(2), [0.0, 1.0])


@pytest.mark.parametrize("name", ["scip", "xpress", "xpress-cvxpy"])
def test_time_limit_is_checked(name: str) -> None:
    with pytest.raises(OptionError, match="time_limit is 0"):
        make_solver(name, time_limit=0)


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


def test_random_codes_follow_the_seed() -> None:
    assert (random_code(64, 3) == random_code(64, 3)).all()
    assert (random_code(64, 3) != random_code(64, 4)).any()
    assert abs(np.mean([random_code(256, seed) for seed in range(50)])) < 0.05


def test_every_solver_has_a_module_and_a_class() -> None:
    for name in SOLVERS:
        assert make_solver(name).name == name


_SCRIPT = """
import numpy as np
from xorec.training.discrete.bqp import make_solver
rng = np.random.default_rng(0)
A, c = rng.standard_normal((20, 24, 24)), rng.standard_normal((20, 24))
A += A.swapaxes(1, 2)
for name in ("descent", "tabu", "exact"):
    Z = np.ones(c.shape, np.int8)
    steps, _ = make_solver(name).solve_many(A, c, Z)
    print_digest(Z, steps)
"""


def test_the_process_that_compiles_finds_the_same_as_those_after_it(tmp_path: Path) -> None:
    compiled, loaded = compiled_and_loaded(_SCRIPT, tmp_path)
    assert compiled == loaded
