from __future__ import annotations

import time
from difflib import get_close_matches
from typing import Any

import pytest

from xorec.data import near_ids
from xorec.data.ids import Ids
from xorec.data.near_ids import NEIGHBOURS, near_id
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


def test_the_work_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    count = 1_000_000
    ids = Ids("str", Text.pack(f"item-{number:07}x" for number in range(count)))
    assert ids.find("item-0500000x") == 500_000  # makes the table
    compared: list[str] = []

    def counting(text: str, others: list[str], **more: Any) -> list[str]:
        compared.extend(others)
        return get_close_matches(text, others, **more)

    monkeypatch.setattr(near_ids, "get_close_matches", counting)
    began = time.perf_counter()
    assert near_id(ids, "item-0500000y") == "item-0500000x"
    assert time.perf_counter() - began < 0.1  # 0.2 ms on a quiet machine
    assert 0 < len(compared) <= 2 * NEIGHBOURS
