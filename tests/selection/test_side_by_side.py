"""Models that are fitted as tasks are those that are fitted one after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from xorec.core.errors import XorecError
from xorec.core.options import RunOptions
from xorec.data.split import split
from xorec.models.base import Model
from xorec.models.factorization.bpr import BPR
from xorec.models.siml.dsiml import DSIML
from xorec.models.siml.siml import SIML
from xorec.selection.comparison import Parts, compare_models, fitted, vectors_learned_once
from xorec.testing.data import planted
from xorec.testing.engines import InProcess

PARTS = split(planted(80, 60), test=0.2, validation=0.2)
HERE = RunOptions(threads=1, seed=3)
ELSEWHERE = replace(HERE, engine=InProcess(2))


def test_all_that_was_learned_comes_back() -> None:
    models: list[Model[Any]] = [BPR(epochs=3), DSIML(bits=16, epochs=2, start={"epochs": 2})]
    parts = Parts(PARTS.train, PARTS.validation)
    one, other = (list(fitted(models, parts, options)) for options in (HERE, ELSEWHERE))
    for here, there in zip(one, other, strict=True):
        assert there.model.config == here.model.config
        assert there.model.refit_settings() == here.model.refit_settings()
        assert there.model.history_ == here.model.history_
        assert there.model.item_ids == here.model.item_ids
        assert there.seconds > 0
        mine, theirs = (fit.model.representation_.tensors() for fit in (here, there))
        assert mine.keys() == theirs.keys()
        for name in mine:
            np.testing.assert_array_equal(mine[name], theirs[name])


def test_vectors_that_several_start_from_are_learned_once(monkeypatch: pytest.MonkeyPatch) -> None:
    learned, learn = list[Any](), SIML._learn

    def counted(*arguments: Any) -> Any:
        learned.append(arguments)
        return learn(*arguments)

    monkeypatch.setattr(SIML, "_learn", counted)
    how: dict[str, Any] = {"settings": {"dsiml": {"start": {"epochs": 2, "dimensions": 16}}}}
    with vectors_learned_once(replace(ELSEWHERE, engine=InProcess(1))) as options:
        compare_models(
            replace(PARTS, validation=None),
            ["dsiml:epochs=1", "dsiml:epochs=2"],
            **how,
            bits=(16,),
            options=options,
        )
    assert len(learned) == 1


def test_a_fit_that_fails_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    def fails(*_: Any) -> Any:
        raise XorecError("bpr diverged in epoch 3")

    monkeypatch.setattr(BPR, "_learn", fails)
    with pytest.raises(XorecError, match="diverged in epoch 3"):
        compare_models(PARTS, ["bpr"], options=ELSEWHERE)
