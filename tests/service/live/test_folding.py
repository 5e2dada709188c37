"""Letters without case and accents."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.support.references.finding import plain
from xorec.data.text import Text
from xorec.service.live.folding import fold, fold_all, folded_bytes

ANY_TEXT = st.text(st.characters(codec=None), max_size=20)


@given(ANY_TEXT)
@example("\u0130stanbul \u03a3\u03c3\u03c2 \ufb03 \u1e9e \u0345")
def test_character_by_character_is_the_whole_at_once(text: str) -> None:
    assert fold(text) == plain(text)
    assert b"\xff" not in folded_bytes(text)


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
    assert fold(written) == fold(typed)


@given(st.lists(st.text(max_size=12), max_size=12))
def test_all_at_once_is_one_by_one(texts: list[str]) -> None:
    folded = fold_all(Text.pack(texts))
    assert [folded.raw(row).lower() for row in range(len(texts))] == [
        folded_bytes(text) for text in texts
    ]
