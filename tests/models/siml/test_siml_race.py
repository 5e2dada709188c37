"""Settings that are `auto`: a race decides, what is given stays, a refit does not race again."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xorec.core.errors import OptionError
from xorec.core.kernels import compiling
from xorec.core.options import RunOptions
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.models.base import DataUpdate, fit_with_validation
from xorec.models.factorization.bpr import BPR
from xorec.models.siml import siml_race
from xorec.models.siml.dsiml import DSIML
from xorec.models.siml.siml import DEFAULTS, SIML, popularity_bias
from xorec.models.siml.siml_race import RaceTrack, best_weight, candidates, race
from xorec.representations.vectors import Vectors
from xorec.testing.data import halves, planted
from xorec.testing.models import Notes
from xorec.training import passes

TRAIN, VALIDATION = halves(planted(200, 90))
OPTIONS = RunOptions(seed=3)
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
    here = track()
    rng = np.random.default_rng(0)
    users, items = (
        rng.standard_normal((n, 4)).astype(np.float32) / np.float32(50)
        for n in (TRAIN.n_users, TRAIN.n_items)
    )
    noise = Vectors(users, items)
    weight, value = best_weight(noise, here)
    assert weight > 0
    assert value > here.value(noise)


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


def bpr(rate: float) -> BPR:
    return BPR(dimensions=8, learning_rate=rate, block_size=400)


def track(options: RunOptions = OPTIONS) -> RaceTrack:
    found = RaceTrack.of(TRAIN, VALIDATION, options)
    assert found is not None
    return found


def test_the_better_half_goes_on_from_where_it_stands(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five candidates: 5 have one epoch, 3 a second, 2 a third and fourth."""
    run: list[tuple[float, int]] = []
    plain = BPR.run_epoch

    def counted(self: BPR, train: Interactions, seed: int, pool: ThreadPool) -> Any:
        epoch_of = plain(self, train, seed, pool)

        def one(epoch: int, arrays: Any) -> Any:
            run.append((self.config.learning_rate, epoch))
            return epoch_of(epoch, arrays)

        return one

    monkeypatch.setattr(BPR, "run_epoch", counted)
    rates = [0.001, 0.3, 0.002, 0.2, 0.003]
    here = track()
    winner = race([bpr(rate) for rate in rates], here, here.value)
    assert winner.model.config.learning_rate in (0.2, 0.3)
    assert winner.value == here.value(winner.learned)
    epochs = sorted(sum(one == rate for one, _ in run) for rate in rates)
    assert epochs == [1, 1, 2, 4, 4]
    assert len(set(run)) == len(run)


def test_a_tie_is_won_by_the_first() -> None:
    here = track()
    models = [bpr(rate) for rate in (0.1, 0.2, 0.3)]
    assert race(models, here, lambda learned: 1.0).model is models[0]


def test_threads_do_not_change_the_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(passes, "SHARE", 1)
    values = set()
    for threads in (1, 3):
        here = track(replace(OPTIONS, threads=threads))
        winner = race([bpr(rate) for rate in (0.1, 0.2, 0.3)], here, here.value)
        values.add((winner.model.config.learning_rate, winner.value))
    assert len(values) == 1


def test_without_a_validation_part_a_tenth_is_cut_off_by_time_where_there_are_times() -> None:
    plain = RaceTrack.of(TRAIN, None, OPTIONS)
    assert plain is not None
    cut = plain.judged_on.n_pairs
    assert cut == pytest.approx(TRAIN.n_pairs / 10, rel=0.05)
    assert plain.train.n_pairs + cut == TRAIN.n_pairs
    times = np.random.default_rng(0).permutation(TRAIN.n_pairs).astype(np.int64)
    timed = RaceTrack.of(replace(TRAIN, times=times), None, OPTIONS)
    assert timed is not None
    assert timed.judged_on.times is not None
    assert timed.judged_on.times.min() >= 0.89 * TRAIN.n_pairs


@pytest.mark.parametrize("pairs", [[(1, 1)], [(u, i) for u in range(40) for i in range(20)]])
def test_there_is_no_race_where_chance_would_decide(pairs: list[tuple[int, int]]) -> None:
    assert RaceTrack.of(Interactions.from_pairs(pairs), None, OPTIONS) is None


def test_where_there_are_many_pairs_some_users_race_for_all(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(siml_race, "_PAIRS", TRAIN.n_pairs // 2)
    found = [track(replace(OPTIONS, seed=seed)) for seed in (3, 3, 4)]
    assert [list(one.train.users) for one in found[:2]] == [list(found[0].train.users)] * 2
    assert list(found[2].train.users) != list(found[0].train.users)
    for one in found:
        assert 0.4 < one.train.n_pairs / TRAIN.n_pairs <= 0.5
        assert one.train.n_items == TRAIN.n_items
        for part, whole in ((one.train, TRAIN), (one.judged_on, VALIDATION)):
            for row, user in enumerate(part.users):
                np.testing.assert_array_equal(part.of_user(row), whole.of_user(user))


def test_it_is_shown_as_it_goes() -> None:
    class Shown(Notes):
        done = 0.0

        def _show(self, task: Any, steps: float) -> None:
            Shown.done = task.done
            assert (task.name, task.total) == ("bpr: settings", 9)

    here = track(replace(OPTIONS, progress=Shown()))
    race([bpr(rate) for rate in (0.1, 0.2, 0.3)], here, here.value)
    assert Shown.done == 9


def test_a_race_that_is_late_is_broken_off() -> None:
    """With no time at all only the first has run; with time enough nothing changes."""
    models = [bpr(rate) for rate in (0.001, 0.3)]
    now = compiling.now()
    late = track(replace(OPTIONS, until=now))
    assert race(models, late, late.value).model.config.learning_rate == 0.001
    early = track(replace(OPTIONS, until=now + 10_000))
    assert race(models, early, early.value).model.config.learning_rate == 0.3


def test_a_race_takes_a_quarter_of_the_time_at_most(monkeypatch: pytest.MonkeyPatch) -> None:
    """Of 100 seconds it is late after 25, whatever the candidates have reached by then."""
    clock = [1000.0]
    monkeypatch.setattr(compiling, "now", lambda: clock[0])
    here = track(replace(OPTIONS, until=1100.0))
    assert not here.is_late()
    clock[0] = 1024.9
    assert not here.is_late()
    clock[0] = 1025.0
    assert here.is_late()
