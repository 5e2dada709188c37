from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from xorec.data import ids as near_ids
from xorec.data.ids import NEIGHBOURS, Ids, near_id
from xorec.data.text import Text


@pytest.mark.parametrize(
    ("raw", "meant"),
    [
        ("FLEX", "flex"),
        (" flex\n", "flex"),
        ("flexx", "flex"),
        ("bisn", "bison"),
        ("groff-bsae", "groff-base"),
        ("SKU 40", "SKU 40, large"),
        ("SKU 41", None),  # another number is another thing
        ("zzz", None),
        ("", None),
        ("\ud800", None),
        ("x" * 100_000, None),
        (7, None),
        (None, None),
        (("a", "b"), None),
    ],
)
def test_what_is_meant(raw: Any, meant: str | None) -> None:
    ids = Ids.sorted(["SKU 40, large", "bison", "flex", "groff-base", "n" * 5000])
    assert near_id(ids, raw) == meant


def test_numbers_are_meant_by_type_alone() -> None:
    assert near_id(Ids.of([4711, 4713]), "4711") == 4711
    assert near_id(Ids.of([4711, 4713]), 4712) is None
    assert near_id(Ids.of(["4711", "4713"]), "4712") is None


def test_no_ids_and_ids_without_order() -> None:
    assert near_id(Ids.of([]), "flex") is None
    assert near_id(Ids.of(["zoe", "amy", "bob"]), "BOB") == "bob"


@pytest.mark.parametrize("make", [lambda n: f"item-{n:07}x", lambda n: "a" * 50 + _letters(n)])
def test_the_work_is_bounded(make: Callable[[int], str], monkeypatch: pytest.MonkeyPatch) -> None:
    ids = Ids("str", Text.pack(make(number) for number in range(1_000_000)))
    assert ids.find(make(500_000)) == 500_000  # makes the table
    compared: list[str] = []
    looked_at: list[int] = []
    taken: list[int] = []

    def counting(one: str, other: str) -> bool:
        compared.append(one)
        return is_slip(one, other)

    def watched_raw(self: Text, row: int) -> bytes:
        looked_at.append(row)
        return raw(self, row)

    def watched_strings(self: Text, rows: Sequence[int]) -> list[str]:
        taken.extend(rows)
        return strings(self, rows)

    is_slip, raw, strings = near_ids._is_slip, Text.raw, Text.strings
    monkeypatch.setattr(near_ids, "_is_slip", counting)
    monkeypatch.setattr(Text, "raw", watched_raw)
    monkeypatch.setattr(Text, "strings", watched_strings)
    assert near_id(ids, f"{make(500_000)}y") == make(500_000)
    assert 0 < len(compared) <= 2 * NEIGHBOURS
    assert len(taken) <= 2 * NEIGHBOURS
    assert 0 < len(looked_at) <= 60  # halving finds a place among a million in 20


def _letters(number: int) -> str:
    return f"{number:07}".translate(str.maketrans("0123456789", "abcdefghij"))
