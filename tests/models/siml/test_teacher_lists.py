"""Teachers of the codes: whose items lists have, how they are drawn, that lessons are gradients."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from tests.support.steps import differences, take_step
from xorec.core.options import RunOptions
from xorec.data.datasets.catalog import load_data
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.data.tie_rank import tie_rank
from xorec.evaluation.protocol import evaluate
from xorec.models.baselines.slim import SLIM
from xorec.models.siml.dsiml import DSIML
from xorec.models.siml.siml import SIML, ScaleInvariantStep
from xorec.models.siml.siml_kernels import NO_LISTS, Lists, LossParams, Teacher
from xorec.models.siml.teacher_lists import slim_lists, with_lists
from xorec.testing.data import halves, planted
from xorec.training.config import AUTO
from xorec.training.discrete.rotation import unit_rows
from xorec.training.passes import Triplets
from xorec.training.rows import FREE, Rows

Doubles = npt.NDArray[np.float64]
WEIGHT, TAU = 0.7, 3.0
FILES = Path(__file__).parents[2] / "recommender" / "files"


def some_lists(n: int, m: int, width: int, seed: int = 0) -> Lists:
    """Random lists of users; the last has none."""
    rng = np.random.default_rng(seed)
    items = np.sort([rng.permutation(m)[:width] for _ in range(n)], axis=1).astype(np.int32)
    counts = rng.integers(1, width + 1, n).astype(np.int32)
    counts[-1] = 0
    return Lists(items, rng.uniform(1, 9, (n, width)).astype(np.float32), counts)


def test_a_list_has_the_best_unseen_items_by_slim_with_their_scores_as_logits() -> None:
    pairs = halves(planted(60, 40))[0]
    data = pairs.select(pairs.user_rows != 7)  # a user without pairs
    scores = SLIM().fit(data).representation_.scores(np.arange(60))
    lists = slim_lists(data, 12, RunOptions(threads=2))
    rank = tie_rank(data.items, data.item_counts)
    assert lists.counts[7] == 0
    for user in range(60):
        open_ = np.setdiff1d(np.flatnonzero(scores[user] > 0), data.of_user(user))
        best = open_[np.lexsort((rank[open_], -scores[user, open_]))][:12]
        count = lists.counts[user]
        assert lists.items[user, :count].tolist() == sorted(best.tolist())
        if count > 1:
            own = scores[user, np.sort(best)].astype(np.float64)
            logits = 1 + 8 * own / own.max()
            np.testing.assert_allclose(lists.logits[user, :count], logits, atol=1e-4)


def test_lists_do_not_outgrow_memory_or_the_catalogue(monkeypatch: pytest.MonkeyPatch) -> None:
    data = planted(60, 40)
    assert slim_lists(data, 1000, RunOptions()).items.shape == (60, 40)
    monkeypatch.setattr("xorec.models.siml.teacher_lists.MOST_LISTED", 60 * 3 + 1)
    assert slim_lists(data, 1000, RunOptions()).items.shape == (60, 3)


def test_half_of_the_negatives_come_from_the_list_the_others_as_ever() -> None:
    data = planted(30, 200)
    lists, plain = some_lists(30, 200, 6), Negatives.of(data, 0.5)
    sampler, listed = with_lists(plain, 9, lists)
    assert listed == 4
    users = np.repeat(np.arange(30, dtype=np.int32), data.user_counts)
    pairs = np.arange(data.n_pairs)
    out, others = (np.empty((data.n_pairs, count), np.int32) for count in (9, 5))
    sampler.draw(out, pairs, users, 3, 2)
    plain.draw(others, pairs, users, 3, 2)
    np.testing.assert_array_equal(out[:, :5], others)
    for user in range(30):
        drawn = set(out[users == user, 5:].ravel().tolist())
        known = set(lists.items[user, : lists.counts[user]].tolist()) or {-1}
        assert drawn == known  # some 40 draws of at most 6
    part = np.empty((7, 9), np.int32)
    sampler.draw(part, pairs[11:18], users[11:18], 3, 2)
    np.testing.assert_array_equal(part, out[11:18])
    for other in ((4, 2), (3, 1)):
        again = np.empty_like(out)
        sampler.draw(again, pairs, users, *other)
        assert (again[:, 5:] != out[:, 5:]).any()
    assert with_lists(plain, 1, lists) == (plain, 0)  # one negative cannot be halved


def softmax(logits: Doubles) -> Doubles:
    powers = np.exp(logits - logits.max())
    return np.asarray(powers / powers.sum())


@pytest.mark.parametrize("has_lists", [False, True])
@pytest.mark.parametrize("lessons", [[WEIGHT, 0.0, WEIGHT], []])
def test_the_lesson_is_a_gradient(lessons: list[float], has_lists: bool) -> None:
    """Users by central differences, items by the slope times the user; -1 is none.

    The vectors teach all candidates, the positive first; lists teach the negatives alone, of which
    the pairs do not see the last two.
    """
    rng = np.random.default_rng(1)
    n, m, d = 3, 18, 6
    owner, rows = np.arange(n, dtype=np.int32), np.arange(m, dtype=np.int32).reshape(n, 6)
    rows[1, 5] = -1
    lists = some_lists(n, m, 15, seed=4) if has_lists else NO_LISTS
    first, own = (1, 4) if has_lists else (0, 6)  # of those that are taught; of those of the pair
    users, items = (unit_rows(rng.standard_normal((count, d))) for count in (n, m))
    told = [unit_rows(rng.standard_normal((count, 5))) for count in (n, m)]
    teacher = Teacher(told[0], told[1], np.array(lessons, np.float32), np.float32(2 * TAU), lists)
    spent = 1e8  # so large that Adagrad divides every step by 1e4
    listed = 2 if has_lists else 0
    params = LossParams(1.0, 0.0, TAU, 0.0, True, FREE, rate=1e4, listed=listed)
    mine = Rows.of(users.copy(), np.full(n, spent, np.float32))
    theirs = Rows.of(items.copy(), np.full(m, spent, np.float32))
    triplets = Triplets(owner, rows[:, 0].copy(), rows[:, 1:].copy())
    step = ScaleInvariantStep(mine, theirs, params, teacher=teacher)
    result = take_step(step, triplets, 2)
    total = 0.0
    for u in range(n):
        known, weight = rows[u][rows[u] >= 0], lessons[u] if lessons else 0.0
        logits = np.array([2 * TAU * float(told[1][v] @ told[0][u]) for v in known[first:]])
        if has_lists:
            on_list = lists.items[u, : lists.counts[u]].tolist()
            logits += [lists.logits[u, on_list.index(v)] if v in on_list else 0 for v in known[1:]]
        p, candidates = softmax(logits), items[known].astype(np.float64)

        def loss_of(
            user: Doubles, candidates: Doubles = candidates, p: Doubles = p, weight: float = weight
        ) -> float:
            cosines = candidates @ user
            pairwise = np.log1p(np.exp((cosines[1:own] - cosines[0]) / 2)).sum()
            return float(pairwise - weight * p @ np.log(softmax(2 * TAU * cosines[first:])))

        user = users[u].astype(np.float64)
        total += loss_of(user)
        slopes = differences(loss_of, user, 1e-5)
        np.testing.assert_allclose(users[u] - mine.vectors[u], slopes, atol=1e-5)
        cosines = candidates @ user
        half = 0.5 / (1 + np.exp((cosines[0] - cosines[1:own]) / 2))
        at_items = np.zeros(len(known))
        at_items[: 1 + len(half)] = [-half.sum(), *half]
        at_items[first:] += weight * 2 * TAU * (softmax(2 * TAU * cosines[first:]) - p)
        moved = (items - theirs.vectors)[known]
        np.testing.assert_allclose(moved, np.outer(at_items, mine.vectors[u]), rtol=1e-5, atol=1e-5)
    assert step.loss(result.kept.losses) == pytest.approx(total, abs=1e-5)


def test_codes_that_learn_lists_are_better_and_the_same_for_any_number_of_threads() -> None:
    data = load_data("debian")
    train, test = halves(data.select(data.user_rows < 2000))
    vectors = SIML(epochs=5, alpha=0.5, temperature=2.5, negatives=20, form="npair", popularity=0)
    found = vectors.fit(train).representation_.tensors()
    start = (found["user_vectors"], found["item_vectors"])

    def codes(threads: int, **settings: Any) -> Any:
        model = DSIML.from_vectors(*start, bits=32, epochs=5, alpha=0.5, **settings)
        return model.fit(train, options=RunOptions(threads=threads)).representation_

    one, two, without = codes(1), codes(2), codes(2, teacher_list_length=0)
    for name, tensor in one.tensors().items():
        np.testing.assert_array_equal(tensor, two.tensors()[name])
    value, before = (evaluate(rows, train, test, ks=(20,))["ndcg@20"] for rows in (one, without))
    assert value > 1.05 * before


def turned(model: DSIML, train: Interactions) -> Any:
    rng = np.random.default_rng(0)
    users = rng.standard_normal((train.n_users, 8)).astype(np.float32)
    items = rng.standard_normal((train.n_items, 8)).astype(np.float32)
    return model._rotated(train, users, items, RunOptions())


def test_only_where_they_are_learned_from_are_lists_made() -> None:
    train = planted(40, 30)
    assert len(turned(DSIML(bits=8), train).teacher.lists.items) == 40
    without: list[dict[str, Any]] = [
        {"teacher_list_length": 0},
        {"distill_weight": 0.0},
        {"optimizer": "flip"},
    ]
    for settings in without:
        assert len(turned(DSIML(bits=8, **settings), train).teacher.lists.items) == 0


@pytest.mark.filterwarnings("ignore:old names of settings")
def test_a_file_from_before_there_were_lists_has_none() -> None:
    older = json.loads((FILES / "dsiml.json").read_text())["metadata"]["config"]
    assert "lists" not in older
    assert DSIML(**older).config.teacher_list_length == 0
    assert DSIML(bits=32, distill_weight=4.0, extra_positives=5).config.teacher_list_length == AUTO
    assert DSIML(**DSIML().config.model_dump()).config.teacher_list_length == AUTO


def test_the_temperature_falls_with_the_bits() -> None:
    """Where bits are drawn; for sweeps it is that of long codes."""
    assert DSIML(bits=20).config.resolved().temperature == pytest.approx(4 * (20 / 64) ** 0.25)
    assert DSIML(bits=20).config.loss_params().temperature < 3
    assert DSIML(bits=128).config.resolved().temperature == 4
    assert DSIML(bits=20, optimizer="flip").config.resolved().temperature == 4
    assert DSIML(bits=20, temperature=5.0).config.resolved().temperature == 5


def test_lists_end_where_nothing_stands_out(monkeypatch: pytest.MonkeyPatch) -> None:
    """By themselves: as long as the shortest, and on while scores have their share of the first."""
    data = planted(60, 40)
    monkeypatch.setattr("xorec.models.siml.teacher_lists.SHORTEST", 3)
    whole, cut = (slim_lists(data, count, RunOptions()) for count in (100, AUTO))
    lengths = set()
    for user in range(data.n_users):
        n, m = whole.counts[user], cut.counts[user]
        by_score = np.argsort(-whole.logits[user, :n], kind="stable")
        kept = np.isin(whole.items[user, :n], cut.items[user, :m])
        assert kept[by_score].tolist() == [True] * m + [False] * (n - m)  # the best m of them
        assert m >= min(3, n)
        lengths.add(int(m))
    assert len(lengths) > 2
    assert cut.counts.sum() < whole.counts.sum()


def test_best_items_take_the_place_of_the_teacher(monkeypatch: pytest.MonkeyPatch) -> None:
    """In a large catalogue short histories get best items; else all learn the vectors' order."""
    train, _ = halves(planted())
    rng = np.random.default_rng(0)
    users, items = (rng.standard_normal((rows, 8)) for rows in (train.n_users, train.n_items))
    model = DSIML.from_vectors(
        users,
        items,
        bits=int(np.median(train.user_counts)),
        distill_weight=2.5,
        teacher_list_length=0,
    )
    vectors = (users.astype(np.float32), items.astype(np.float32))
    lessons = model._rotated(train, *vectors, RunOptions(seed=0)).teacher.distill_weight
    np.testing.assert_array_equal(lessons, np.full(train.n_users, 2.5, np.float32))
    monkeypatch.setattr("xorec.models.siml.teacher_lists._ONE_IN", 1)
    begin = model._rotated(train, *vectors, RunOptions(seed=0))
    assert begin.pairs.n_pairs > train.n_pairs
    assert len(begin.teacher.distill_weight) == 0
