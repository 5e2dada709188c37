"""How codes rank: with an offset for popularity, a shortlist, or float users."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import xorec
from xorec.core.bits import pack_signs, unpack_signs
from xorec.core.errors import OptionError
from xorec.core.options import RunOptions
from xorec.core.threads import ThreadPool
from xorec.data.datasets.catalog import load_data
from xorec.data.interactions import Interactions
from xorec.data.split import split
from xorec.evaluation.protocol import evaluate
from xorec.models.base import fit_with_validation
from xorec.models.siml.dsiml import DSIML
from xorec.models.siml.dsiml_ranking import (
    GRID,
    SIZES,
    choose_offset,
    popularity_offsets,
    refine_new_user,
    refine_users,
    with_popularity,
)
from xorec.models.siml.optimizers import Start
from xorec.models.siml.siml import SIML
from xorec.models.siml.siml_kernels import NO_TEACHER
from xorec.recommender.recommender import Recommender
from xorec.representations.base import Representation
from xorec.representations.codes import Codes
from xorec.representations.two_stage import Sources, TwoStage
from xorec.representations.vectors import Vectors
from xorec.testing.data import halves, planted
from xorec.testing.models import Notes, PersonalModelTests

QUICK: dict[str, Any] = {"bits": 32, "epochs": 5, "start": {"epochs": 20}}
SMALL = {"bits": 16, "optimizer": "none", "start": {"epochs": 2}}
OPTIONS = RunOptions(threads=1)
PARTS = split(planted(150, 100), validation=0.1)
TRAIN, TEST = halves(planted())


class TestTwoStages(PersonalModelTests):
    variant = True
    model = DSIML
    settings = {**QUICK, "shortlist": 50}  # noqa: RUF012


class TestInt8(PersonalModelTests):
    variant = True
    model = DSIML
    settings = {**QUICK, "shortlist": 50, "vector_dtype": "int8"}  # noqa: RUF012


class TestAsymmetricSecondStage(PersonalModelTests):
    variant = True
    model = DSIML
    settings = {**QUICK, "shortlist": 50, "asymmetric": True}  # noqa: RUF012
    fold_in_agreement = 0.85  # .476 of .534; without lists .426 of .442: new users have none


@dataclass(frozen=True)
class Debian:
    """The embedded data in two parts, and vectors of the first."""

    train: Interactions
    test: Interactions
    vectors: Vectors

    def fit(self, validation: Interactions | None, notes: Notes, **settings: Any) -> DSIML:
        given = (self.vectors.user_vectors, self.vectors.item_vectors)
        model = DSIML.from_vectors(*given, bits=32, optimizer="none", **settings)
        return model.fit(self.train, validation, RunOptions(progress=notes))

    def ndcg(self, ranks: Representation, users: Any = None) -> float:
        test = self.test if users is None else self.test.select(np.isin(self.test.user_rows, users))
        return evaluate(ranks, self.train, test, ks=(20,))["ndcg@20"]


@pytest.fixture(scope="module")
def debian() -> Debian:
    train, test = halves(load_data("debian"))
    vectors = SIML(epochs=10, dimensions=32).fit(train).representation_
    assert isinstance(vectors, Vectors)
    return Debian(train, test, vectors)


def test_the_codes_are_dsimls_and_the_vectors_simls() -> None:
    train = planted(120, 90)
    plain = DSIML(**QUICK).fit(train).representation_
    vectors = SIML(**QUICK["start"], popularity=0.0).fit(train).representation_.tensors()
    both = DSIML(**QUICK, shortlist=30, vector_dtype="float32").fit(train).representation_
    assert isinstance(plain, Codes)
    assert isinstance(both, TwoStage)
    assert both.sources.near == 30
    for name, tensor in {**plain.tensors(), **vectors}.items():
        np.testing.assert_array_equal(both.tensors()[name], tensor)


def test_asymmetric_keeps_no_item_vectors_and_ranks_like_float_users() -> None:
    settings = {**QUICK, "asymmetric": True}
    every = DSIML(**settings, shortlist=200, vector_dtype="float32").fit(TRAIN).representation_
    assert "item_vectors" not in every.tensors()
    alone = DSIML(**settings).fit(TRAIN).representation_
    a, b = (evaluate(one, TRAIN, TEST, ks=(10,)) for one in (every, alone))
    assert a.metrics == b.metrics


@pytest.mark.exhaustive
def test_auto_takes_the_smallest_that_keeps_the_order_of_the_vectors(debian: Debian) -> None:
    notes = Notes()
    model = debian.fit(debian.test, notes, shortlist="auto")
    both = model.representation_
    assert isinstance(both, TwoStage)
    assert both.float_vectors is not None
    users = np.flatnonzero(debian.test.user_counts)
    users = users[:: -(-len(users) // 5_000)]
    best = debian.ndcg(both.float_vectors, users)
    enough = [n for n in SIZES if debian.ndcg(both.with_sources(Sources(n)), users) >= 0.99 * best]
    assert both.sources.near == model.shortlist_ == min(enough)
    assert both.sources.near > min(SIZES)  # or the test says little
    assert any(f"a shortlist of {both.sources.near} (validation" in text for text in notes.said)


def test_the_chosen_size_survives_the_fit_on_all_pairs() -> None:
    train, validation = halves(planted(150, 120))
    final = fit_with_validation(DSIML(**QUICK, shortlist="auto"), train, validation)
    assert final.config.shortlist == 50
    assert isinstance(final.representation_, TwoStage)
    assert final.representation_.sources.near == 50
    alone = DSIML(**QUICK, shortlist="auto").fit(train)
    assert isinstance(alone.representation_, TwoStage)
    assert alone.representation_.sources.near == 200


@pytest.mark.parametrize("size", [-1, "some", 2.5, True])
def test_what_is_no_size_is_refused(size: object) -> None:
    with pytest.raises(OptionError, match=r"shortlist is .*: input should be .*, or auto"):
        DSIML(shortlist=size)


@pytest.mark.exhaustive
def test_the_second_stage_is_worth_its_bytes(debian: Debian) -> None:
    both = debian.fit(None, Notes(), shortlist=50).representation_
    assert isinstance(both, TwoStage)
    found = {size: debian.ndcg(both.with_sources(Sources(size))) for size in (50, 200)}
    assert found[50] > 1.1 * debian.ndcg(both.codes)
    assert found[200] > 1.02 * found[50]


@pytest.mark.parametrize("asymmetric", [False, True])
@pytest.mark.parametrize("keep", ["float32", "int8"])
def test_update_makes_new_rows_and_leaves_the_others(keep: str, asymmetric: bool) -> None:
    train = planted(200, 120)
    model = DSIML(**QUICK, shortlist=40, vector_dtype=keep, asymmetric=asymmetric).fit(train)
    old = Recommender.from_model(model, train)
    history = [train.items[int(i)] for i in train.of_user(4)]
    pairs = [(9_000, item) for item in history] + [(0, 77_777), (1, 77_777), (9_001, 77_777)]
    grown = old.update(Interactions.from_pairs(pairs))
    before, after = old.representation.tensors(), grown.representation.tensors()
    for name in before:
        if name.startswith("user_"):
            np.testing.assert_array_equal(after[name][2:200], before[name][2:])
            assert len(after[name]) == 202
        elif name.startswith("item_"):
            np.testing.assert_array_equal(after[name][:120], before[name])
            assert len(after[name]) == 121
    assert not set(history) & set(grown.recommend(9_000, 20).ids())
    assert 77_777 not in grown.recommend(0, 121).ids()
    if keep == "float32" and not asymmetric:  # there, new float users are their codes
        only = old.update(Interactions.from_pairs([(9_000, item) for item in history]))
        folded_in = old.recommend_for(history, 10).ids()  # by other passes of the same step
        assert len(set(only.recommend(9_000, 10).ids()) & set(folded_in)) >= 8
    assert len(grown.similar(77_777, 200)) == 120


def test_users_that_come_late_are_served_nearly_as_by_a_full_fit() -> None:
    train, test = halves(planted(200, 120))
    settings = {**QUICK, "shortlist": 40}
    first = train.select(train.user_rows < 100).compact()
    late = train.select(train.user_rows >= 100).compact()
    grown = Recommender.from_model(DSIML(**settings).fit(first), first).update(late)
    full = Recommender.from_model(DSIML(**settings).fit(train), train)

    def hits(recommender: Recommender) -> int:
        wanted = ({train.items[int(i)] for i in test.of_user(user)} for user in range(200))
        return sum(len(w & {*recommender.recommend(u, 10).ids()}) for u, w in enumerate(wanted))

    assert hits(grown) > 0.85 * hits(full)


def test_explained_by_score_and_bits(tmp_path: Path) -> None:
    train = planted(60, 40)
    shop = Recommender.from_model(DSIML(**QUICK, shortlist=20).fit(train), train)
    shop.save(tmp_path / "shop.xorec", index=True)
    shop = Recommender.load(tmp_path / "shop.xorec")
    both = shop.representation
    assert isinstance(both, TwoStage)
    for one in shop.recommend(7, 10).items:
        why = shop.explain(7, one.id)
        row = int(train.items.find(one.id))
        differ = np.bitwise_count(both.codes.user_codes[7] ^ both.codes.item_codes[row]).sum()
        assert (why.score, why.bits, why.distance) == (one.score, 32, int(differ))
        assert why.because
    history = [train.items[int(i)] for i in train.of_user(3)]
    assert np.isfinite(shop.explain_for(history, train.items[5]).score)


def test_offsets_grow_with_the_logarithm_of_the_count() -> None:
    counts = np.array([0, 1, 3, 7, 1023, 10**9])
    assert popularity_offsets(1.0, counts).tolist() == [0, 1, 2, 3, 10, 15]
    assert not popularity_offsets(0.0, counts).any()


def test_validation_chooses_what_ranks_best() -> None:
    """Codes of noise: only the offset ranks."""
    train, validation = PARTS.train, PARTS.validation
    rng = np.random.default_rng(0)
    signs = (rng.normal(size=(count, 20)) for count in (train.n_users, train.n_items))
    noise = Codes.from_signs(*signs)
    assert validation is not None
    values = {
        c: xorec.evaluate(with_popularity(noise, c, train), train, validation, ks=(20,))["ndcg@20"]
        for c in GRID
    }
    chosen = choose_offset(noise, train, validation, OPTIONS)
    assert chosen > 0
    assert values[chosen] == max(values.values())
    assert choose_offset(noise, train, None, OPTIONS) == 0.0


@pytest.mark.parametrize(("best", "chosen"), [(0.1009, 0.0), (0.1011, 0.5)])
def test_an_offset_must_be_worth_its_bits(
    monkeypatch: pytest.MonkeyPatch, best: float, chosen: float
) -> None:
    answers = {c: {"ndcg@20": best if c == 0.5 else 0.1} for c in GRID}
    planned = iter(GRID)
    monkeypatch.setattr(
        "xorec.evaluation.protocol.evaluate", lambda *_, **__: answers[next(planned)]
    )
    signs = (np.ones((count, 20)) for count in (PARTS.train.n_users, PARTS.train.n_items))
    codes = Codes.from_signs(*signs)
    assert choose_offset(codes, PARTS.train, PARTS.validation, OPTIONS) == chosen


def test_what_was_chosen_is_kept_for_the_refit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("xorec.models.siml.dsiml_ranking.choose_offset", lambda *_: 0.75)
    model = xorec.DSIML(**SMALL, offset="auto")
    fitted = fit_with_validation(model, PARTS.train, PARTS.validation, OPTIONS)
    assert fitted.config.offset == 0.75
    codes = fitted.representation_
    assert isinstance(codes, Codes)
    assert PARTS.validation is not None
    both = PARTS.train.union(PARTS.validation, 1)
    np.testing.assert_array_equal(codes.item_offsets, popularity_offsets(0.75, both.item_counts))
    plain = xorec.DSIML(**SMALL, offset=0).fit(both, None, OPTIONS).representation_
    assert isinstance(plain, Codes)
    np.testing.assert_array_equal(plain.item_codes, codes.item_codes)
    assert plain.item_offsets is None


def test_new_items_have_the_offsets_of_items_of_like_count() -> None:
    data = planted(60, 40)
    model = xorec.DSIML(**SMALL, offset=1.0).fit(data, None, OPTIONS)
    shop = xorec.Recommender.from_model(model, data)
    pairs = [(user, 10**9) for user in list(data.users)[:20]]
    after = shop.update(xorec.read(pairs)).representation
    assert isinstance(after, Codes)
    assert isinstance(shop.representation, Codes)
    before = shop.representation.item_offsets
    assert after.item_offsets is not None
    np.testing.assert_array_equal(after.item_offsets[:-1], before)
    assert abs(int(after.item_offsets[-1]) - np.log2(21)) <= 1


@pytest.mark.parametrize("more", [{"shortlist": 10}, {"asymmetric": True}])
def test_offsets_are_for_codes_alone(more: dict[str, object]) -> None:
    with pytest.raises(OptionError, match="offset is for codes alone"):
        xorec.DSIML(offset=0.5, **more)
    with pytest.raises(OptionError, match=r"offset is -1: .* equal to 0, or auto"):
        xorec.DSIML(offset=-1)


def test_where_codes_are_not_alone_auto_is_none() -> None:
    model = xorec.DSIML(**SMALL, asymmetric=True)
    fitted = fit_with_validation(model, PARTS.train, PARTS.validation, OPTIONS)
    assert isinstance(fitted.representation_, Codes)
    assert (fitted.config.offset, fitted.representation_.item_offsets) == (0.0, None)


def noisy_users() -> tuple[DSIML, Start]:
    """Codes of items as they are learned, and users from anywhere."""
    model = DSIML(bits=32, optimizer="none", start={"epochs": 10}).fit(TRAIN, None, OPTIONS)
    codes = model.representation_
    assert isinstance(codes, Codes)
    items = unpack_signs(codes.item_codes, 32).astype(np.float32)
    users = np.random.default_rng(0).standard_normal((TRAIN.n_users, 32), dtype=np.float32)
    return model, Start(users, items, TRAIN, NO_TEACHER)


def test_float_users_from_anywhere_come_to_their_items_which_stay() -> None:
    model, begin = noisy_users()
    items = begin.items.copy()
    with ThreadPool(1) as pool:
        users = refine_users(begin.users, begin.items, model.config, begin, 0, pool)
    np.testing.assert_array_equal(items, begin.items)
    np.testing.assert_allclose(np.linalg.norm(users, axis=1), 1, rtol=1e-5)
    after, before = (
        evaluate(Codes(pack_signs(rows), pack_signs(items), 32, rows), TRAIN, TEST, ks=(10,))
        for rows in (users, begin.users)
    )
    assert after["ndcg@10"] > 2 * before["ndcg@10"]


def test_a_user_who_has_every_item_has_no_negatives() -> None:
    model, begin = noisy_users()
    direction = begin.items.sum(axis=0, keepdims=True)
    everything = np.arange(TRAIN.n_items)
    vector = refine_new_user(direction, everything, pack_signs(begin.items), model.config)
    assert np.isfinite(vector).all()
