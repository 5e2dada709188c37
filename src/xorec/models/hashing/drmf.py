"""DRMF (Zhang et al. 2018): codes by the pairwise logistic loss, easy pairs first.

With o = b_u.(d_i - d_j) for an item i that user u has and one j that they lack,

    minimise  sum over (u, i, j) of w_uij log(1 + e^(-(temperature / bits) o)),

w_uij = 1 where that loss is below the pace, else 0: after a warm-up over all triplets the pace
begins low and grows from stage to stage (self-paced learning). The paper's temperature is the
number of bits. Codes are learned as DSIML's optimiser "bqp" learns them: the quadratic bound on
the loss of each user, and then of each item in both roles, is a binary quadratic problem
(`drmf_terms`, `training.discrete.bounds`).
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar, Literal

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.bits import pack_signs, unpack_signs
from xorec.core.options import RunOptions
from xorec.core.progress import SILENT
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.models.base import DataUpdate, Model, expect
from xorec.models.code_fold_in import mean_direction, updated_codes
from xorec.models.factorization.bpr import BPR
from xorec.models.hashing.drmf_terms import PairTerms, easy_triplets, proposer_of
from xorec.models.late_rows import once_for_each, signs_of
from xorec.representations.base import Representation
from xorec.representations.codes import Codes
from xorec.representations.vectors import Vectors
from xorec.training.checkpoint import Arrays
from xorec.training.config import Choice, EpochConfig, Float, Space
from xorec.training.discrete.problem import make_problem
from xorec.training.discrete.rotation import learn_rotation, unit_rows
from xorec.training.discrete.sweeps import sweep
from xorec.training.discrete.triplet_kernels import USER
from xorec.training.epochs import EpochTrainer
from xorec.training.passes import Triplets

_FOLD_IN_NEGATIVES = 20


class DRMFConfig(EpochConfig):
    """Settings of DRMF; an epoch is a sweep over all users and all items."""

    bits: int = Field(64, ge=8, le=256, description="length of the codes")
    temperature: float = Field(
        2.5,
        gt=0,
        description="steepness of the loss in the difference of two similarities; "
        "the number of bits in the paper",
    )
    negatives: int = Field(3, ge=1, le=1000, description="negatives per positive, each epoch")
    sampling: float = Field(
        0.0, ge=0, le=2, description="negatives are drawn by popularity to this power; 0: uniformly"
    )
    warm_up: int = Field(2, ge=0, description="epochs over all triplets, hard ones too, at first")
    pace: float = Field(
        1.0,
        gt=0,
        description="loss below which a triplet counts, at first; 0.15 in the paper",
    )
    growth: float = Field(1.5, ge=1, description="factor on the pace from stage to stage")
    most: float = Field(3.0, gt=0, description="the pace grows no further than this")
    stage: int = Field(2, ge=1, description="epochs of a stage, all at one pace")
    start_epochs: int = Field(
        10, ge=0, description="epochs of BPR whose signs the codes start from; 0: random signs"
    )
    solver: Literal["descent", "tabu", "exact"] = Field(
        "descent",
        description="solver of each code's binary problem: descent is fastest, exact is optimal",
    )
    epochs: int = Field(10, ge=1, description="sweeps over all users and all items, at most")
    patience: int = Field(3, ge=1, description="validations without gain before it stops")
    validate_every: int = Field(1, ge=1, description="epochs between two validations")

    def terms(self) -> PairTerms:
        """The loss of a triplet."""
        return PairTerms(self.temperature / self.bits)

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


class DRMF(Model[DRMFConfig]):
    """Codes by self-paced pairwise ranking.

    >>> from xorec import Interactions
    >>> train = Interactions.from_pairs([("ann", "tea"), ("ann", "milk"), ("bob", "tea")])
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

    def _learn(
        self, train: Interactions, validation: Interactions | None, options: RunOptions
    ) -> Representation:
        trainer = EpochTrainer(self, train, validation, options)
        sampler = Negatives.of(train, self.config.sampling)
        with options.thread_pool() as pool:

            def step(epoch: int, arrays: Arrays) -> dict[str, float]:
                negatives = sampler.draw_all(self.config.negatives, options.seed, epoch)
                triplets = Triplets(train.user_rows, train.indices, negatives)
                return self._sweep(epoch, arrays["users"], arrays["items"], triplets, pool)

            state = trainer.run(self._start(train, options), step, _codes)
        return _codes(state.arrays)

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
        total = items[chosen].sum(axis=0, dtype=np.float32)
        B = signs_of(mean_direction(total, len(chosen), representation.mean_item)[None])
        sampler = Negatives(chosen, np.array([0, len(chosen)]), len(items))
        users, terms = np.zeros(len(chosen), dtype=np.int32), self.config.terms()
        triplets = Triplets(users, chosen, sampler.draw_all(_FOLD_IN_NEGATIVES, 0, 0))
        problem = make_problem(B, items, triplets, terms, items=False)
        codes, _ = proposer_of(self.config.solver)(problem, USER, np.zeros(1, dtype=np.int64))
        return pack_signs(codes)

    def _update(self, representation: Representation, update: DataUpdate) -> Representation:
        """The rows of `update`, from where their pairs point, by one sweep over them alone."""
        representation = expect(representation, Codes)
        train, codes = update.train, updated_codes(representation, update)
        B, D = (unpack_signs(of, codes.bits) for of in (codes.user_codes, codes.item_codes))
        negatives = Negatives.of(train, self.config.sampling).draw_all(self.config.negatives, 0, 0)
        triplets = Triplets(train.user_rows, train.indices, negatives)
        problem = make_problem(B, D, triplets, self.config.terms())
        solver = proposer_of(self.config.solver)
        sweep(problem, solver, ThreadPool(1), users=update.users, items=update.items)
        return Codes.from_signs(B, D)

    def _sweep(
        self, epoch: int, B: Any, D: Any, triplets: Triplets, pool: ThreadPool
    ) -> dict[str, float]:
        terms, pace, share = self.config.terms(), self.config.pace_of(epoch), 1.0
        if np.isfinite(pace):
            triplets, share = easy_triplets(B, D, triplets, terms, pace, pool)
        problem = make_problem(B, D, triplets, terms)
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


def _codes(arrays: Arrays) -> Codes:
    return Codes.from_signs(arrays["users"], arrays["items"])
