"""The loop over epochs: progress, validation, early stopping, checkpoint and resume.

A checkpoint has the arrays of a running fit in one safetensors file.
"""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
import numpy.typing as npt

from xorec.core.errors import XorecError
from xorec.core.files import save_tensors
from xorec.core.kernels import compiling
from xorec.core.options import RunOptions
from xorec.core.progress import SILENT
from xorec.core.rng import hash_integers
from xorec.data.interactions import Interactions
from xorec.representations.base import Representation
from xorec.training.config import EpochConfig

Arrays = dict[str, npt.NDArray[Any]]


@dataclass
class TrainingState:
    """The state of a fit by epochs; a run that resumes from it ends in the same bytes.

    arrays: the start of the next epoch; best: the arrays of the best epoch so far, if any.
    """

    arrays: Arrays
    epoch: int = 0
    best: Arrays = field(default_factory=dict)
    best_epoch: int = 0
    best_value: float = -1.0
    history: list[dict[str, float]] = field(default_factory=list)
    stopped: bool = False


class Checkpoint:
    """A state on disk. fingerprint: of its run (model, settings, data, seed). No path: nothing."""

    def __init__(self, path: Path | None, fingerprint: str) -> None:
        self.path, self.fingerprint = path, fingerprint
        self._last_end, self._last_cost = -np.inf, 0.0

    def load_into(self, state: TrainingState) -> bool:
        """Load the stored state; False if there is none. Another run's file is refused."""
        if self.path is None or not self.path.exists():
            return False
        tensors, progress = _read(self.path)
        if progress.pop("fingerprint") != self.fingerprint:
            raise XorecError(
                f"{self.path} belongs to another run (other data, model, settings or seed): "
                "delete it, or run without --resume to start again."
            )
        for name in state.arrays:
            state.arrays[name] = tensors[f"arrays.{name}"]
            if f"best.{name}" in tensors:
                state.best[name] = tensors[f"best.{name}"]
        for name, value in progress.items():
            setattr(state, name, value)
        return True

    def save(self, state: TrainingState, *, now: bool = False) -> None:
        """Write the state; with `now` False only if writing takes at most a 20th of the time."""
        begin = time.monotonic()
        if self.path is None or (not now and begin - self._last_end < 20 * self._last_cost):
            return
        tensors = {f"arrays.{name}": array for name, array in state.arrays.items()}
        tensors |= {f"best.{name}": array for name, array in state.best.items()}
        progress = {
            "fingerprint": self.fingerprint,
            "epoch": state.epoch,
            "best_epoch": state.best_epoch,
            "best_value": state.best_value,
            "history": state.history,
            "stopped": state.stopped,
        }
        save_tensors(self.path, tensors, {"checkpoint": json.dumps(progress)})
        self._last_end = time.monotonic()
        self._last_cost = self._last_end - begin


def _read(path: Path) -> tuple[Arrays, dict[str, Any]]:
    from safetensors import SafetensorError, safe_open

    try:
        with safe_open(path, framework="numpy") as file:
            progress = json.loads((file.metadata() or {})["checkpoint"])
            names = file.keys()
            return {name: file.get_tensor(name) for name in names}, progress
    except (SafetensorError, KeyError, ValueError, OSError) as error:
        raise XorecError(
            f"{path} is not a checkpoint that can be read ({error}): delete it and start again."
        ) from None


_VALIDATION_USERS = 5_000
_METRIC = "ndcg@20"


class Learner(Protocol):
    """A model, as the loop sees it: its name and settings, and the results that the loop sets."""

    name: ClassVar[str]
    config: Any
    history_: list[dict[str, float]]
    epochs_: int


class EpochTrainer:
    """Runs a model's epochs.

    step(epoch, arrays) changes the arrays in place and returns facts to show (the loss);
    represent(arrays) wraps them for validation. With a validation part the arrays of the best epoch
    are kept (NDCG@20 of up to 5,000 validation users); without one, those of the last.
    """

    def __init__(
        self,
        model: Learner,
        train: Interactions,
        validation: Interactions | None,
        options: RunOptions,
    ) -> None:
        self._model = model
        self._config: EpochConfig = model.config
        self._name = model.name
        self._train, self._options = train, options
        self._validation = validation
        if validation is not None:
            self._validation = validation_sample(validation, options.seed)
        path = options.checkpoint
        found = "" if path is None else fingerprint(model, train, validation, options)
        self._checkpoint = Checkpoint(path, found)

    def run(
        self,
        arrays: Arrays,
        step: Callable[[int, Arrays], dict[str, float]],
        represent: Callable[[Arrays], Representation],
    ) -> TrainingState:
        """Train from `arrays`; the returned state's `arrays` are the result.

        Sets the model's `history_` and `epochs_`.
        """
        state = TrainingState(arrays)
        if self._options.resume and self._checkpoint.load_into(state):
            self._options.progress.note(f"{self._name}: resumed after epoch {state.epoch}.")
        with self._options.progress.task(self._name, self._config.epochs) as task:
            task.advance(state.epoch)
            while state.epoch < self._config.epochs and not state.stopped:
                facts = step(state.epoch, state.arrays)
                state.epoch += 1
                self._refuse_divergence(state.epoch, facts)
                if self._options.until is not None and compiling.now() >= self._options.until:
                    state.stopped = True
                facts |= self._validate(state, represent)
                state.history.append({"epoch": state.epoch, **facts})
                task.advance(1, **facts)
                self._checkpoint.save(state, now=state.stopped)
        self._checkpoint.save(state, now=True)
        if state.best:
            state.arrays = state.best
        self._model.history_ = state.history
        self._model.epochs_ = state.best_epoch or state.epoch
        return state

    def _refuse_divergence(self, epoch: int, facts: dict[str, float]) -> None:
        if not np.isfinite(list(facts.values())).all():
            ways = ("learning_rate", "negatives", "block_size")
            smaller = [name for name in ways if name in type(self._config).model_fields]
            raise XorecError(
                f"{self._name} diverged in epoch {epoch}: take a smaller "
                f"{' or '.join(smaller) or 'number of epochs'}."
            )

    def _validate(
        self, state: TrainingState, represent: Callable[[Arrays], Representation]
    ) -> dict[str, float]:
        """The validation metric if due; keeps the best epoch and decides to stop."""
        every = self._config.validate_every
        last = state.stopped or state.epoch == self._config.epochs
        if self._validation is None or (state.epoch % every and not last):
            return {}
        here = replace(self._options, engine=None)  # few users
        value = validation_ndcg(represent(state.arrays), self._train, self._validation, here)
        if value > state.best_value:
            state.best_value, state.best_epoch = value, state.epoch
            state.best = {name: array.copy() for name, array in state.arrays.items()}
        elif state.epoch - state.best_epoch >= self._config.patience * every:
            state.stopped = True
        return {f"validation_{_METRIC}": value}


def validation_ndcg(
    representation: Representation,
    train: Interactions,
    validation: Interactions,
    options: RunOptions,
) -> float:
    """NDCG@20 on a validation part, without a progress bar."""
    from xorec.evaluation.protocol import evaluate

    quiet = replace(options, progress=SILENT)
    return evaluate(representation, train, validation, ks=(20,), options=quiet)[_METRIC]


def validation_sample(validation: Interactions, seed: int) -> Interactions:
    """At most 5,000 of the validation users, chosen by a seeded hash of their row."""
    users = np.flatnonzero(validation.user_counts)
    if len(users) <= _VALIDATION_USERS:
        return validation
    chosen = users[np.argsort(hash_integers(users, seed), kind="stable")[:_VALIDATION_USERS]]
    keep = np.zeros(validation.n_users, dtype=np.bool_)
    keep[chosen] = True
    return validation.select(keep[validation.user_rows])


def fingerprint(
    model: Learner, train: Interactions, validation: Interactions | None, options: RunOptions
) -> str:
    """A digest of what a checkpoint and the run that resumes from it must share."""
    parts = (
        model.name,
        model.config.model_dump_json(),
        train.digest(),
        "" if validation is None else validation.digest(),
        str(options.seed),
    )
    return hashlib.blake2b("\n".join(parts).encode(), digest_size=16).hexdigest()
