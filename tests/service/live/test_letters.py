"""LetterIndex against loops over strings."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.references.finding import how, plain
from xorec.data.text import Text
from xorec.service.live.folding import fold_all, folded_bytes
from xorec.service.live.letters import LetterIndex

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
    ids, names = (fold_all(Text.pack([one[side] for one in entries])) for side in (0, 1))
    index = LetterIndex(ids, names, np.array(order, dtype=np.int64))
    for entry in skipped:
        index.skip(entry)
    expected = []
    for place, row in enumerate(order):
        kind = how(map(plain, entries[row]), letters) if letters else 1
        if kind is not None and place not in skipped:
            expected.append((kind, place))
    assert index.search(folded_bytes(letters), k) == sorted(expected)[:k]


def test_letters_everywhere_in_a_long_text() -> None:
    """Whatever stands on the border of a word of the machine, or of eight of them."""
    for before in range(140):
        names = Text.pack(["a" * before + "needle", "x" * before + " needle", "", "y" * 200])
        index = LetterIndex(Text.pack(["1", "2", "3", "needl"]), names)
        kind = 1 if before == 0 else 3
        assert index.search(b"needle", 5) == sorted([(2, 1), (kind, 0)])
        assert index.search(b"needles", 5) == []


def test_letters_longer_than_all_texts() -> None:
    """Nothing is read that is not there; `NUMBA_BOUNDSCHECK=1` would say so."""
    index = LetterIndex(Text.pack(["ab" * 40, "b"]), Text.pack(["a" * 70, "ba" * 9]))
    for size in (1, 8, 9, 64, 100, 1000, 10_000):
        assert index.search(b"b" * size, 3) == ([(1, 1), (3, 0)] if size == 1 else [])
        assert len(index.search(b"a" * size, 3)) == (2 if size == 1 else size <= 70)
        assert index.search(b"c" * size + b"ba", 3) == index.search(b"ba" + b"c" * size, 3) == []


def test_nothing_in_it() -> None:
    empty = LetterIndex(Text.pack([]))
    assert empty.search(b"a", 3) == empty.search(b"", 3) == []
    blank = LetterIndex(Text.pack([""]), Text.pack([""]))
    assert blank.search(b"a", 3) == []
    assert blank.search(b"", 3) == [(1, 0)]
