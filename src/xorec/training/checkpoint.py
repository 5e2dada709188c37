"""Checkpoints: the arrays of a running fit in one safetensors file, so that it can be resumed."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.errors import XorecError
from xorec.core.files import save_tensors

Arrays = dict[str, npt.NDArray[Any]]


@dataclass
class TrainingState:
    """All that a fit by epochs needs to go on: a run that resumes ends in the same bytes.

    arrays: what the next epoch starts from; best: the arrays of the best epoch so far, if any.
    """

    arrays: Arrays
    epoch: int = 0
    best: Arrays = field(default_factory=dict)
    best_epoch: int = 0
    best_value: float = -1.0
    history: list[dict[str, float]] = field(default_factory=list)
    stopped: bool = False


class Checkpoint:
    """A state on disk. `fingerprint` says which run it belongs to (model, settings, data, seed)."""

    def __init__(self, path: Path, fingerprint: str) -> None:
        self.path, self.fingerprint = path, fingerprint
        self._last_end, self._last_cost = -np.inf, 0.0

    def load_into(self, state: TrainingState) -> bool:
        """Take up the stored state; False if there is none. Another run's file is refused."""
        if not self.path.exists():
            return False
        tensors, progress = _read(self.path)
        if progress.pop("fingerprint") != self.fingerprint:
            raise XorecError(
                f"{self.path} belongs to another run (other data, model, settings or seed): "
                "delete it, or run without --resume to start anew."
            )
        for name in state.arrays:
            state.arrays[name] = tensors[f"arrays.{name}"]
            if f"best.{name}" in tensors:
                state.best[name] = tensors[f"best.{name}"]
        for name, value in progress.items():
            setattr(state, name, value)
        return True

    def save(self, state: TrainingState, *, now: bool = False) -> None:
        """Write the state, unless the last write was so recent that writing would slow the run."""
        begin = time.monotonic()
        if not now and begin - self._last_end < 20 * self._last_cost:
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
            f"{path} is not a checkpoint that can be read ({error}): delete it and start anew."
        ) from None
