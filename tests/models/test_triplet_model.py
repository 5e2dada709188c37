"""What a model hands to its passes: the seed, the epoch, the negatives that are set."""

from __future__ import annotations

from typing import Any

import pytest

from xorec.core.options import RunOptions
from xorec.models import model_class
from xorec.models.factorization.bpr import BPR
from xorec.models.graph.lightgcn import Encoder, start_arrays
from xorec.testing.data import planted
from xorec.training.passes import Pass

DATA = planted(60, 40)
MODULES = {
    "bpr": "xorec.models.triplet_model",
    "siml": "xorec.models.triplet_model",
    "cml": "xorec.models.triplet_model",
    "phd": "xorec.models.triplet_model",
    "lightgcn": "xorec.models.graph.lightgcn",
    "siml-gcn": "xorec.models.graph.lightgcn",
}


@pytest.mark.parametrize("name", MODULES)
def test_every_pass_has_the_seed_its_epoch_and_the_negatives_that_are_set(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    passes: list[Pass] = []

    def spy(*how: Any, **more: Any) -> Pass:
        passes.append(Pass(*how, **more))
        return passes[-1]

    monkeypatch.setattr(f"{MODULES[name]}.Pass", spy)
    model = model_class(name)(epochs=3, negatives=4)
    model.fit(DATA, options=RunOptions(seed=7, threads=1))
    assert [(one.seed, one.epoch, one.negatives) for one in passes] == [
        (7, epoch, 4) for epoch in range(3)
    ]


def test_steps_shrink_from_epoch_to_epoch() -> None:
    steps = [BPR(learning_rate=0.6, decay=0.5).config.step(epoch) for epoch in range(3)]
    assert [step.rate for step in steps] == pytest.approx([0.6, 0.4, 0.3])


@pytest.mark.parametrize(("name", "reg"), [("lightgcn", 1 / 1200), ("siml-gcn", 1.0)])
def test_the_graphs_optimiser_has_the_rate_of_the_epoch_and_the_reg_that_is_set(
    name: str, reg: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    """LightGCN's loss is a mean over the pairs of a batch, here all 1,200; SIML-GCN's a sum."""
    told: list[tuple[float, float]] = []
    learn = Encoder.learn

    def spy(self: Encoder, rate: float, shrink: float) -> None:
        told.append((rate, shrink))
        learn(self, rate, shrink)

    monkeypatch.setattr(Encoder, "learn", spy)
    settings = {"epochs": 3, "learning_rate": 0.06, "decay": 0.5, "reg": 0.02}
    model_class(name)(**settings).fit(DATA, options=RunOptions(threads=1))
    assert [rate for rate, _ in told] == pytest.approx([0.06, 0.04, 0.03])
    assert [shrink for _, shrink in told] == pytest.approx([0.02 * reg] * 3)


def test_adam_counts_its_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[Any] = []

    def spy(*how: Any) -> Any:
        seen.append(start_arrays(*how))
        return seen[-1]

    monkeypatch.setattr("xorec.models.graph.lightgcn.start_arrays", spy)
    model_class("lightgcn")(epochs=3, batch_size=300).fit(DATA)
    assert seen[0]["steps"][0] == 3 * 4
