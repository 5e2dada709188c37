"""ExternalSolverTests: what every solver of others must do, as ours must."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Mapping
from typing import Any, ClassVar

import pytest

from tests.support import ROOT
from tests.support.external_solvers import EXTERNAL_SOLVERS, make_external_solver
from xorec.testing.solvers import SolverTests
from xorec.training.discrete.bqp.base import Solver


class ExternalSolverTests(SolverTests):
    """The same for a solver of others."""

    registry: ClassVar[Mapping[str, object]] = EXTERNAL_SOLVERS
    exact = True

    def make(self, **settings: Any) -> Solver:
        return make_external_solver(self.name, **{**self.settings, **settings})

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
