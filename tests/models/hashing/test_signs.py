"""Signs: the kit, the starts, and that turning loses less than signs alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest

from xorec.core.bits import pack_signs
from xorec.core.errors import OptionError
from xorec.core.options import RunOptions
from xorec.evaluation.protocol import evaluate
from xorec.models import model_class
from xorec.models.base import fit_with_validation
from xorec.models.hashing.signs import Signs
from xorec.models.pretraining import pretrain, vector_models
from xorec.models.siml.dsiml import DSIML
from xorec.representations.codes import Codes
from xorec.testing.data import halves, planted
from xorec.testing.models import PersonalModelTests

SHORT = {"epochs": 20, "dimensions": 16}


class TestSigns(PersonalModelTests):
    model = Signs
    settings: ClassVar[dict[str, Any]] = {"bits": 32, "start": {**SHORT, "model": "siml"}}


def test_without_turning_they_are_the_signs_of_the_vectors() -> None:
    data = planted(60, 40)
    vectors = model_class("bpr")(dimensions=16, epochs=5).fit(data).representation_.tensors()
    start = {"dimensions": 16, "epochs": 5}
    found = Signs(bits=16, turn="none", start=start).fit(data).representation_
    for side in ("user", "item"):
        expected = pack_signs(vectors[f"{side}_vectors"])
        np.testing.assert_array_equal(getattr(found, f"{side}_codes"), expected)


@pytest.mark.parametrize("name", vector_models())
def test_any_vector_model_can_be_the_start(name: str) -> None:
    train, test = halves(planted())
    small = {"cpr": {"epochs": 30, "batch_size": 500, "reg": 0.1}}
    own = {"model": name, **SHORT, **small.get(name, {})}
    ours = Signs(bits=32, start=own).fit(train).representation_
    rng = np.random.default_rng(0)
    chance = Codes.from_signs(*(rng.normal(size=(n, 32)) for n in (train.n_users, train.n_items)))
    ndcg = [evaluate(one, train, test, ks=(10,))["ndcg@10"] for one in (ours, chance)]
    assert ndcg[0] > 2 * ndcg[1]


def test_validation_finds_the_epochs_of_the_start() -> None:
    train, validation = halves(planted())
    model = Signs(bits=16, start={**SHORT, "validate_every": 5})
    final = fit_with_validation(model, train, validation)
    assert final.config.start.epochs == model.start_epochs_
    assert final.config.start.epochs in (5, 10, 15, 20)


def test_a_cache_learns_the_vectors_once_and_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    train, validation = halves(planted(120, 90))
    options = RunOptions(seed=3)
    cached = replace(options, cache=tmp_path / "starts")
    plain = Signs(bits=16, start=SHORT).fit(train, validation, options)
    first = Signs(bits=16, start=SHORT).fit(train, validation, cached)
    assert len(list((tmp_path / "starts").iterdir())) == 1

    def fail(*_: Any, **__: Any) -> None:
        raise AssertionError("the vectors were learned again")

    with monkeypatch.context() as patch:
        patch.setattr(model_class("bpr"), "fit", fail)
        again = Signs(bits=16, start=SHORT).fit(train, validation, cached)
        DSIML(bits=8, epochs=1, start={"model": "bpr", **SHORT}).fit(train, validation, cached)
        with pytest.raises(AssertionError, match="learned again"):
            pretrain(again.config.start, train, None, cached)
        patch.setattr("xorec.models.pretraining.source_digest", lambda: "another line of code")
        with pytest.raises(AssertionError, match="learned again"):
            pretrain(again.config.start, train, validation, cached)
    assert plain.refit_settings() == first.refit_settings() == again.refit_settings()
    for name, tensor in plain.representation_.tensors().items():
        for other in (first, again):
            np.testing.assert_array_equal(tensor, other.representation_.tensors()[name])


def test_a_cache_knows_seeds_settings_and_parts_apart(tmp_path: Path) -> None:
    """What one fit has left is never taken for another's."""
    train, validation = halves(planted(60, 40))
    starts = [Signs(start={**SHORT, "epochs": epochs}).config.start for epochs in (1, 2)]
    cases: list[tuple[Any, Any, Any, int]] = [
        (starts[0], train, None, 1),
        (starts[1], train, None, 1),
        (starts[0], train, validation, 1),
        (starts[0], train.union(validation), None, 1),
        (starts[0], train, None, 2),
    ]
    for _ in range(2):
        for start, one, other, seed in cases:
            options = RunOptions(seed=seed)
            plain = pretrain(start, one, other, options)
            kept = pretrain(start, one, other, replace(options, cache=tmp_path))
            np.testing.assert_array_equal(plain.user_vectors, kept.user_vectors)
            assert plain.epochs == kept.epochs
    assert len(list(tmp_path.iterdir())) == len(cases)


def test_vectors_of_one_seed_are_turned_by_the_seed() -> None:
    rows = np.random.default_rng(0).standard_normal((50, 16)).astype(np.float32)
    for turn in ("itq", "random"):
        model = Signs(bits=16, turn=turn)
        one, same, other = (model._turn(rows[:25], rows[25:], seed) for seed in (1, 1, 2))
        np.testing.assert_array_equal(one, same)
        assert np.abs(one - other).max() > 0.1


def test_bad_starts_are_named() -> None:
    with pytest.raises(OptionError, match="signs: start: its model must be als"):
        Signs(start={"model": "ease"})
    with pytest.raises(OptionError, match="signs: start: als has no setting 'wings'"):
        Signs(start={"model": "als", "wings": 2})
    with pytest.raises(OptionError, match="start: bpr: epochs is 0"):
        Signs(start={"epochs": 0})
    with pytest.raises(OptionError, match="start: it must be a table"):
        Signs(start="bpr")
    with pytest.raises(OptionError, match="cml ranks by distance"):
        DSIML(start={"model": "cml"}, shortlist=100)
