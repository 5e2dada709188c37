"""A fit as one task: what is lost with its process goes on from the checkpoint, or starts anew."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xorec.core.engine import Arrays, LocalEngine
from xorec.core.options import RunOptions
from xorec.models.factorization.bpr import BPR
from xorec.testing.data import planted
from xorec.training.epochs import Checkpoint, TrainingState

DATA = planted(60, 40, per_user=6)


class LostError(Exception):
    """An executor is gone."""


class Losing(LocalEngine):
    """Loses each task once, `after` so many checkpoints, and runs it anew as Spark would."""

    is_remote = True

    def __init__(self, after: int, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__(1)
        self.after, self.patch, self.starts = after, monkeypatch, list[int]()

    def map_blocks(self, function: Any, blocks: Any, shared: Any = (), /, **settings: Any) -> Any:
        saved, save = 0, Checkpoint.save
        starts = self.starts

        def dying(checkpoint: Checkpoint, state: TrainingState, *, now: bool = False) -> None:
            nonlocal saved
            save(checkpoint, state, now=True)
            saved += 1
            if saved == self.after:
                raise LostError

        load = Checkpoint.load_into

        def loading(checkpoint: Checkpoint, state: TrainingState) -> bool:
            found = load(checkpoint, state)
            starts.append(state.epoch)
            return found

        self.patch.setattr(Checkpoint, "load_into", loading)
        with self.patch.context() as patch:
            patch.setattr(Checkpoint, "save", dying)
            with pytest.raises(LostError):
                list(super().map_blocks(function, blocks, shared, **settings))
        return super().map_blocks(function, blocks, shared, **settings)


def vectors(model: BPR) -> Arrays:
    return model.representation_.tensors()


def test_a_lost_task_goes_on_from_its_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = vectors(BPR(epochs=6).fit(DATA, None, RunOptions(threads=1)))
    engine = Losing(4, monkeypatch)
    options = RunOptions(threads=1, engine=engine, checkpoint=tmp_path / "new" / "fit")
    found = vectors(BPR(epochs=6).fit(DATA, None, options))
    assert engine.starts == [0, 4]
    for name, array in whole.items():
        np.testing.assert_array_equal(found[name], array)
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["fit"]


def test_a_checkpoint_that_executors_do_not_see_is_not_used(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("xorec.models.base._sees", lambda path, token: False)

    class Elsewhere(LocalEngine):
        is_remote = True

    options = RunOptions(threads=1, engine=Elsewhere(1), checkpoint=tmp_path / "fit")
    BPR(epochs=2).fit(DATA, None, options)
    assert list(tmp_path.iterdir()) == []


def test_an_older_checkpoint_is_taken_up_only_when_asked(tmp_path: Path) -> None:
    class Elsewhere(LocalEngine):
        is_remote = True

    path = tmp_path / "fit"
    BPR(epochs=3).fit(DATA, None, RunOptions(threads=1, seed=9, checkpoint=path))
    options = RunOptions(threads=1, engine=Elsewhere(1), checkpoint=path)
    found = vectors(BPR(epochs=3).fit(DATA, None, options))  # that of another seed is in its way
    whole = vectors(BPR(epochs=3).fit(DATA, None, RunOptions(threads=1)))
    for name, array in whole.items():
        np.testing.assert_array_equal(found[name], array)
