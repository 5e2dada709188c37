"""DSIML: SIML in bits. Codes of users and items, learned with the scale-invariant loss.

SIML's vectors, rotated so that signs lose least (`discrete.rotation`), are the start; then an
optimiser learns on with the signs themselves (`optimizers`). `auto` tries each of them and keeps
the one that is best on validation.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt
from pydantic import Field, model_validator

from xorec.core.bits import MOST_OFFSET, pack_signs
from xorec.core.errors import DataError
from xorec.core.options import RunOptions
from xorec.core.progress import SILENT
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.models.base import DataUpdate, Part, expect
from xorec.models.new_rows import pointed_direction, updated_codes
from xorec.models.pretraining import FromSIML, PretrainedModel
from xorec.models.siml.dsiml_ranking import (
    refine_new_user,
    refine_users,
    two_stage_query,
    updated_two_stage,
    with_offset,
    with_reranking,
)
from xorec.models.siml.optimizers import OPTIMIZERS, Optimizer, Start, candidates
from xorec.models.siml.siml import Alpha, ScaleInvariantConfig, Temperature
from xorec.models.siml.siml_kernels import NO_LISTS, NO_TEACHER, LossParams, Teacher
from xorec.models.siml.teacher_lists import slim_lists, with_best_items
from xorec.representations.base import Representation
from xorec.representations.codes import Codes
from xorec.representations.two_stage import TwoStage
from xorec.representations.vectors import Floats
from xorec.training.config import AUTO, Choice, Float, Space, or_auto
from xorec.training.discrete.rotation import learn_rotation, to_dimensions, unit_rows
from xorec.training.epochs import Arrays, EpochTrainer, validation_ndcg

if TYPE_CHECKING:
    OptimizerName = str
    Length: TypeAlias = int
    Offset: TypeAlias = float | Literal["auto"]
    Size: TypeAlias = int | Literal["auto"]
else:
    OptimizerName = Literal[(AUTO, *OPTIMIZERS)]
    Length = or_auto(int, ge=0, le=1000)
    Offset = or_auto(float, ge=0, le=MOST_OFFSET, strict=True)
    Size = or_auto(int, ge=0, strict=True)


_BEFORE_LISTS = {"bits", "optimizer", "softness", "solver", "distill", "teach", "keep", "start"}
"""Settings of files of 0.1, which knew no lists of a teacher."""


class DSIMLConfig(ScaleInvariantConfig):
    """Settings of DSIML; `epochs` are those of the codes, `start` has those of the vectors.

    `form` is for `ste`; sweeps have a log for each negative.
    """

    renamed: ClassVar[dict[str, str]] = {
        "distill": "extra_positives",
        "teach": "distill_weight",
        "lists": "teacher_list_length",
        "keep": "vector_dtype",
    }

    epochs: int = Field(
        15, ge=1, description="passes over the training pairs when the bits are learned, at most"
    )
    alpha: Alpha = Field(
        AUTO,
        description="negatives are drawn by popularity**alpha, 0 to 2; 0: uniform; auto: as in "
        "`start`, half of it where lists teach",
    )
    temperature: Temperature = Field(
        AUTO,
        description="steepness of the scale-invariant part; auto: 4, with ste less below 64 bits",
    )
    bits: int = Field(64, ge=8, le=256, description="length of the codes")
    optimizer: OptimizerName = Field(
        "ste", description="how the bits are learned: ste, flip, bqp or none; auto: by validation"
    )
    learning_rate: float = Field(
        1.0, gt=0, le=100, description="ste: size of the first epoch's steps; they shrink to 0"
    )
    softness: float = Field(
        0.7, ge=0, le=10, description="ste: entries nearer to 0 give random bits; 0: always signs"
    )
    solver: Literal["descent", "tabu", "exact"] = Field(
        "descent", description="bqp: solver of the problems: descent is fastest, exact is optimal"
    )
    extra_positives: int = Field(
        5, ge=0, description="how many best items of the vectors are added to short histories"
    )
    distill_weight: float = Field(
        8.0,
        ge=0,
        description="ste: weight of the distillation loss (teachers: the vectors, slim's lists)",
    )
    teacher_list_length: Length = Field(
        AUTO,
        description="ste: length of each user's list by slim, whose order the bits learn: more "
        "accurate, but slim is fitted first; 0: only the vectors teach; auto: 50 to 100, by scores",
    )
    asymmetric: bool = Field(
        False, description="users stay float vectors, ranked against the items' bits"
    )
    shortlist: Size = Field(
        0, description="items found by code that the vectors rerank; 0: none; auto: by validation"
    )
    vector_dtype: Literal["float32", "float16", "int8"] = Field(
        "float16", description="shortlist: number format of the stored vectors"
    )
    offset: Offset = Field(
        AUTO,
        description="bonus for popular items, in bits each time an item's count doubles; auto: "
        "by validation; 0 without a validation part, with asymmetric and with shortlist",
    )
    start: FromSIML = Field(
        {}, description="settings of the first vectors' model; `model` names it (siml, bpr, ...)"
    )

    def resolved(self) -> Self:
        """A number for each `auto` but `teacher_list_length`, which differs by user.

        `alpha` is the start's; half of it beside lists, which have the popular items that matter.
        Cosines of short codes have few steps, so the loss must not be steep.
        """
        found: dict[str, Any] = {}
        drawn = any(one.takes_lists for one in candidates(self.optimizer))
        if self.alpha == AUTO:
            share = 0.5 if drawn and self.teacher_list_length and self.distill_weight else 1.0
            found["alpha"] = share * getattr(self.start.resolved(), "alpha", 0.0)
        if self.temperature == AUTO:
            found["temperature"] = 4.0 * (min(1.0, self.bits / 64) ** 0.25 if drawn else 1.0)
        return self.model_copy(update=found) if found else self

    def loss_params(self) -> LossParams:
        return super(DSIMLConfig, self.resolved()).loss_params()

    @property
    def codes_alone(self) -> bool:
        """Whether lists are ranked by the bits of both sides and nothing else."""
        return not (self.asymmetric or self.shortlist)

    @model_validator(mode="before")
    @classmethod
    def _of_an_older_file(cls, given: Any) -> Any:
        """A file names all settings of its time: one that names these but no lists had none."""
        if isinstance(given, dict) and "lists" not in given and given.keys() >= _BEFORE_LISTS:
            given = {**given, "lists": 0}
        return given

    @model_validator(mode="after")
    def _shortlist_by_dot_products(self) -> Self:
        if self.shortlist and self.start.model in ("cml", "sml"):
            raise ValueError(f"{self.start.model} ranks by distance: leave shortlist out")
        if self.offset not in (0, AUTO) and not self.codes_alone:
            raise ValueError("offset is for codes alone: leave shortlist and asymmetric out")
        return self


class DSIML(PretrainedModel[DSIMLConfig]):
    """Binary codes from the scale-invariant loss.

    >>> train = [("ann", "tea"), ("ann", "milk"), ("bob", "tea")]
    >>> codes = DSIML(bits=16, epochs=1, start={"epochs": 1}).fit(train).representation_
    >>> codes.bits, codes.item_codes.shape  # 64 bits to a word
    (16, (2, 1))
    """

    name = "dsiml"
    Config = DSIMLConfig
    work = "codes"
    weighting = "used by `start`; then pairs are sampled in proportion to them (ste)"
    space: ClassVar[Space] = {
        "temperature": Float(2.5, 6.0, log=True),
        "softness": Float(0.35, 1.5),
        "learning_rate": Float(0.5, 8.0, log=True),
        "distill_weight": Choice((4.0, 8.0, 16.0)),
        "teacher_list_length": Choice((AUTO, 50, 100, 200)),
    }
    cost = 4.0

    def __init__(self, **settings: Any) -> None:
        super().__init__(**settings)
        self._given: tuple[Floats, Floats] | None = None
        self.optimizer_ = ""
        self.shortlist_ = 0
        self.offset_ = 0.0

    @classmethod
    def from_vectors(
        cls, user_vectors: npt.ArrayLike, item_vectors: npt.ArrayLike, **settings: Any
    ) -> DSIML:
        """A model whose `fit` starts from vectors of another library instead of SIML's.

        The rows must be those of the training data; the vectors may have any length.
        """
        model = cls(**settings)
        users, items = (np.asarray(rows, dtype=np.float32) for rows in (user_vectors, item_vectors))
        if users.ndim != 2 or items.ndim != 2 or users.shape[1] != items.shape[1]:
            raise DataError(
                f"user vectors of shape {users.shape} and item vectors of shape {items.shape} do "
                "not go together: give rows of one length for both."
            )
        if not (np.isfinite(users).all() and np.isfinite(items).all()):
            raise DataError("the vectors hold NaN or infinity: mend those rows first.")
        model._given = (users, items)
        return model

    @property
    def runs_on_engine(self) -> bool:  # type: ignore[override]
        return all(one.runs_on_engine for one in candidates(self.config.optimizer))

    def _learn(self, train: Interactions, validation: Part, options: RunOptions) -> Representation:
        vectors = self._start_vectors(train, validation, options)
        start = self._rotated(train, *vectors, options)
        kept = vectors if self.config.shortlist else None
        del vectors  # as large as all that is learned from here on
        tried, parts = candidates(self.config.optimizer), (train, validation)
        if len(tried) > 1 and validation is not None:
            codes = self._best(tried, start, (train, validation), options)
        else:
            codes = self._optimize(tried[-1], start, parts, options)
        codes, self.offset_ = with_offset(codes, self.config, *parts, options)
        if kept is None:
            return codes
        learned, self.shortlist_ = with_reranking(codes, kept, self.config, *parts, options)
        return learned

    def _rotated(
        self, train: Interactions, users: Floats, items: Floats, options: RunOptions
    ) -> Start:
        """What the optimisers start from: rotated vectors, pairs, a teacher."""
        self.config = config = self.config.resolved()
        pairs, lists, teacher = train, NO_LISTS, NO_TEACHER
        tried = candidates(config.optimizer)
        taught = any(one.takes_lists for one in tried)
        if config.teacher_list_length and config.distill_weight and taught:
            lists = slim_lists(train, config.teacher_list_length, options)
        if config.extra_positives and any(one.learns for one in tried):
            pairs = with_best_items(
                train, users, items, config.extra_positives, config.bits, options.block_engine
            )
        if (pairs is train or lists is not NO_LISTS) and (config.asymmetric or taught):
            weight = np.full(train.n_users, config.distill_weight, np.float32)
            steepness = np.float32(2 * config.temperature)
            teacher = Teacher(unit_rows(users), unit_rows(items), weight, steepness, lists)
        users, items = to_dimensions(users, items, config.bits)
        rotation = learn_rotation(users, items, seed=options.seed)
        return Start(unit_rows(users) @ rotation, unit_rows(items) @ rotation, pairs, teacher)

    def _optimize(
        self,
        optimizer: type[Optimizer],
        start: Start,
        parts: tuple[Interactions, Part],
        options: RunOptions,
    ) -> Codes:
        """The codes that the optimiser ends with."""
        self.optimizer_, self.history_, self.epochs_ = optimizer.name, [], 0
        with options.thread_pool() as pool:
            represent = partial(self._codes, start, options.seed, pool)
            learner = optimizer(self.config, start, options.seed, pool, options.remote_engine)
            arrays = learner.start_arrays()
            if optimizer.learns:
                trainer = EpochTrainer(self, *parts, options)
                arrays = trainer.run(arrays, learner.step, represent).arrays
            learner.close()
            return represent(arrays)

    def _best(
        self,
        tried: list[type[Optimizer]],
        start: Start,
        parts: tuple[Interactions, Interactions],
        options: RunOptions,
    ) -> Codes:
        """The codes of the optimiser that validation likes best; says which."""
        quiet = replace(options, progress=SILENT)
        found: dict[str, tuple[float, Codes, list[dict[str, float]], int]] = {}
        for optimizer in tried:
            own = replace(start, users=start.users.copy(), items=start.items.copy())
            codes = self._optimize(optimizer, own, parts, options.for_stage(optimizer.name))
            value = validation_ndcg(codes, *parts, quiet)
            found[optimizer.name] = (value, codes, self.history_, self.epochs_)
        best = max(found, key=lambda name: found[name][0])
        values = ", ".join(f"{name} {found[name][0]:.4f}" for name in found)
        options.progress.note(f"dsiml: auto takes {best} (validation NDCG@20: {values}).")
        _, codes, self.history_, self.epochs_ = found[best]
        self.optimizer_ = best
        return codes

    def _start_vectors(
        self, train: Interactions, validation: Part, options: RunOptions
    ) -> tuple[Floats, Floats]:
        """The vectors that were given, or else those of the start."""
        if self._given is not None:
            users, items = self._given
            if (len(users), len(items)) != (train.n_users, train.n_items):
                raise DataError(
                    f"the vectors are of {len(users)} users and {len(items)} items but the "
                    f"training part has {train.n_users} and {train.n_items}."
                )
            return users, items
        started = self._pretrain(train, validation, options)
        return started.user_vectors, started.item_vectors

    def _codes(self, start: Start, seed: int, pool: ThreadPool, arrays: Arrays) -> Codes:
        """The signs of the rows; float users are refined against those of the items."""
        users, items = arrays["users"], arrays["items"]
        codes = Codes.from_signs(users, items)
        if not self.config.asymmetric:
            return codes
        floats = refine_users(users, items, self.config, start, seed, pool)
        return Codes(codes.user_codes, codes.item_codes, codes.bits, floats)

    def refit_settings(self) -> dict[str, Any]:
        """The optimiser, offset, shortlist and the numbers of epochs as validation chose them."""
        chosen = {"optimizer": self.optimizer_, "shortlist": self.shortlist_}
        if not OPTIMIZERS[self.optimizer_].stops_early:
            chosen["epochs"] = self.config.epochs
        return {**super().refit_settings(), **chosen, "offset": self.offset_}

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user's code (or vector, or both), items as they are: where their items point."""
        codes = representation.codes if isinstance(representation, TwoStage) else representation
        codes = expect(codes, Codes)
        direction = pointed_direction(codes, history)
        if isinstance(representation, TwoStage):
            return two_stage_query(representation, direction, history, self.config)
        if codes.user_vectors is None:
            return pack_signs(direction)
        return refine_new_user(direction, history, codes.item_codes, self.config)

    def _update(self, representation: Representation, update: DataUpdate) -> Representation:
        if isinstance(representation, TwoStage):
            return updated_two_stage(representation, update, self.config)
        return updated_codes(expect(representation, Codes), update)
