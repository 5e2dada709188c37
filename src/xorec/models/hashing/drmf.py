"""DRMF (Zhang et al. 2018): codes by the pairwise logistic loss, easy pairs first.

With o = b_u.(d_i - d_j) for an item i that user u has and one j that they lack,

    minimise  sum over (u, i, j) of w_uij log(1 + e^(-(temperature / bits) o)),

w_uij = 1 where that loss is below the pace, else 0: after a warm-up over all triplets the pace
begins low and grows from stage to stage (self-paced learning). The paper's temperature is the
number of bits. Codes are learned as DSIML's optimiser "bqp" learns them: the quadratic bound on
the loss of each user, and then of each item in both roles, is a binary quadratic problem
(`training.discrete.bounds`); `descend_rows` goes down on it without writing A out.

The bound of `training.loss` on the triplets of one user or item, for x = scale b_u.(d_j - d_i)
alone: with p = curvature at the present x and w, s of `training.loss`, A is the sum of p w w' and
half of c the sum of (p s + 1/4) w. For an item w is +-scale b_u: all triplets of a pair are one
row of `coordinate_kernels`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.bits import pack_signs, unpack_signs
from xorec.core.kernels import fast_helper, fast_kernel
from xorec.core.options import RunOptions
from xorec.core.progress import SILENT
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.models.base import DataUpdate, EpochModel, expect
from xorec.models.factorization.bpr import BPR
from xorec.models.hashing.coordinate_kernels import coordinate_descent, make_row_problem, pair_rows
from xorec.models.new_rows import (
    codes_of,
    once_for_each,
    pointed_direction,
    signs_of,
    updated_codes,
)
from xorec.representations.base import Representation
from xorec.representations.codes import Codes
from xorec.representations.vectors import Vectors
from xorec.training.config import Choice, EpochConfig, Float, Space
from xorec.training.discrete.bounds import Bounds, changes_of_loss
from xorec.training.discrete.bqp import make_solver
from xorec.training.discrete.problem import (
    ITEM,
    USER,
    Floats,
    Problem,
    Rows,
    Signs,
    gather_triplets,
    hamming_distance,
    make_problem,
    make_row_triplets,
    most_triplets,
    triplet_loss,
    triplets_loss,
)
from xorec.training.discrete.rotation import learn_rotation, unit_rows
from xorec.training.discrete.sweeps import Proposer, sweep
from xorec.training.epochs import Arrays
from xorec.training.loss import curvature_of
from xorec.training.passes import Triplets


@fast_kernel
def drop_hard_triplets(problem: Any, pace: float, negatives: Any, begin: int, end: int) -> None:
    """Write -1 to negatives (P, K) where the triplet's loss is not below `pace`, from pair `begin`
    to `end`."""
    codes, lists = problem.codes, problem.lists
    b, e, d = codes.b_words, codes.d_words, codes.D.shape[1]
    for pair in range(begin, end):
        u, i = lists.users[pair], lists.positives[pair]
        for k in range(lists.negatives.shape[1]):
            j = lists.negatives[pair, k]
            if j >= 0 and triplet_loss(problem.tables, d, b, u, e, i, e, j) >= pace:
                negatives[pair, k] = -1


@fast_kernel
def descend_rows(kind: int, rows: Any, problem: Any, passes: int, Z: Any, gains: Any) -> None:
    """Coordinate descent on the bound from the present codes Z (N, d) of `rows`, in place.

    gains[:, 1]: the loss of each row's triplets at the present codes, where the bound is tight.
    """
    codes, tables = problem.codes, problem.tables
    d, most = Z.shape[1], most_triplets(kind, rows, problem.lists)
    triplets, none = make_row_triplets(most), np.zeros((d, d))
    s, scale = make_row_problem(max(1, most), d), tables.roles[0, 0, 0]
    curvatures = np.empty(len(tables.x))
    for offset in range(len(curvatures)):
        curvatures[offset] = curvature_of(tables.x[offset])
    words = codes.b_words if kind == USER else codes.d_words
    for at in range(len(rows)):
        ends = gather_triplets(kind, rows[at], words, rows[at], problem, triplets)
        n = ends[1]
        gains[at, 1] = triplets_loss(triplets, n, tables)
        if n == 0:
            continue
        y = pair_rows(s, n)
        for f in range(d):
            s.z[f] = Z[at, f]
        if kind == USER:
            count = _user_rows(s, y, triplets, n, codes.D, curvatures, scale)
        else:
            count = _item_rows(s, y, triplets, ends, rows[at], problem, curvatures, scale)
        for f in range(d):
            total = 0.0
            for i in range(count):
                total += s.v[i] * y[f, i]
            s.linear[f] = total
        coordinate_descent(s, y, count, none, 0.0, 0.0, False, passes)
        for f in range(d):
            Z[at, f] = s.z[f]


@fast_helper
def _user_rows(s: Any, y: Any, triplets: Any, n: int, D: Any, curvatures: Any, scale: float) -> int:
    """Rows d_j - d_i, one a triplet; s.v: what each adds to half of c."""
    for t in range(n):
        j, i = triplets.p[t], triplets.q[t]
        s.weights[t] = scale * scale * curvatures[triplets.X[t]]
        s.v[t] = 0.25 * scale
        for f in range(len(s.z)):
            y[f, t] = D[j, f] - D[i, f]
    return n


@fast_helper
def _item_rows(
    s: Any, y: Any, triplets: Any, ends: tuple[int, int], item: int, problem: Any,
    curvatures: Any, scale: float,
) -> int:  # fmt: skip
    """Rows b_u, one a pair in the role of the positive, one a triplet in the other."""
    codes, x_at = problem.codes, problem.tables.x
    d, count, last = len(s.z), -1, -1
    for t in range(ends[1]):
        positive = t < ends[0]
        u = triplets.q[t] if positive else triplets.p[t]
        if not positive or u != last:
            count, last = count + 1, u
            s.weights[count], s.v[count] = 0.0, 0.0
            for f in range(d):
                y[f, count] = codes.B[u, f]
            dot = scale * (d - 2 * hamming_distance(codes.b_words, u, codes.d_words, item))
        x, curvature = x_at[triplets.X[t]], curvatures[triplets.X[t]]
        s.weights[count] += scale * scale * curvature
        if positive:
            s.v[count] -= scale * (curvature * (x + dot) + 0.25)
        else:
            s.v[count] += scale * (curvature * (x - dot) + 0.25)
    return count + 1


_PASSES = 10


@dataclass(frozen=True)
class PairLoss:
    """l(x) alone, x = scale b_u.(d_j - d_i): DSIML's loss with lambda = 0 and another scale.

    scale = 1 / (2 bits) is DSIML's own, 1 is DRMF's.
    """

    scale: float
    lambda_: float = 0.0

    def roles(self, bits: int) -> Floats:
        """The coefficients of x in each role; y has none (`training.loss.role_tables`)."""
        at, none = self.scale, [0.0] * 4
        return np.array([[[at, -at, 0, 0], none], [[0, -at, at, 0], none], [[at, 0, -at, 0], none]])


@dataclass(frozen=True)
class Descents:
    """Proposes the codes at which coordinate descent leaves the bound, A not written out.

    The problems are those of `training.discrete.bounds.Bounds`, solved bit after bit.
    """

    passes: int = _PASSES

    def __call__(self, problem: Problem, kind: int, rows: Rows) -> tuple[Signs, Floats]:
        """As `sweeps.Proposer`, of a loss without the term y."""
        assert problem.tables.lambda_ == 0
        Z, gains = problem.codes.signs(kind)[rows], np.zeros((len(rows), 2))
        descend_rows(kind, rows, problem, self.passes, Z, gains)
        if kind == ITEM:
            changes_of_loss(kind, rows, problem, pack_signs(Z), gains)
        return Z, gains


def proposer_of(solver: str) -> Proposer:
    """What finds new codes: descent without A, or a solver of `discrete.bqp` with it."""
    return Descents() if solver == "descent" else Bounds(make_solver(solver))


def easy_triplets(
    B: Signs, D: Signs, triplets: Triplets, loss: PairLoss, pace: float, pool: ThreadPool
) -> tuple[Triplets, float]:
    """The triplets whose loss is below `pace`, and their share: the weights of self-paced learning.

    The negative of the others becomes -1: a triplet of weight 0 is one that is not there.
    """
    problem = make_problem(B, D, triplets, loss, items=False)
    negatives = triplets.negatives.copy()
    work = partial(drop_hard_triplets, problem, pace, negatives)
    pool.map_ranges(len(negatives), work)
    there, easy = (int(np.count_nonzero(of >= 0)) for of in (triplets.negatives, negatives))
    return triplets._replace(negatives=negatives), easy / max(1, there)


_FOLD_IN_NEGATIVES = 20


class DRMFConfig(EpochConfig):
    """Settings of DRMF; an epoch is a sweep over all users and all items."""

    bits: int = Field(64, ge=8, le=256, description="length of the codes")
    temperature: float = Field(
        2.5,
        gt=0,
        description="steepness of the loss in the difference of two similarities; paper: bits",
    )
    negatives: int = Field(3, ge=1, le=1000, description="negatives per positive, each epoch")
    sampling: float = Field(
        0.0, ge=0, le=2, description="negatives are drawn by popularity to this power; 0: uniformly"
    )
    warm_up: int = Field(2, ge=0, description="epochs over all triplets, hard ones too, at first")
    pace: float = Field(
        1.0, gt=0, description="loss below which a triplet counts, at first; paper: 0.15"
    )
    growth: float = Field(1.5, ge=1, description="factor on the pace from stage to stage")
    most: float = Field(3.0, gt=0, description="the pace grows no further than this")
    stage: int = Field(2, ge=1, description="epochs of a stage, all at one pace")
    start_epochs: int = Field(
        10, ge=0, description="epochs of BPR whose signs the codes start from; 0: random signs"
    )
    solver: Literal["descent", "tabu", "exact"] = Field(
        "descent", description="binary problem of each code: descent is fastest, exact is optimal"
    )
    epochs: int = Field(10, ge=1, description="sweeps over all users and all items, at most")
    patience: int = Field(3, ge=1, description="validations without gain before it stops")
    validate_every: int = Field(1, ge=1, description="epochs between two validations")

    def loss(self) -> PairLoss:
        """The loss of a triplet."""
        return PairLoss(self.temperature / self.bits)

    def pace_of(self, epoch: int) -> float:
        """The loss below which a triplet counts; infinite while it warms up."""
        if epoch < self.warm_up:
            return float("inf")
        pace = self.pace
        for _ in range((epoch - self.warm_up) // self.stage):
            if pace * self.growth >= self.most:
                break
            pace *= self.growth
        return pace


class DRMF(EpochModel[DRMFConfig]):
    """Codes by self-paced pairwise ranking.

    >>> train = [("ann", "tea"), ("ann", "milk"), ("bob", "tea")]
    >>> DRMF(bits=8, epochs=1).fit(train).representation_.scores(np.arange(2)).shape
    (2, 2)
    """

    name = "drmf"
    Config = DRMFConfig
    space: ClassVar[Space] = {
        "temperature": Float(1.5, 4.0, log=True),
        "pace": Float(0.7, 1.5, log=True),
        "start_epochs": Choice((10, 20)),
    }
    cost = 1.0

    def _epochs(self, train: Interactions, options: RunOptions, pool: ThreadPool) -> Any:
        sampler = Negatives.of(train, self.config.sampling)

        def sweep(epoch: int, arrays: Arrays) -> dict[str, float]:
            negatives = sampler.draw_all(self.config.negatives, options.seed, epoch)
            triplets = Triplets(train.user_rows, train.indices, negatives)
            return self._sweep(epoch, arrays["users"], arrays["items"], triplets, pool)

        return self._start(train, options), sweep, codes_of

    def _start(self, train: Interactions, options: RunOptions) -> Arrays:
        """Signs at random, or those of the same loss over vectors, turned to lose least."""
        bits, rounds = self.config.bits, self.config.start_epochs
        if rounds == 0:
            rng = np.random.Generator(np.random.Philox(options.seed))
            sizes = (train.n_users, train.n_items)
            B, D = (rng.standard_normal((n, bits), dtype=np.float32) for n in sizes)
        else:
            model = BPR(dimensions=bits, epochs=rounds, negatives=self.config.negatives)
            quiet = replace(options, progress=SILENT, checkpoint=None)
            vectors = model.fit(train, None, quiet).representation_
            assert isinstance(vectors, Vectors)
            B, D = unit_rows(vectors.user_vectors), unit_rows(vectors.item_vectors)
            turn = learn_rotation(B, D, seed=options.seed)
            B, D = B @ turn, D @ turn
        return {"users": signs_of(B), "items": signs_of(D)}

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user's code: their own problem under the bound, from where their items point."""
        representation = expect(representation, Codes)
        items, chosen = _item_signs(representation), np.unique(history).astype(np.int32)
        B = signs_of(pointed_direction(representation, chosen))
        sampler = Negatives(chosen, np.array([0, len(chosen)]), len(items))
        users, loss = np.zeros(len(chosen), dtype=np.int32), self.config.loss()
        triplets = Triplets(users, chosen, sampler.draw_all(_FOLD_IN_NEGATIVES, 0, 0))
        problem = make_problem(B, items, triplets, loss, items=False)
        codes, _ = proposer_of(self.config.solver)(problem, USER, np.zeros(1, dtype=np.int64))
        return pack_signs(codes)

    def _update(self, representation: Representation, update: DataUpdate) -> Representation:
        """The rows of `update`, from where their pairs point, by one sweep over them alone."""
        representation = expect(representation, Codes)
        train, codes = update.train, updated_codes(representation, update)
        B, D = (unpack_signs(of, codes.bits) for of in (codes.user_codes, codes.item_codes))
        negatives = Negatives.of(train, self.config.sampling).draw_all(self.config.negatives, 0, 0)
        triplets = Triplets(train.user_rows, train.indices, negatives)
        problem = make_problem(B, D, triplets, self.config.loss())
        solver = proposer_of(self.config.solver)
        sweep(problem, solver, ThreadPool(1), users=update.users, items=update.items)
        return Codes.from_signs(B, D)

    def _sweep(
        self, epoch: int, B: Any, D: Any, triplets: Triplets, pool: ThreadPool
    ) -> dict[str, float]:
        loss, pace, share = self.config.loss(), self.config.pace_of(epoch), 1.0
        if np.isfinite(pace):
            triplets, share = easy_triplets(B, D, triplets, loss, pace, pool)
        problem = make_problem(B, D, triplets, loss)
        done = sweep(problem, proposer_of(self.config.solver), pool)
        there = max(1, int(np.count_nonzero(triplets.negatives >= 0)))
        return {
            "loss": done.loss_after / there,
            "easy": share,
            "user_flips": done.user_flips / B.size,
            "item_flips": done.item_flips / D.size,
        }


@once_for_each
def _item_signs(codes: Codes) -> npt.NDArray[np.int8]:
    return unpack_signs(codes.item_codes, codes.bits)
