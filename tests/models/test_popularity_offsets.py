from __future__ import annotations

import numpy as np
import pytest

import xorec
from xorec.core.errors import OptionError
from xorec.core.options import RunOptions
from xorec.data.split import split
from xorec.models.base import fit_with_validation
from xorec.models.siml.dsiml_ranking import GRID, choose_offset, popularity_offsets, with_popularity
from xorec.representations.codes import Codes
from xorec.testing.data import planted

OPTIONS = RunOptions(threads=1)
PARTS = split(planted(150, 100), validation=0.1)
SMALL = {"bits": 16, "optimizer": "none", "start": {"epochs": 2}}


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
