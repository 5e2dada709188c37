"""What every solver of others must do, as ours must."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from typing import Any, ClassVar

import numpy as np
import pytest

from tests.support import ROOT
from tests.support.external_solvers import EXTERNAL_SOLVERS, make_external_solver, to_boolean
from xorec.core.errors import MissingExtraError, OptionError, XorecError
from xorec.testing.solvers import SolverTests, random_problem
from xorec.training.discrete.bqp.base import Solver, random_code, value_of


class ExternalSolverTests(SolverTests):
    """The same for a solver of others."""

    registry: ClassVar[Mapping[str, object]] = EXTERNAL_SOLVERS
    packages: ClassVar[list[str]]
    exact = True

    @pytest.fixture(autouse=True)
    def installed(self) -> None:
        for package in self.packages:
            pytest.importorskip(package)

    def make(self, **settings: Any) -> Solver:
        return make_external_solver(self.name, **{**self.settings, **settings})

    def test_time_limit_is_kept_and_told(self) -> None:
        A, c = random_problem(90, 0)
        start = np.ones(90, dtype=np.int8)
        found = self.make(time_limit=0.5).solve(A, c, start)  # else it would go on to the proof
        assert not found.proven
        assert found.value <= value_of(A, c, start)

    @pytest.mark.process
    def test_lapack_computes_the_same_after_it(self) -> None:
        """In a process of its own: Xpress alters the processor with its first call alone."""
        child = [sys.executable, "-c", _LAPACK_AFTER, self.name]
        done = subprocess.run(child, cwd=ROOT, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stderr
        before, after = done.stdout.split()
        assert before == after


_LAPACK_AFTER = """
import sys
import numpy as np
from tests.support.external_solvers import make_external_solver
from xorec.testing.solvers import random_problem

square = random_problem(65, 0)[0]
print(np.linalg.eigh(square)[1].tobytes().hex())
make_external_solver(sys.argv[1]).solve(*random_problem(12, 1))
print(np.linalg.eigh(square)[1].tobytes().hex())
"""


@pytest.mark.exhaustive
class TestScip(ExternalSolverTests):
    name, packages = "scip", ["pyscipopt"]


@pytest.mark.exhaustive
class TestXpress(ExternalSolverTests):
    name, packages = "xpress", ["xpress"]

    def test_licence_that_is_too_small_is_told(self) -> None:
        """Solved by a full licence; the community licence takes 200 rows and columns."""
        try:
            found = self.make(time_limit=5.0).solve(np.eye(256), np.ones(256))
        except XorecError as error:
            assert "Xpress refused a problem of 256 bits" in str(error)  # noqa: PT017
        else:
            assert found.value == 0.0


@pytest.mark.exhaustive
class TestXpressCvxpy(TestXpress):
    name, packages = "xpress-cvxpy", ["cvxpy", "xpress"]


def test_unknown_solver_is_told_the_names() -> None:
    with pytest.raises(OptionError, match="no external solver 'gurobi': they are scip, xpress"):
        make_external_solver("gurobi")


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
