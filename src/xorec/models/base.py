"""Model: settings in, `fit`, a representation out. A model's own file holds its mathematics.

A model whose steps cannot be cut into blocks runs on a remote engine as one task. (SGD reads what
the step before has written, so its blocks would send kilobytes for every pair.) The task gets all
pairs and sends the fitted model back: the same code, the same bytes. Where executors see the folder
of the checkpoint, a task that is lost with its executor goes on from it, and so does a new driver
with `resume`. Where they do not see it, a lost task starts again.
"""

from __future__ import annotations

import glob
import inspect
import secrets
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from textwrap import indent
from typing import Any, ClassVar, Generic, Self, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import ValidationError
from threadpoolctl import threadpool_limits

from xorec.core.engine import Arrays, Engine, pickled, unpickled
from xorec.core.errors import ModelFileError, NotFittedError, OptionError
from xorec.core.options import DEFAULTS, RunOptions
from xorec.core.progress import logged
from xorec.core.threads import ThreadPool
from xorec.data.ids import Ids
from xorec.data.interactions import Interactions
from xorec.data.io.read import as_interactions
from xorec.data.prepare import align
from xorec.representations.base import Representation
from xorec.representations.learned_arrays import LearnedArrays
from xorec.training.config import EpochConfig, ModelConfig, Space, format_error, settings_text
from xorec.training.epochs import Arrays as EpochArrays
from xorec.training.epochs import EpochTrainer

_SETTINGS = ("config", "_given_config")


def packed_model(model: Model[Any]) -> npt.NDArray[np.uint8]:
    """All of a model as bytes; settings as plain values, because their class may have no name.

    >>> from xorec import BPR
    >>> opened_model(packed_model(BPR(dimensions=8))).config.dimensions
    8
    """
    own = {name: value for name, value in vars(model).items() if name not in _SETTINGS}
    settings = {name: getattr(model, name).model_dump() for name in _SETTINGS}
    return pickled({"model": model.name, "settings": settings, "own": own})


def opened_model(array: npt.NDArray[np.uint8]) -> Model[Any]:
    """The model of `packed_model`."""
    from xorec.models import model_class

    state = unpickled(array)
    kind = model_class(state["model"])
    model: Model[Any] = kind()
    settings = {name: kind.Config(**values) for name, values in state["settings"].items()}
    vars(model).update({**state["own"], **settings})
    return model


def fit_as_task(
    model: Model[Any], train: Interactions, validation: Part, options: RunOptions, engine: Engine
) -> Model[Any]:
    """The model, fitted on the engine."""
    work = {"model": packed_model(model), "parts": pickled((train, validation))}
    settings = {"seed": options.seed, "threads": options.threads or engine.task_threads}
    with _marked(options) as checkpoint:
        (made,) = engine.map_blocks(fit_block, [{}], [work], **settings, **checkpoint)
    return opened_model(made["model"])


def fit_block(
    block: Arrays, shared: Arrays, seed: int, threads: int, checkpoint: str = "", token: str = ""
) -> Arrays:
    """Fit the shared model, with a checkpoint where this process sees its folder."""
    train, validation = unpickled(shared["parts"])
    path = Path(checkpoint) if checkpoint and _sees(Path(checkpoint), token) else None
    options = RunOptions(seed=seed, threads=threads, checkpoint=path, resume=path is not None)
    fitted = opened_model(shared["model"]).fit(train, validation, options)
    return {"model": packed_model(fitted)}


@contextmanager
def _marked(options: RunOptions) -> Iterator[dict[str, str]]:
    """The task's checkpoint, and a file beside it that proves that the folder is shared."""
    path = options.checkpoint
    if path is None:
        yield {}
        return
    if not options.resume:
        path.unlink(missing_ok=True)
    path = path.resolve()
    token, mark = secrets.token_hex(8), Path(f"{path}.shared")
    path.parent.mkdir(parents=True, exist_ok=True)
    mark.write_text(token, encoding="utf-8")
    try:
        yield {"checkpoint": str(path), "token": token}
    finally:
        mark.unlink(missing_ok=True)


def _sees(path: Path, token: str) -> bool:
    try:
        return Path(f"{path}.shared").read_text(encoding="utf-8") == token
    except OSError:
        return False


@dataclass(frozen=True, eq=False)
class DataUpdate:
    """What came after a fit. Users and items that are new have rows behind the old ones.

    train: all pairs, old and new; users, items: the rows to learn; known (n_users,): how many
    pairs each user had before, known_items (n_items,) each item. threads: at most so many work on
    it; the result is the same.
    """

    train: Interactions
    users: npt.NDArray[np.integer]
    items: npt.NDArray[np.integer]
    known: npt.NDArray[np.integer]
    threads: int = 1
    known_items: npt.NDArray[np.integer] | None = None


EpochStep = Callable[[int, EpochArrays], dict[str, float]]
"""Learns for the epoch of this number, in place; tells the loss."""
C = TypeVar("C", bound=ModelConfig)
E = TypeVar("E", bound=EpochConfig)
R = TypeVar("R", bound=Representation)
T = TypeVar("T")
Part = Interactions | None
"""A validation part, where there is one."""


def expect(representation: Representation, kind: type[R]) -> R:
    """A representation read from a file, refused where it is not of the kind its model learns.

    >>> from xorec.representations.shared_scores import SharedScores
    >>> expect(SharedScores(np.ones(3, dtype=np.float32), n_users=1), SharedScores).n_items
    3
    """
    if not isinstance(representation, kind):
        raise _unlike(f"has learned {representation.kind} and not {kind.kind}")
    return representation


def expect_part(part: T | None, what: str) -> T:
    """A part of a representation, refused where the file has none."""
    if part is None:
        raise _unlike(f"has no {what}")
    return part


def expect_size(what: str, found: int, said: int) -> None:
    """Refuse a size that differs from the settings in the same file."""
    if found != said:
        raise _unlike(f"has {found} {what} and not {said}")


def _unlike(what: str) -> ModelFileError:
    return ModelFileError(f"the model was not fitted by what it says: it {what}. Fit it again.")


class Model(LearnedArrays, ABC, Generic[C]):
    """A recommender's mathematics.

    `Model(setting=value, ...)` only checks and stores the settings (`config`). `fit` learns and
    returns self; it puts a value in the place of each setting that was left to it (`auto`). What
    was learned is in `representation_`, and as plain arrays in `item_vectors`,
    `item_codes`, `item_ids` and their like (`LearnedArrays`). Where a model learns by epochs,
    `history_` has a row for each and `epochs_` says how many the representation comes from.

    >>> from xorec import BPR
    >>> model = BPR(dimensions=4, epochs=2).fit([("ann", "tea"), ("ann", "milk"), ("bob", "tea")])
    >>> model.user_vectors.shape, list(model.user_ids)
    ((2, 4), ['ann', 'bob'])
    >>> model.representation_.kind, model.representation is model.representation_
    ('vectors', True)
    >>> model.refit_settings()["epochs"]
    2
    """

    name: ClassVar[str]
    """The name on the command line and in model files."""
    Config: ClassVar[type[ModelConfig]]
    space: ClassVar[Space] = {}
    """What `xorec tune` moves, and how far; empty: there is nothing to tune."""
    cost: ClassVar[float] = 3.0
    """What one fit costs, as a multiple of other models': for guesses of the time left."""
    work: ClassVar[str] = "passes"
    """What a fit computes, for `xorec plan`: `passes` over triplets or pairs, or another kind of
    `selection.plan.fits.FITS`."""
    triplet_cost: ClassVar[float] = 1.0
    """What a triplet of a pass costs, as a multiple of SIML's of as many dimensions."""
    weighting: ClassVar[str] = ""
    """What the weights of pairs do (`Interactions.weights`); empty: they are not used."""
    runs_on_engine: bool = False
    """Whether `_learn` cuts its work into blocks for `options.engine`, or leaves it to the models
    that it is made of; otherwise the fit is one task there (`models.base`)."""
    learns_vectors: ClassVar[bool] = False
    """Whether users and items have vectors that another model can start from (`pretraining`)."""

    config: C
    history_: list[dict[str, float]]
    epochs_: int

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        if "Config" in cls.__dict__:
            cls.__signature__ = inspect.signature(cls.Config)  # type: ignore[attr-defined]
            settings = settings_text(cls.Config) or "none"
            about = inspect.cleandoc(cls.__doc__ or "")
            cls.__doc__ = f"{about}\n\nSettings:\n{indent(settings, '  ')}\n"

    def __init__(self, **settings: Any) -> None:
        try:
            self.config = self.Config(**settings)  # type: ignore[assignment]
        except ValidationError as error:
            raise OptionError(format_error(self.name, self.Config, error)) from None
        self._given_config = self.config
        self._representation: Representation | None = None
        self._ids: tuple[Ids, Ids] | None = None
        self.history_ = []
        self.epochs_ = 0

    def __repr__(self) -> str:
        settings = ", ".join(f"{k}={v!r}" for k, v in self.config.model_dump().items())
        return f"{type(self).__name__}({settings})"

    @property
    def representation_(self) -> Representation:
        """What `fit` has learned."""
        if self._representation is None:
            raise self._not_fitted()
        return self._representation

    @property
    def representation(self) -> Representation:
        """`representation_`, by the name that a `Recommender` has for it."""
        return self.representation_

    @property
    def user_ids(self) -> Ids:
        """The raw ids of the users, by row."""
        if self._ids is None:
            raise self._not_fitted()
        return self._ids[0]

    @property
    def item_ids(self) -> Ids:
        """The raw ids of the items, by row."""
        if self._ids is None:
            raise self._not_fitted()
        return self._ids[1]

    def _learned(self) -> Representation:
        return self.representation_

    def _not_fitted(self) -> NotFittedError:
        return NotFittedError(f"{type(self).__name__} has learned nothing yet: call fit first.")

    def fit(self, train: Any, validation: Any = None, options: RunOptions = DEFAULTS) -> Self:
        """Learn from `train`; use `validation`, if given, only to decide when to stop.

        Both are Interactions, or what `xorec.read` takes: a frame, a SciPy matrix (users are its
        rows), rows of (user, item) pairs, a path.

        >>> from xorec import BPR
        >>> model = BPR(dimensions=8, epochs=1)
        >>> model.fit([("ann", "tea"), ("ann", "milk"), ("bob", "tea")]) is model
        True
        >>> model.representation_.scores([0, 1]).shape  # every item for two users
        (2, 2)
        """
        train = as_interactions(train, "the training part", options.progress)
        train.require_pairs("the training part")
        if validation is not None:
            part, whole = "the validation part", "the training part"
            validation = as_interactions(validation, part, options.progress)
            validation.require_pairs(part)
            validation = align(validation, train.users, train.items, part, whole)
        train = self._weighed(train, options)
        self.config = self._given_config
        size = {"users": train.n_users, "items": train.n_items, "pairs": train.n_pairs}
        # BLAS adds in another order with more threads: the same bytes on every machine
        with logged("fit", model=self.name, **size), threadpool_limits(1, user_api="blas"):
            engine = options.remote_engine
            if engine is None or self.runs_on_engine:
                self._representation = self._learn(train, validation, options)
            else:
                fitted = fit_as_task(self, train, validation, options, engine)
                self.__dict__.update(fitted.__dict__)
        self._ids = (train.users, train.items)
        return self

    def _weighed(self, train: Interactions, options: RunOptions) -> Interactions:
        """Weights of 1 are as none, to the last bit; a model that uses none says so."""
        if train.weights is None or self.weighting:
            all_one = train.weights is not None and bool((train.weights == 1).all())
            return replace(train, weights=None) if all_one else train
        options.progress.note(f"{self.name} does not use weights: every pair counts the same.")
        return replace(train, weights=None)

    @abstractmethod
    def _learn(self, train: Interactions, validation: Part, options: RunOptions) -> Representation:
        """The mathematics of the model."""

    def refit_settings(self) -> dict[str, Any]:
        """The settings for a fit on all pairs: the number of epochs that validation chose."""
        chosen = {"epochs": self.epochs_} if self.epochs_ else {}
        return {**self.config.model_dump(), **chosen}

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """The query of a new user who has the item rows `history`, without a refit.

        `Recommender.fold_in` takes raw ids in their place.

        >>> from xorec import ItemKNN
        >>> model = ItemKNN().fit([("ann", "tea"), ("ann", "milk"), ("bob", "tea")])
        >>> query = model.fold_in(model.representation_, np.array([1]))
        >>> model.representation_.score(query).shape
        (1, 2)
        """
        raise OptionError(f"{self.name} cannot take in a new user without a refit.")

    def update(self, representation: Representation, update: DataUpdate) -> Self:
        """Take what was learned before, and what has come since; refresh what changed.

        `Recommender.update` makes the `DataUpdate` of new pairs with raw ids.

        >>> from xorec import Popularity
        >>> data = Interactions.from_pairs([("ann", "tea"), ("ann", "milk"), ("bob", "tea")])
        >>> before = data.select(np.array([True, False, True]))  # without ("ann", "tea")
        >>> learned, rows = Popularity().fit(before).representation_, (np.array([0]), np.array([1]))
        >>> counts = {"known": before.user_counts, "known_items": before.item_counts}
        >>> model = Popularity().update(learned, DataUpdate(data, *rows, **counts))
        >>> model.representation_.scores([0])[0].tolist()
        [1.0, 2.0]
        """
        self._representation = self._update(representation, update)
        self._ids = (update.train.users, update.train.items)
        return self

    def _update(self, representation: Representation, update: DataUpdate) -> Representation:
        raise OptionError(f"{self.name} cannot be updated: fit it again on all the data.")


class EpochModel(Model[E]):
    """A model that learns by epochs over arrays: passes, or sweeps over codes."""

    @abstractmethod
    def _epochs(
        self, train: Interactions, options: RunOptions, pool: ThreadPool
    ) -> tuple[EpochArrays, EpochStep, Callable[[EpochArrays], Representation]]:
        """The arrays at the start, the step of an epoch, and what arrays represent."""

    def _learn(self, train: Interactions, validation: Part, options: RunOptions) -> Representation:
        trainer = EpochTrainer(self, train, validation, options)
        with options.thread_pool() as pool:
            start, step, represent = self._epochs(train, options, pool)
            return represent(trainer.run(start, step, represent).arrays)


def fit_with_validation(
    model: Model[Any], train: Interactions, validation: Part, options: RunOptions = DEFAULTS
) -> Model[Any]:
    """Find the number of epochs on `validation`, then fit again on both parts together.

    So every model, with epochs or without, learns from the same pairs in the end. A model that
    has no epochs (nor a start that has), or no validation part, is fitted once. Returns the model
    of the last fit.
    """
    if validation is None or not {"epochs", "start"} & set(type(model.config).model_fields):
        both = train if validation is None else train.union(validation, options.thread_count)
        return model.fit(both, None, options)
    first = options.for_stage("validation")
    model.fit(train, validation, first)
    if model.epochs_:
        options.progress.note(f"{model.name}: validation chose {model.epochs_} epochs.")
    again = type(model)(**model.refit_settings())
    return again.fit(train.union(validation, options.thread_count), None, options)


def checkpoints(path: Path) -> list[Path]:
    """The checkpoint files that a fit has left at `path`: of all its stages."""
    return [path, *path.parent.glob(f"{glob.escape(path.name)}.*")]
