from __future__ import annotations

import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xorec
from xorec.core.errors import OptionError
from xorec.core.options import RunOptions
from xorec.core.progress import Progress
from xorec.data.split import hold_out
from xorec.selection.model_specs import ModelSpec
from xorec.selection.race import race as module
from xorec.selection.race.fit import fit_best
from xorec.selection.race.limits import Budget, Target
from xorec.selection.race.proposals import next_recipe
from xorec.selection.race.race import RaceResult, race
from xorec.selection.race.trial import RaceTrial, run_trial
from xorec.testing.data import halves, planted

Parts = tuple[xorec.Interactions, xorec.Interactions]
DATA = planted(150, 80)


def trial(spec: ModelSpec, value: float, **more: Any) -> RaceTrial:
    refit = {"start": {"model": "siml", "epochs": 7}} if spec.name == "blend" else {}
    return RaceTrial(spec.name, dict(spec.settings), value, 1.0, refit=refit, **more)


def played(value_of: Any, trials: int, n_items: int = 100_000) -> list[RaceTrial]:
    """A race whose values are made up."""
    done: list[RaceTrial] = []
    while len(done) < trials:
        spec = next_recipe(done, Budget(trials=trials), n_items, Target())
        if spec is None:
            break
        done.append(trial(spec, value_of(spec)))
    return done


PLANTED = {"l2": 50.0, "growth": 0.3, "user_exponent": 0.5, "neighbours": 140}


def planted_value(spec: ModelSpec) -> float:
    """Item weights are best at PLANTED, and fall off with the distance of each setting."""
    if spec.name == "popularity":
        return 0.01
    given = dict(spec.settings["slim"] if spec.name == "blend" else spec.settings)
    config = xorec.SLIM(**given).config
    loss = 0.02 * abs(math.log2(config.l2 / 50)) + 0.01 * abs(math.log2(config.neighbours / 140))
    loss += 0.1 * abs(config.growth - 0.3) + 0.1 * abs(config.user_exponent - 0.5)
    return 0.3 - loss


def test_steps_become_finer_around_the_best() -> None:
    """An optimum between the coarse steps of every setting is found to the finest step."""
    best = max(played(planted_value, 60), key=lambda one: one.value)
    assert best.value > 0.3 - 0.02 * 0.25 - 0.1 * (0.05 + 0.05)
    assert best.settings["l2"] in (40.0, 57.0)
    assert best.settings["neighbours"] == 140
    few = max(played(planted_value, 12), key=lambda one: one.value)
    assert few.settings["l2"] == 40.0


def test_so_many_trials_are_so_many() -> None:
    """And none is tried twice: the vectors that a trial starts from make no other recipe."""
    for trials in range(1, 40):
        done = played(planted_value, trials)
        recipes = {one.label for one in done}
        assert len(done) == len(recipes) == trials


def test_the_last_trial_has_what_was_found_in_the_blend() -> None:
    for trials in (12, 24, 36):
        done = played(planted_value, trials)
        weights = max((one for one in done if one.model == "slim"), key=lambda one: one.value)
        assert any(
            one.model == "blend" and one.settings["slim"] == weights.settings for one in done
        )


def test_a_value_is_tried_once_as_long_as_there_are_new_ones() -> None:
    """Each trial of the first levels brings a value that its setting did not have before."""
    names = ("l2", "neighbours", "growth", "user_exponent", "item_exponent")
    done: list[set[tuple[str, float]]] = []
    for one in played(planted_value, 18):
        if one.model == "slim":
            config = xorec.SLIM(**one.settings).config
            values = {(name, getattr(config, name)) for name in names}
            assert not done or values - set().union(*done)
            done.append(values)


def test_near_the_end_of_the_minutes_nothing_begins_but_a_blend() -> None:
    now = 0.0
    timed = Budget(minutes=1, clock=lambda: now)
    done = played(planted_value, 6)
    assert {one.model for one in done} == {"popularity", "slim", "blend"}
    now = 45.0
    spec = next_recipe(done, timed, 100_000, Target())
    assert spec is None or spec.name == "blend"
    now = 30.0
    spec = next_recipe(done, timed, 100_000, Target())
    assert spec is not None
    assert spec.name == "slim"


def test_what_is_tried_whatever_the_values() -> None:
    """A blend however small the budget; all weights where items are few."""

    def models(trials: int, n_items: int = 100_000) -> set[str]:
        return {one.model for one in played(lambda spec: 0.1, trials, n_items)}

    assert all("blend" in models(trials) for trials in (3, 4, 8))
    assert "ease" in models(12, 900)
    assert "ease" not in models(12)


def test_targets() -> None:
    small = RaceTrial("dsiml", {}, 0.2, 1.0, bytes_per_item=8, us_per_query=10)
    large = RaceTrial("blend", {}, 0.3, 1.0, bytes_per_item=300, us_per_query=100)
    assert Target().best([small, large]) is large
    near = RaceTrial("slim", {}, 0.2995, 1.0, bytes_per_item=200, us_per_query=50)
    assert Target().best([small, large, near]) is near  # three in a thousand decide nothing
    assert Target.parse("bytes=16").best([small, large]) is small
    assert Target.parse("us=50").best([small, large]) is small
    assert Target.parse("us=5").best([small, large]) is small
    as_fast = RaceTrial("slim", {}, 0.25, 1.0, bytes_per_item=90, us_per_query=11)
    assert Target.parse("us=5").best([small, large, as_fast]) is as_fast
    with pytest.raises(OptionError, match="give ndcg"):
        Target.parse({"bytes": 16})  # type: ignore[arg-type]
    for wrong in ("bytes", "bytes=0", "bytes=x", "ndgc", "us=-1", "ndcg=3", "us=inf"):
        with pytest.raises(OptionError, match="give ndcg, bytes=16 or us=50"):
            Target.parse(wrong)
    first = RaceTrial("slim", {"l2": 5.0}, 0.2956, 1.0, bytes_per_item=188)
    better = RaceTrial("slim", {"l2": 9.0}, 0.2963, 1.0, bytes_per_item=188)
    assert Target().best([first, better]) is Target().best([better, first]) is better
    few = [next_recipe([], Budget(trials=9), 10, Target.parse("bytes=16"))]
    assert few == [ModelSpec("popularity")]


def test_the_verdict_says_why_a_smaller_one_was_taken() -> None:
    """It does not call the best what is a little below it."""
    large = RaceTrial("blend", {}, 0.3, 1.0, bytes_per_item=300)
    small = RaceTrial("slim", {}, 0.2995, 1.0, bytes_per_item=200)
    worse = RaceTrial("popularity", {}, 0.1, 1.0, bytes_per_item=4)
    found = RaceResult([worse, large, small], small, Target())
    assert found.why() == "slim: the smallest within 0.3 % of the best lists, of 3 trials"
    won = RaceResult([worse, large, small], large, Target())
    assert won.why() == "blend: the best lists of 3 trials, 0.2 % above the best slim"
    limited = RaceResult([worse, large, small], small, Target.parse("bytes=250"))
    assert limited.why().startswith("slim: the best lists in at most 250 bytes an item of 3")


def test_the_best_others_and_the_baseline_are_shown() -> None:
    worst = RaceTrial("popularity", {}, 0.1, 1.0)
    tried = [RaceTrial("slim", {"l2": float(one)}, 0.2 + one / 100, 1.0) for one in range(1, 8)]
    failed = RaceTrial("ease", {}, 0.0, 1.0, note="too large.")
    found = RaceResult([worst, *tried, failed], tried[6], Target())
    assert found.others(2) == [tried[5], tried[4], worst]
    assert found.others(9) == [*tried[5::-1], worst]


def made_up(monkeypatch: pytest.MonkeyPatch, *values: tuple[float, str, int]) -> None:
    """Trials have these values, notes and bytes, one after the other."""
    given = iter(values)

    def run(spec: ModelSpec, *arguments: Any) -> RaceTrial:
        value, note, size = next(given)
        return trial(spec, value, note=note, bytes_per_item=size)

    monkeypatch.setattr(module, "run_trial", run)


def test_a_line_for_each_new_best_and_for_what_failed(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    notes = list[str]()

    class Told(Progress):
        def note(self, message: str) -> None:
            notes.append(message.split()[-1])

    values = ((0.1, "", 9), (0.3, "", 9), (0.2, "", 9), (0.0, "too large.", 0), (0.4, "", 9))
    made_up(monkeypatch, *values)
    found = race(*parts, budget=Budget(trials=5), options=RunOptions(progress=Told()))
    assert notes == ["0.1000", "0.3000", "large.", "0.4000"]
    assert found.winner.value == 0.4


@pytest.mark.parametrize(("size", "offset"), [(16, 0.0), (17, None)])
def test_codes_race_where_few_bytes_are_asked_for(size: int, offset: float | None) -> None:
    """Items have offsets where there is a byte for them."""
    done: list[RaceTrial] = []
    target = Target.parse(f"bytes={size}")
    for _ in range(6):
        spec = next_recipe(done, Budget(trials=6), 10, target)
        assert spec is not None
        done.append(trial(spec, 0.1))
    codes = [one for one in done if one.model == "dsiml"]
    assert [one.settings["bits"] for one in codes] == [128]
    assert codes[0].settings.get("offset") == offset


@pytest.mark.parametrize("size", [8, 16])
def test_codes_of_as_many_bits_as_fit_do_fit(size: int) -> None:
    """Their file has some bytes more than those of the codes; users are none of an item's."""
    train, held = halves(DATA)
    spec = ModelSpec(
        "dsiml", {"bits": 8 * size, "offset": 0, "optimizer": "none", "start": {"epochs": 1}}
    )
    done = run_trial(spec, train, held, RunOptions())
    assert Target.parse(f"bytes={size}").fits(done)
    assert done.bytes_per_item == size


def test_an_update_keeps_what_raced() -> None:
    shop = xorec.fit(DATA, trials=2)
    after = shop.update([(shop.user_ids[0], shop.item_ids[0]), (10_000, shop.item_ids[1])])
    assert after.metadata["race"] == shop.metadata["race"]


def test_budget() -> None:
    assert Budget(trials=4).spent(2) == 0.5
    assert Budget(trials=4).until(0.5) is None
    now = 0.0
    timed = Budget(minutes=2, clock=lambda: now)
    now = 60.0
    assert timed.spent(99) == 0.5
    assert timed.until(0.6) == 72.0
    for wrong in ({"minutes": 0}, {"minutes": float("nan")}, {"trials": 0}):
        with pytest.raises(OptionError):
            Budget(**wrong)
    assert Budget.for_pairs(400).minutes == 0.75
    assert Budget.for_pairs(1_000_000).minutes == 5


@pytest.fixture(scope="module")
def parts() -> Parts:
    return halves(DATA)


def test_equal_trials_give_equal_races(parts: Parts) -> None:
    first, second = (
        race(*parts, budget=Budget(trials=2), options=RunOptions(threads=threads))
        for threads in (1, 2)
    )
    assert [(a.label, a.value) for a in first.trials] == [(b.label, b.value) for b in second.trials]
    assert [one.model for one in first.trials] == ["popularity", "slim"]
    assert first.winner.value >= 0.997 * max(one.value for one in first.trials)


def test_a_race_goes_on_where_it_was_stopped(
    parts: Parts, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    options = RunOptions(checkpoint=tmp_path / "c", resume=True)
    race(*parts, budget=Budget(trials=1), options=options)
    ran = []

    def counted(spec: ModelSpec, *arguments: Any) -> RaceTrial:
        ran.append(spec.name)
        return trial(spec, 0.5)

    monkeypatch.setattr(module, "run_trial", counted)
    found = race(*parts, budget=Budget(trials=2), options=options)
    assert ran == ["slim"]
    assert [one.model for one in found.trials] == ["popularity", "slim"]
    ran.clear()
    other = replace(options, seed=5)
    race(*parts, budget=Budget(trials=2), options=other)
    assert ran == ["popularity", "slim"]


def test_a_recipe_that_fails_does_not_end_the_race(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(self: Any, *arguments: Any) -> Any:
        raise xorec.XorecError("too large for this machine.")

    monkeypatch.setattr(xorec.SLIM, "_learn", fails)
    found = race(*parts, budget=Budget(trials=2), options=RunOptions())
    assert found.trials[1].note == "too large for this machine."
    assert found.winner.model == "popularity"


def test_a_recipe_that_failed_does_not_win_where_nothing_fits(
    parts: Parts, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It takes no bytes: there is nothing of it."""
    made_up(monkeypatch, (0.1, "", 300), (0.0, "too large.", 0), (0.2, "", 900))
    budget, target = Budget(trials=3), Target.parse("bytes=16")
    found = race(*parts, budget=budget, target=target, options=RunOptions())
    assert (found.winner.value, found.winner.bytes_per_item) == (0.1, 300)


def test_too_few_to_judge_by_are_fitted_without_a_race() -> None:
    """Users without validation pairs are none to judge by."""
    train = planted(60, 40)
    few = train.select(train.user_rows < 2)
    assert few.n_users == 60
    assert fit_best(train, few, budget=Budget(trials=1))[1] is None
    data = xorec.read([("ann", "tea"), ("ann", "milk"), ("bob", "tea")])
    model, found = fit_best(data, None)
    assert (model.name, found) == ("slim", None)
    assert xorec.fit([("ann", "tea")]).recommend("ann").ids() == []


def test_the_file_says_what_raced() -> None:
    shop = xorec.fit(DATA, trials=2)
    rows = shop.metadata["race"]["rows"]
    assert [row["model"] for row in rows] == ["popularity", "slim"]
    assert shop.metadata["race"]["why"].startswith("slim")
    kept = shop.metadata["validation"]
    assert (kept["metric"], kept["value"]) == ("ndcg@10", rows[1]["validation_ndcg@10"])
    assert kept["interval"][0] <= kept["value"] <= kept["interval"][1]
    parts = hold_out(DATA, 0.1)
    assert kept["users"] == np.count_nonzero(parts.test.user_counts)
    assert kept["judged_on"] == f"{parts.test.n_pairs:,} pairs, drawn by chance"
