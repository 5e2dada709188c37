from xorec.testing.solvers import BatchSolverTests


class TestDescent(BatchSolverTests):
    name = "descent"
    reaches = 0.4


class TestTabu(BatchSolverTests):
    name = "tabu"
