from __future__ import annotations

from dataclasses import replace
from functools import cache

import numpy as np
import pytest

from xorec.core.errors import DataError, OptionError
from xorec.data.interactions import TEST, TRAIN, VALIDATION, Interactions
from xorec.models.baselines.popularity import Popularity
from xorec.recommender.recommender import Recommender
from xorec.recommender.unseen import unseen_pairs

KNOWN = Interactions.from_pairs([("ann", "tea"), ("ann", "milk"), ("bob", "tea"), ("cy", "rye")])


@cache
def _shop() -> Recommender:
    return Recommender.from_model(Popularity().fit(KNOWN), KNOWN)


ROWS = [
    ("ann", "rye", TEST),
    ("ann", "tea", TEST),  # the model has it
    ("bob", "milk", VALIDATION),
    ("bob", "rye", TEST),
    ("cy", "tea", VALIDATION),
    ("cy", "milk", TRAIN),
    ("eve", "tea", TEST),  # nobody knows eve,
    ("ann", "yam", TEST),  # nor yams
    ("eve", "yam", TEST),
    ("eve", "rye", TEST),
]


def told(data: Interactions) -> set[tuple[object, object]]:
    rows = zip(data.user_rows, data.indices, strict=True)
    return {(data.users[int(u)], data.items[int(i)]) for u, i in rows}


def split_data() -> Interactions:
    data = Interactions.from_pairs([row[:2] for row in ROWS])
    part = {row[:2]: row[2] for row in ROWS}
    rows = zip(data.user_rows, data.indices, strict=True)
    parts = [part[str(data.users[int(u)]), str(data.items[int(i)])] for u, i in rows]
    return replace(data, parts=np.array(parts, dtype=np.int8))


@pytest.mark.parametrize(
    ("part", "expected"),
    [
        (None, {("ann", "rye"), ("bob", "rye")}),
        ("test", {("ann", "rye"), ("bob", "rye")}),
        ("validation", {("bob", "milk"), ("cy", "tea")}),
    ],
)
def test_the_part_that_is_asked_for_without_what_the_model_knows(
    part: str | None, expected: set[tuple[object, object]]
) -> None:
    train, test, notes = unseen_pairs(_shop(), split_data(), part)
    assert told(train) == told(KNOWN)
    assert told(test) == expected
    assert (test.users, test.items) == (_shop().user_ids, _shop().item_ids)
    left_out = ["4 pairs left out: their user", "1 pairs left out: the model"]
    assert [note[: len(text)] for note, text in zip(notes, left_out, strict=False)] == (
        left_out if part != "validation" else []
    )


def test_all_pairs_where_there_is_no_split() -> None:
    data = Interactions.from_pairs([row[:2] for row in ROWS])
    _, test, _ = unseen_pairs(_shop(), data)
    assert told(test) == {row[:2] for row in ROWS if row[0] != "eve" and row[1] != "yam"} - told(
        KNOWN
    )


def test_what_cannot_be_tested() -> None:
    with pytest.raises(OptionError, match="part is 'train'"):
        unseen_pairs(_shop(), split_data(), "train")
    with pytest.raises(DataError, match="no split column"):
        unseen_pairs(_shop(), KNOWN, "test")
    with pytest.raises(DataError, match=r"left: all 4 pairs are in the model already.*--test 0.2"):
        unseen_pairs(_shop(), KNOWN)
    more = Interactions.from_pairs([*told(KNOWN), ("stranger", "tea")])
    with pytest.raises(DataError, match=r"left: 1 pairs left out: .* the other 4 pairs are in"):
        unseen_pairs(_shop(), more)
