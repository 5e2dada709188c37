"""Settings that are `auto`: a race decides, what is given stays, a refit does not race again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xorec.core.errors import OptionError
from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.models.base import DataUpdate, fit_with_validation
from xorec.models.siml import siml_race
from xorec.models.siml.dsiml import DSIML
from xorec.models.siml.siml import DEFAULTS, SIML, popularity_bias
from xorec.models.siml.siml_race import RaceTrack, best_weight, candidates, race
from xorec.representations.vectors import Vectors
from xorec.testing.data import halves, planted
from xorec.testing.models import Notes

TRAIN, VALIDATION = halves(planted(200, 90))
TINY: dict[str, Any] = {"dimensions": 16, "epochs": 2}


def fail(*_: Any) -> None:
    raise AssertionError("it raced")


def test_what_is_given_stays_and_no_two_race_with_the_same() -> None:
    free = candidates(SIML().config)
    assert len(free) == len(siml_race.CANDIDATES)
    assert {name: free[0][name] for name in DEFAULTS} == {**DEFAULTS, "popularity": 0.0}
    held = candidates(SIML(alpha=0.3, negatives=7, form="npair").config)
    assert all((one["alpha"], one["negatives"]) == (0.3, 7) for one in held)
    assert len({one["temperature"] for one in held}) == len(held) < len(free)


def test_a_fit_settles_everything_and_says_so() -> None:
    notes = Notes()
    model = SIML(**TINY, alpha=0.5).fit(TRAIN, VALIDATION, RunOptions(progress=notes))
    assert model.config.alpha == 0.5
    assert model.config == model.config.resolved()
    assert any("siml: temperature" in said and "race" in said for said in notes.said)
    chosen = {name: value for name, value in model.refit_settings().items() if name in DEFAULTS}
    assert "auto" not in chosen.values()


def test_the_last_fit_takes_what_the_race_found(monkeypatch: pytest.MonkeyPatch) -> None:
    raced: list[Any] = []

    def counted(*how: Any) -> Any:
        raced.append(how)
        return race(*how)

    monkeypatch.setattr(siml_race, "race", counted)
    last = fit_with_validation(SIML(**TINY), TRAIN, VALIDATION)
    assert len(raced) == 1
    assert last.config == last.config.resolved()


def test_nothing_races_where_everything_is_given(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(siml_race, "race", fail)
    SIML(**TINY, **DEFAULTS).fit(TRAIN, VALIDATION)
    with pytest.raises(AssertionError, match="raced"):
        SIML(**TINY, **{**DEFAULTS, "alpha": "auto"}).fit(TRAIN, VALIDATION)


def test_a_second_fit_decides_anew() -> None:
    model = SIML(**TINY).fit(TRAIN, VALIDATION)
    few = Interactions.from_pairs([(1, 1), (1, 2), (2, 1)])
    model.fit(few)  # too few for a race
    assert {name: getattr(model.config, name) for name in DEFAULTS} == DEFAULTS


def test_a_run_that_was_stopped_after_its_race_does_not_race_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = RunOptions(seed=1, checkpoint=tmp_path / "m.checkpoint")
    whole = SIML(**TINY).fit(TRAIN, VALIDATION, options)
    monkeypatch.setattr(siml_race, "race", fail)
    again = SIML(**TINY).fit(TRAIN, VALIDATION, replace(options, resume=True))
    assert again.config == whole.config
    for other in (replace(options, seed=2, resume=True), options):
        with pytest.raises(AssertionError, match="raced"):
            SIML(**TINY).fit(TRAIN, VALIDATION, other)


def test_a_value_that_is_none_is_refused_in_one_line() -> None:
    with pytest.raises(OptionError, match=r"alpha is 3: .*less than or equal to 2, or auto\.$"):
        SIML(alpha=3)
    with pytest.raises(OptionError, match=r"negatives is 'many': .*or auto\.$"):
        SIML(negatives="many")


def test_popularity_is_a_bias_of_each_item_that_an_update_brings_up_to_date() -> None:
    model = SIML(**{**TINY, **DEFAULTS, "popularity": 0.3}).fit(TRAIN)
    bare = SIML(**{**TINY, **DEFAULTS, "popularity": 0.0}).fit(TRAIN)
    learned = model.representation_
    assert isinstance(learned, Vectors)
    np.testing.assert_array_equal(learned.item_vectors, bare.item_vectors)
    expected = 0.3 * np.log1p(np.bincount(TRAIN.indices, minlength=TRAIN.n_items))
    assert learned.item_bias is not None
    np.testing.assert_allclose(learned.item_bias, expected, rtol=1e-6)
    both = TRAIN.union(VALIDATION)
    users = np.arange(both.n_users)
    update = DataUpdate(both, users[:5], np.arange(3), TRAIN.user_counts)
    later = model.update(learned, update).representation_
    assert isinstance(later, Vectors)
    np.testing.assert_array_equal(later.item_bias, popularity_bias(both, 0.3))
    old = Vectors(learned.user_vectors, learned.item_vectors)  # of a file that had no bias
    assert SIML(dimensions=16).update(old, update).representation_.tensors().keys() == {
        *("user_vectors", "item_vectors")
    }


def test_the_weight_of_popularity_is_the_one_that_ranks_best() -> None:
    """Vectors that know nothing rank better by popularity."""
    track = RaceTrack.of(TRAIN, VALIDATION, RunOptions())
    assert track is not None
    rng = np.random.default_rng(0)
    users, items = (
        rng.standard_normal((n, 4)).astype(np.float32) / np.float32(50)
        for n in (TRAIN.n_users, TRAIN.n_items)
    )
    noise = Vectors(users, items)
    weight, value = best_weight(noise, track)
    assert weight > 0
    assert value > track.value(noise)


def test_codes_start_from_vectors_that_raced_without_popularity() -> None:
    model = DSIML(bits=16, epochs=1, start=TINY).fit(TRAIN, VALIDATION)
    start = model.config.start
    assert start.popularity == 0
    assert "auto" not in start.model_dump().values()
    assert model.refit_settings()["start"]["alpha"] == start.alpha == 2 * model.config.alpha
    alone = DSIML(teacher_list_length=0, start={"alpha": 0.5}).config.resolved()
    assert alone.alpha == alone.start.alpha
    assert DSIML(alpha=0.2).config.resolved().alpha == 0.2
    assert DSIML(start={"model": "als"}).config.resolved().alpha == 0
    with pytest.raises(OptionError, match="popularity"):
        DSIML(start={"popularity": 0.1})
