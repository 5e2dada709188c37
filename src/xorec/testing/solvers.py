"""SolverTests: what every solver of min z'Az + c'z must do. BatchSolverTests: the kernels too."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import pytest

from xorec.core.errors import DataError, OptionError
from xorec.core.threads import ThreadPool
from xorec.testing.block_problems import BlockProblems
from xorec.training.discrete.bqp import SOLVERS, make_solver
from xorec.training.discrete.bqp.base import Solver, value_of
from xorec.training.discrete.bqp.local_search import BatchSolver

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int8]


def random_problem(d: int, seed: int, levels: int | None = None) -> tuple[Floats, Floats]:
    """Any symmetric A and c; small whole numbers, and so many ties, if `levels` is given."""
    rng = np.random.default_rng(seed)
    if levels is None:
        A, c = rng.standard_normal((d, d)), rng.standard_normal(d)
    else:
        A = rng.integers(-levels, levels + 1, (d, d)).astype(np.float64)
        c = rng.integers(-levels, levels + 1, d).astype(np.float64)
    return A + A.T, c


def planted_problem(d: int, seed: int) -> tuple[Floats, Floats, Codes, float]:
    """(A, c, z, value): z is the best code, since (w.x)^2 = 0 there, and -z'x is least."""
    rng = np.random.default_rng(seed)
    z = np.where(rng.random(d) < 0.5, -1, 1).astype(np.int8)
    W = rng.standard_normal((d, d))
    W -= np.outer(W @ z, z) / d  # every row is orthogonal to z
    return W.T @ W, -z.astype(np.float64), z, float(-d)


def least_value(A: Floats, c: Floats) -> float:
    """The optimum, by looking at every code."""
    codes = np.array(list(product((-1.0, 1.0), repeat=len(c))))
    return float((((codes @ A) * codes).sum(axis=1) + codes @ c).min())


class SolverTests:
    """Derive, set `name`, and every test runs on the solver of that name."""

    name: ClassVar[str]
    registry: ClassVar[Mapping[str, object]] = SOLVERS
    settings: ClassVar[dict[str, Any]] = {}
    exact: ClassVar[bool] = False
    """Whether it must find and prove the optimum of small problems."""
    reaches: ClassVar[float] = 1.0
    """Of small problems, the share whose optimum it must find."""

    steady: ClassVar[bool] = False
    """Whether it takes the same path when the signs or the order of the bits are changed."""

    def make(self, **settings: Any) -> Solver:
        return make_solver(self.name, **{**self.settings, **settings})

    def test_is_registered_under_its_name(self) -> None:
        assert self.name in self.registry
        assert self.make().name == self.name

    def test_value_is_of_the_code_and_never_above_the_start(self) -> None:
        for seed, d in enumerate((1, 2, 5, 9, 14)):
            A, c = random_problem(d, seed)
            start = np.where(np.random.default_rng(seed).random(d) < 0.5, -1, 1)
            found = self.make().solve(A, c, start)
            assert found.z.dtype == np.int8
            assert set(found.z.tolist()) <= {-1, 1}
            assert found.value == pytest.approx(found.z @ A @ found.z + c @ found.z, abs=1e-9)
            assert found.value <= start @ A @ start + c @ start

    @pytest.mark.parametrize("levels", [None, 1])
    def test_brute_force(self, levels: int | None) -> None:
        """Any symmetric matrix, definite or not; with levels, full of ties."""
        right = 0
        for seed in range(12):
            d = 1 + seed
            A, c = random_problem(d, seed, levels)
            found = self.make().solve(A, c)
            best = least_value(A, c)
            assert found.value >= best - 1e-9
            right += found.value <= best + 1e-9
            assert found.proven or not self.exact
        assert right >= 12 * self.reaches

    def test_planted_optimum(self) -> None:
        right = 0
        for seed in range(10):
            A, c, z, value = planted_problem(4 + seed, seed)
            found = self.make().solve(A, c)
            assert found.value >= value - 1e-9
            right += bool((found.z == z).all())
        assert right >= 10 * self.reaches
        A, c, z, _ = planted_problem(12, 0)
        assert (self.make().solve(A, c, start=z).z == z).all()

    def test_best_start_is_kept(self) -> None:
        A, c = random_problem(10, 3)
        best = make_solver("exact").solve(A, c)
        assert (self.make().solve(A, c, best.z).z == best.z).all()

    def test_turning_signs_turns_the_code(self) -> None:
        A, c = random_problem(10, 5)
        turn = np.where(np.random.default_rng(5).random(10) < 0.5, -1, 1)
        start = np.ones(10, dtype=np.int8)
        found = self.make().solve(A, c, start)
        turned = self.make().solve(A * np.outer(turn, turn), c * turn, start * turn)
        if self.exact or self.steady:
            assert (turned.z == found.z * turn).all()
        assert turned.value >= least_value(A, c) - 1e-9

    def test_order_of_the_bits_does_not_matter(self) -> None:
        A, c = random_problem(10, 6)
        order = np.random.default_rng(6).permutation(10)
        start = np.ones(10, dtype=np.int8)
        found = self.make().solve(A, c, start)
        moved = self.make().solve(A[np.ix_(order, order)], c[order], start)
        if self.exact or self.steady:
            assert (moved.z == found.z[order]).all()
        assert moved.value >= least_value(A, c) - 1e-9

    def test_diagonal_only_adds_its_sum(self) -> None:
        A, c = random_problem(11, 7)
        shift = np.random.default_rng(7).standard_normal(11) * 5
        start = np.ones(11, dtype=np.int8)
        found = self.make().solve(A, c, start)
        shifted = self.make().solve(A + np.diag(shift), c, start)
        assert shifted.value == pytest.approx(found.value + shift.sum(), abs=1e-9)

    @pytest.mark.parametrize("d", [1, 2, 7])
    def test_without_squares_the_signs_of_c_decide(self, d: int) -> None:
        c = np.random.default_rng(d).standard_normal(d)
        found = self.make().solve(np.zeros((d, d)), c)
        assert (found.z == -np.sign(c)).all()
        assert found.value == pytest.approx(-np.abs(c).sum())

    def test_all_zero_keeps_the_start(self) -> None:
        start = np.array([1, -1, -1, 1, 1, -1])
        found = self.make().solve(np.zeros((6, 6)), np.zeros(6), start)
        assert found.value == 0.0
        assert found.proven or not self.exact

    def test_bits_that_change_nothing(self) -> None:
        """Twelve of sixteen bits occur nowhere: 4,096 best codes."""
        A, c = np.zeros((16, 16)), np.zeros(16)
        A[:4, :4], c[:4] = random_problem(4, 1)
        found = self.make().solve(A, c)
        assert found.value >= least_value(A[:4, :4], c[:4]) - 1e-9
        if self.exact:
            assert found.proven
            assert found.value == pytest.approx(least_value(A[:4, :4], c[:4]))

    def test_same_seed_same_answer(self) -> None:
        A, c = random_problem(14, 8)
        one, two = (self.make().solve(A, c, seed=5) for _ in range(2))
        assert (one.z == two.z).all()
        assert (one.value, one.proven, one.steps) == (two.value, two.proven, two.steps)

    def test_lists_float32_and_slices_are_taken(self) -> None:
        assert self.make().solve([[0, 1], [1, 0]], [1, 0]).value == -3.0
        A, c = random_problem(8, 9)
        whole = self.make().solve(A, c, np.ones(8))
        wide = np.zeros((16, 16))
        wide[::2, ::2] = A
        assert self.make().solve(wide[::2, ::2], c, np.ones(8)).value == whole.value
        single = self.make().solve(A.astype(np.float32), c.astype(np.float32), np.ones(8))
        assert single.value == pytest.approx(whole.value, rel=1e-5)

    def test_input_is_left_alone(self) -> None:
        A, c = random_problem(8, 10)
        start = np.ones(8, dtype=np.int8)
        before = A.copy(), c.copy()
        self.make().solve(A, c, start)
        for now, then in zip((A, c, start), (*before, np.ones(8)), strict=True):
            np.testing.assert_array_equal(now, then)

    @pytest.mark.parametrize(
        ("A", "c", "start", "message"),
        [
            ([[np.nan]], [0.0], None, r"A\[0, 0\] is nan: every entry must be finite"),
            (np.eye(2), [0.0, np.inf], None, r"c\[1\] is inf: every entry must be finite"),
            (np.eye(2) * 1e300, [0.0, 0.0], None, r"A\[0, 0\] is 1e\+300"),
            (np.ones((2, 3)), [0.0, 0.0], None, r"A has shape \(2, 3\): give a square"),
            (np.ones(3), [0.0], None, r"A has shape \(3,\)"),
            (np.eye(2), [0.0], None, r"c has shape \(1,\) but A has \(2, 2\)"),
            (np.eye(2), [[0.0, 0.0]], None, r"c has shape \(1, 2\)"),
            ([[0.0, 2.0], [1.0, 0.0]], [0.0, 0.0], None, r"differ by up to 1; pass \(A \+ A.T\)/2"),
            ([["x"]], [0.0], None, "A holds .* not real numbers"),
            ([[1j]], [0.0], None, "A holds complex"),
            (np.empty((0, 0)), [], None, "has 0 bits: give 1 to 256"),
            (np.eye(257), np.zeros(257), None, "has 257 bits"),
            (np.eye(2), [0.0, 0.0], [1, 0], "start has the entry 0: every entry must be -1 or"),
            (np.eye(2), [0.0, 0.0], [1.0, np.nan], "start has the entry nan"),
            (np.eye(2), [0.0, 0.0], [1], r"start has shape \(1,\): give \(2,\)"),
        ],
    )
    def test_bad_problems_are_refused(self, A: Any, c: Any, start: Any, message: str) -> None:
        with pytest.raises(DataError, match=message):
            self.make().solve(A, c, start)

    def test_rounding_is_no_asymmetry(self) -> None:
        """What is solved is the symmetric problem; what rounding does not explain is refused."""
        A, c = random_problem(6, 11)
        even = self.make().solve(A, c, np.ones(6))
        A[2, 3] += 1e-13
        found = self.make().solve(A, c, np.ones(6))
        assert (found.z == even.z).all()
        assert found.value == pytest.approx(even.value, abs=1e-12)
        A[2, 3] += 1e-6
        with pytest.raises(DataError, match="A is not symmetric"):
            self.make().solve(A, c)

    @pytest.mark.parametrize("seed", [-1, 2**63])
    def test_bad_seeds_are_refused(self, seed: int) -> None:
        with pytest.raises(OptionError, match=f"seed is {seed}"):
            self.make().solve(np.eye(2), [0.0, 0.0], seed=seed)


class BatchSolverTests(SolverTests):
    """For solvers with a kernel over a stack of problems."""

    def make(self, **settings: Any) -> BatchSolver:
        solver = super().make(**settings)
        assert isinstance(solver, BatchSolver)
        return solver

    @pytest.mark.parametrize("dtype", [np.float32, np.float64])
    @pytest.mark.parametrize("threads", [None, 1, 3])
    def test_a_stack_ends_as_its_problems_do(self, dtype: Any, threads: int | None) -> None:
        A, c, start = BlockProblems(bits=18, temperature=3.0).draw(23, seed=2)
        A, c, Z = A.astype(dtype), c.astype(dtype), start.copy()
        if threads is None:
            steps, proven = self.make().solve_many(A, c, Z, seed=4)
        else:
            with ThreadPool(threads) as pool:
                steps, proven = self.make().solve_many(A, c, Z, seed=4, pool=pool)
        for row in range(len(Z)):
            alone = self.make().solve(A[row], c[row], start[row], seed=4)
            assert (Z[row] == alone.z).all()
            assert (steps[row], proven[row]) == (alone.steps, alone.proven)
            assert value_of(A[row], c[row], Z[row]) <= value_of(A[row], c[row], start[row])

    def test_an_empty_stack(self) -> None:
        steps, proven = self.make().solve_many(
            np.empty((0, 4, 4)), np.empty((0, 4)), np.empty((0, 4), dtype=np.int8)
        )
        assert len(steps) == len(proven) == 0

    def test_bad_stacks_are_refused(self) -> None:
        A, c, Z = np.zeros((2, 3, 3)), np.zeros((2, 3)), np.ones((2, 3), dtype=np.int8)
        with pytest.raises(DataError, match="give a stack of square matrices"):
            self.make().solve_many(A[0], c, Z)
        with pytest.raises(DataError, match=r"give c as \(2, 3\)"):
            self.make().solve_many(A, c[0], Z)
        with pytest.raises(DataError, match=r"Z has shape \(1, 3\)"):
            self.make().solve_many(A, c, Z[:1])
        with pytest.raises(DataError, match="Z holds int64: give an array of int8"):
            self.make().solve_many(A, c, Z.astype(np.int64))
        with pytest.raises(DataError, match="Z has the entry 0"):
            self.make().solve_many(A, c, Z * np.int8(0))
        A[1, 0, 2] = np.nan
        with pytest.raises(DataError, match=r"A\[0, 2\] of problem 1 is nan"):
            self.make().solve_many(A, c, Z)
