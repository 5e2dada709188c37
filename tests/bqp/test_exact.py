from xorec.testing.solvers import BatchSolverTests


class TestExact(BatchSolverTests):
    name = "exact"
    exact = True
