"""Codes over HTTP: the bits that lists are searched with."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.planted_shop import DATA, item_knn
from tests.support.service_in_process import Served, served
from tests.support.two_stage import two_stage
from xorec.core.bits import unpack_signs
from xorec.lab.bench.serve_requests import drawn_recommender
from xorec.recommender.recommender import Recommender
from xorec.representations.codes import Codes, MaskedCodes
from xorec.representations.composed import ComposedCodes

SHOP = drawn_recommender(60, 20, bits=20)


@pytest.fixture
def ask(tmp_path: Path) -> Iterator[Served]:
    with served(SHOP, tmp_path) as ask:
        yield ask


def bits_of(code: str, bits: int) -> list[int]:
    """Bit 0 is the lowest bit of the first byte."""
    raw = bytes.fromhex(code)
    assert len(raw) == -(-bits // 8)
    return [raw[at // 8] >> at % 8 & 1 for at in range(bits)]


def stored(recommender: Recommender, side: str, row: int, bits: int) -> list[int]:
    words = recommender.representation.arrays()[f"{side}_codes"][row : row + 1]
    return [int(sign > 0) for sign in unpack_signs(words, bits)[0]]


def listed(ask: Served, **query: Any) -> list[tuple[Any, int]]:
    return [(one["id"], one["distance"]) for one in ask.get("recommend", k=60, **query)["items"]]


def test_distances_of_the_codes_are_those_of_the_list(ask: Served) -> None:
    ask.post("events", {"user": 3, "item": 7})
    for asked in ({"user": 2}, {"user": 3}, {"user": 2, "items": [5, 9]}, {"items": [5]}):
        best = listed(ask, **asked)
        found = ask.get("codes", of=[one for one, _ in best], **asked)
        assert found["bits"] == 20
        user = bits_of(found["user"], 20)
        for (item, distance), code in zip(best, found["items"], strict=True):
            assert code["id"] == item
            assert sum(np.array(user) != bits_of(code["code"], 20)) == distance
    assert ask.get("codes", user=2)["user"] != ask.get("codes", user=2, items=[5])["user"]
    found = ask.get("codes", user=2, of=[7, 0, 7])
    assert bits_of(found["user"], 20) == stored(SHOP, "user", 2, 20)
    assert [one["id"] for one in found["items"]] == [7, 0, 7]
    assert bits_of(found["items"][1]["code"], 20) == stored(SHOP, "item", 0, 20)


def test_what_has_no_code(ask: Served) -> None:
    found = ask.get("codes")
    assert (found["bits"], found["user"], found["items"]) == (20, None, [])
    assert ask.get("codes", user=10**6)["user"] is None
    ask.get("codes", of=[10**6])
    assert ask.status == 404
    ask.put("items", {"id": 10**6, "name": "cold"})
    assert ask.get("codes", of=[10**6, 3])["items"][0] == {"id": 10**6, "code": None}
    assert ask.get("codes", items=[10**6])["user"] is None
    assert "100" in ask.get("codes", user=2, seq=100)["detail"]
    assert ask.status == 422


def test_a_model_without_codes_says_so(tmp_path: Path) -> None:
    with served(item_knn(), tmp_path) as ask:
        item = DATA.items[3]
        found = ask.get("codes", user=DATA.users[0], of=[item])
        assert ask.status == 200
        assert (found["bits"], found["user"]) == (None, None)
        assert found["items"] == [{"id": item, "code": None}]


RNG = np.random.default_rng(0)
USERS, ITEMS = RNG.standard_normal((9, 20)), RNG.standard_normal((31, 20))
PLAIN = Codes.from_signs(USERS, ITEMS)
WEIGHTS = np.ones((9, 4), dtype=np.float32), np.ones((31, 4), dtype=np.float32)


@pytest.mark.parametrize(
    "learned",
    [
        PLAIN,
        Codes.from_signs(USERS, ITEMS, asymmetric=True),
        MaskedCodes(PLAIN.user_rows, PLAIN.item_rows, 20),
        ComposedCodes(PLAIN.user_rows, PLAIN.item_rows, *WEIGHTS, 20),
        two_stage(PLAIN, USERS, ITEMS, 5, "float32"),
    ],
    ids=lambda one: f"{one.kind}-{type(one.queries(np.arange(1))).__name__}",
)
def test_every_representation_with_codes_tells_them(learned: Any) -> None:
    every, users = np.arange(31), np.arange(9)
    np.testing.assert_array_equal(learned.codes_of(every), PLAIN.item_codes)
    found = [learned.query_code(learned.queries(users[row : row + 1])) for row in users]
    np.testing.assert_array_equal(found, PLAIN.user_codes)
