"""A race: the better half goes on, the answer is the same for any threads, users race for all."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from xorec.core.kernels import compiling
from xorec.core.options import RunOptions
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.models.factorization.bpr import BPR
from xorec.models.siml import siml_race
from xorec.models.siml.siml_race import RaceTrack, race
from xorec.testing.data import halves, planted
from xorec.testing.models import Notes
from xorec.training import passes

TRAIN, VALIDATION = halves(planted(200, 90))
OPTIONS = RunOptions(seed=3)


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
