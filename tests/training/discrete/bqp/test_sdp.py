"""The bound against an SDP solver of another make."""

import numpy as np
import pytest

from xorec.testing.block_problems import BlockProblems
from xorec.training.discrete.bqp.bound_kernels import convexify, homogenise
from xorec.training.discrete.bqp.local_search import magnitude

cvxpy = pytest.importorskip("cvxpy")


def test_fine_bound_against_an_sdp_solver() -> None:
    A, c, start = BlockProblems(bits=16, codes="random").draw(3, seed=4)
    for row in range(3):
        N, W = np.empty((17, 17)), np.empty((17, 17))
        homogenise(A[row], c[row], start[row], 1 / magnitude(A[row], c[row]), N)
        C = N.copy()
        X = cvxpy.Variable((17, 17), PSD=True)
        sdp = cvxpy.Problem(cvxpy.Minimize(cvxpy.trace(C @ X)), [cvxpy.diag(X) == 1])
        optimum = float(sdp.solve(solver="CLARABEL"))
        convexify(N, W, optimum + 1e-9, 1e-11)  # until what is lost is a share of 1e-9
        assert optimum - 1e-6 * abs(optimum) - 1e-8 <= -np.trace(N) <= optimum + 1e-7
