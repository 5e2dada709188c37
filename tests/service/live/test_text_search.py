"""Text search: normalized text, the column against loops over strings, and what came since."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from unittest import mock

import numpy as np
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

import xorec
from tests.support.references.finding import how, naive_find, plain
from xorec.data.ids import Ids
from xorec.data.text import Text
from xorec.recommender.recommender import Recommender
from xorec.representations.shared_scores import SharedScores
from xorec.service.live import state, text_search
from xorec.service.live.generations import Generation
from xorec.service.live.model import LiveModel
from xorec.service.live.state import ItemInfo
from xorec.service.live.state import SharedState as Since
from xorec.service.live.text_search import (
    SEPARATOR,
    TextColumn,
    find_ids,
    normalize_text,
    normalized_column,
)
from xorec.service.log.records import EventColumns, Id

ANY_TEXT = st.text(st.characters(codec=None), max_size=20)


@given(ANY_TEXT)
@example("\u0130stanbul \u03a3\u03c3\u03c2 \ufb03 \u1e9e \u0345")
def test_character_by_character_is_the_whole_at_once(text: str) -> None:
    assert plain(normalize_text(text)) == plain(text) or not text.isprintable()
    assert SEPARATOR not in normalize_text(text)
    normalize_text(text).encode()


@pytest.mark.parametrize(
    ("written", "typed"),
    [
        ("Crème Brûlée", "creme brulee"),
        ("ŁÓDŹ", "łodz"),
        ("Ｔｅａ", "tea"),  # noqa: RUF001
        ("l\u2019été", "l'ete"),
        ("a\u2013b", "a-b"),
        ("a\u00a0b", "a b"),
        ("soft\u00adhyphen", "softhyphen"),
        ("STRASSE", "straße"),
        ("ΣΊΣΥΦΟΣ", "σισυφος"),
        ("e\u0301", "é"),
    ],
)
def test_as_people_expect(written: str, typed: str) -> None:
    assert normalize_text(written) == normalize_text(typed)


@given(st.lists(st.text(max_size=12), max_size=12))
def test_all_at_once_is_one_by_one(texts: list[str]) -> None:
    column = normalized_column(Text.pack(texts), np.arange(len(texts)))
    assert column.to_list() == [normalize_text(text) for text in texts]


def column(*texts: list[str], rows: list[int]) -> TextColumn:
    return TextColumn(*(normalized_column(Text.pack(one), np.array(rows, int)) for one in texts))


FEW_LETTERS = st.text("ab -\u00e9", max_size=40)
ENTRIES = st.lists(st.tuples(FEW_LETTERS, FEW_LETTERS), max_size=30)


@settings(max_examples=300, deadline=None)
@given(ENTRIES, st.data(), st.integers(1, 12))
def test_what_is_found_is_what_loops_find(
    entries: list[tuple[str, str]], data: st.DataObject, k: int
) -> None:
    source = data.draw(
        st.sampled_from([FEW_LETTERS, *(st.just(x) for one in entries for x in one)])
    )
    text = data.draw(source)
    begin = data.draw(st.integers(0, len(text)))
    letters = plain(text[begin : begin + data.draw(st.integers(1, 20))])
    order = data.draw(st.permutations(range(len(entries))))
    skipped = data.draw(st.sets(st.sampled_from(order), max_size=5)) if order else set()
    index = column(*([one[side] for one in entries] for side in (0, 1)), rows=order)
    for entry in skipped:
        index.skip(entry)
    expected = []
    for place, row in enumerate(order):
        kind = how(map(plain, entries[row]), letters) if letters else 1
        if kind is not None and place not in skipped:
            expected.append((kind, place))
    with mock.patch.object(text_search, "_CHUNK", data.draw(st.sampled_from([4, 1000]))):
        assert index.search(normalize_text(letters), k) == sorted(expected)[:k]


def test_what_every_entry_has_inside_is_not_looked_at_for_ever(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(text_search, "_CHUNK", 10)
    monkeypatch.setattr(text_search, "_SURPLUS", 20)
    names = [*[""] * 99, "b --"]
    index = column([f"a-{n}" for n in range(100)], names, rows=[*range(100)])
    assert index.search("-", 5) == [(3, n) for n in range(5)]
    assert index.search("-9", 2) == [(3, 9), (3, 90)]


HOSTILE = ["\0", "\ud800", "\U0001f375", "\u0301", " ", "\t\n", "x" * 256, "%", "'; --", "\uffff"]
NAMES = st.text("abAB \u00e9\u0301-1\U0001f375", min_size=1, max_size=6)
LETTERS = st.one_of(NAMES, st.sampled_from(["", *HOSTILE]))


def live_model(users: Ids, items: Ids, names: list[str] | None, since: Since) -> LiveModel:
    """The n-th item is the n-th by popularity, and so are the users by the number of items."""
    n, m = len(users), len(items)
    counts = np.minimum(np.arange(n, 0, -1), m)
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    indices = np.concatenate([np.arange(0), *(np.arange(one) for one in counts)]).astype(np.int32)
    recommender = Recommender(
        SharedScores(np.zeros(m, dtype=np.float32), n),
        user_ids=users,
        item_ids=items,
        seen=(indptr, indices),
        item_counts=np.bincount(indices, minlength=m),
        tie_rank=np.arange(m, dtype=np.int32),
        names=None if names is None else Text.pack(names),
    )
    about = Generation(1, Path("x"), "", 0, 0, "import", n, m, 0, "popularity")
    return LiveModel("default", about, recommender, since)


def info(since: Since, item: Id, **said: Any) -> None:
    since.catalogue.apply({"id": item, **ItemInfo(**said).to_dict()})


class Expected:
    """Items as they are to be found: those of the model, then the others as they came."""

    def __init__(self, items: list[Id], names: list[str]) -> None:
        self.learned = dict(zip(items, names, strict=True))
        self.rank: dict[Id, int] = {item: place for place, item in enumerate(items)}
        self.names: dict[Id, str | None] = dict(self.learned)

    def put(self, item: Id, name: str | None) -> None:
        self.rank.setdefault(item, max(self.rank.values(), default=0) + 1)
        self.names[item] = name if name is not None else self.learned.get(item)

    def delete(self, item: Id) -> None:
        self.names.pop(item, None)
        if item not in self.learned:
            self.rank.pop(item, None)

    def find(self, letters: str, k: int) -> list[Id]:
        order = sorted(self.names, key=lambda item: self.rank[item])
        return naive_find([(item, self.names[item]) for item in order], letters, k)


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["name", "hide", "delete", "cold"]),
        st.one_of(NAMES, st.integers(0, 7)),
        NAMES,
        LETTERS,
    ),
    max_size=12,
)


@settings(max_examples=150, deadline=None)
@given(st.lists(st.tuples(NAMES, NAMES), unique_by=lambda one: one[0], max_size=8), STEPS, LETTERS)
def test_items_are_found_as_loops_find_them(
    items: list[tuple[str, str]], steps: list[tuple[str, str | int, str, str]], letters: str
) -> None:
    since = Since()
    ids, names = [one for one, _ in items], [name for _, name in items]
    live = live_model(Ids.of(["ann"]), Ids.of(ids), names, since)
    expected = Expected(list(ids), names)
    assert find_ids(live, "item", letters, 5) == expected.find(letters, 5)
    for what, whom, name, asked in steps:
        item = (ids[whom % len(ids)] if ids else "?") if isinstance(whom, int) else whom
        if what == "name":
            info(since, item, name=name)
            expected.put(item, name)
        elif what == "hide":
            info(since, item, hidden=True)  # and says nothing of its name
            expected.put(item, None)
        elif what == "delete":
            info(since, item, deleted=True)
            expected.delete(item)
        elif item not in ids and since.catalogue.get(item) is None:
            since.cold.setdefault(item, 1)
            expected.put(item, None)
        for k in (1, 5, 100):
            assert find_ids(live, "item", asked, k) == expected.find(asked, k)


@settings(max_examples=100, deadline=None)
@given(
    st.lists(st.integers(-50, 1200), unique=True, max_size=12),
    st.lists(
        st.tuples(st.sampled_from(["event", "erase"]), st.integers(-50, 1200), st.integers(0, 11)),
        max_size=12,
    ),
    st.sampled_from(["1", "11", "-", "-4", "0", "", " 12 ", "9" * 30, "\u0661"]),
)
def test_users_are_found_as_loops_find_them(
    users: list[int], steps: list[tuple[str, int, int]], letters: str
) -> None:
    since = Since()
    live = live_model(Ids("int64", np.array(users, dtype=np.int64)), Ids.of(["tea"]), None, since)
    there = list(users)
    for seq, (what, number, place) in enumerate([("event", 0, 0), *steps], 1):
        user = users[place % len(users)] if users and place < 9 else number
        if what == "event":
            since.recent.add(EventColumns([seq], [user], ["tea"], [1.0], [0]))
            if user not in there:
                there.append(user)
        else:
            since.recent.forget(user)
            since.erased[user] = seq
            there = [one for one in there if one != user]
        for k in (1, 100):
            expected = naive_find([(one, None) for one in there], letters, k)
            if letters == "\u0661":  # an Arabic one is a one
                expected = [1] if 1 in there else []
                assert find_ids(live, "user", letters, k)[:1] == expected
            else:
                assert find_ids(live, "user", letters, k) == expected


def test_very_many_changes_are_all_taken_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(state, "_REMEMBERED", 20)
    since = Since()
    live = live_model(Ids.of(["ann"]), Ids.of([f"i{n}" for n in range(50)]), None, since)
    for n in range(200):
        info(since, f"i{n % 70}", name=f"round {n // 70} of {n % 70}")
        if n % 3 == 0:
            assert find_ids(live, "item", f"round {n // 70} of {n % 70}", 1) == [f"i{n % 70}"]
    assert len(find_ids(live, "item", "round", 100)) == 70
    live = live_model(Ids.of(["ann"]), Ids.of(["i1"]), None, since)
    assert len(find_ids(live, "item", "round", 100)) == 70
    for n in range(70):
        info(since, f"i{n}", name=f"last of {n}")
    assert len(find_ids(live, "item", "last of", 100)) == 70
    assert find_ids(live, "item", "round", 100) == []


@pytest.mark.parametrize("letters", HOSTILE)
def test_hostile_letters_are_letters(letters: str) -> None:
    since = Since()
    live = live_model(Ids.of(["ann", "bob"]), Ids.of(["tea", "jam"]), ["Tea", "Jam"], since)
    for kind in ("user", "item"):
        expected = ["ann", "bob"] if kind == "user" else ["tea", "jam"]
        found = find_ids(live, kind, letters, 3)
        assert found == ([] if letters.strip() else expected)
    info(since, "rum", name=f"a {letters} b")
    assert find_ids(live, "item", letters, 3)[-1:] == ([] if letters == "\u0301" else ["rum"])


def test_numbers_are_written_as_they_are() -> None:
    values = [0, -1, 7, 10**18, -(2**63), 2**63 - 1]
    column = normalized_column(Ids("int64", np.array(values)), np.arange(len(values)))
    assert column.to_list() == [str(value) for value in values]


def test_a_model_file_is_found_in(tmp_path: Path) -> None:
    """Arrays of a file are mapped and may not be written to."""
    data = xorec.read([("ann", "tea"), ("bob", "tea"), ("bob", "jam")])
    Recommender.from_model(xorec.Popularity().fit(data), data).save(tmp_path / "x")
    recommender = Recommender.load(tmp_path / "x")
    about = Generation(1, tmp_path, "", 0, 0, "import", 2, 2, 0, "popularity")
    live = LiveModel("default", about, recommender, Since())
    assert find_ids(live, "user", "B", 3) == ["bob"]
    assert find_ids(live, "item", "", 3) == ["tea", "jam"]
