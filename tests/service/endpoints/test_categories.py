"""Categories over HTTP, and where items stand by popularity."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.service_in_process import Served, served
from xorec.testing.examples import shop, shop_with_categories


def counts(ask: Served, **query: Any) -> list[tuple[str, int]]:
    return [(one["name"], one["count"]) for one in ask.get("categories", **query)["categories"]]


def test_counts_follow_what_is_said_of_items(tmp_path: Path) -> None:
    with served(shop_with_categories(), tmp_path) as ask:
        assert counts(ask) == [("drinks", 2), ("white", 2)]  # equal counts: by name
        ask.put("items", {"id": "rice", "categories": ["food", "food", "white"]})
        ask.put("items", {"id": "rum", "categories": ["drinks"]})  # no model has it
        assert counts(ask) == [("drinks", 3), ("white", 2), ("food", 1)]
        assert counts(ask, k=1) == [("drinks", 3)]
        ask.patch("items", {"id": "tea", "hidden": True})  # says nothing of categories
        assert counts(ask, k=1) == [("drinks", 3)]
        ask.delete("items", item="milk")
        assert counts(ask) == [("drinks", 2), ("food", 1), ("white", 1)]
        ask.patch("items", {"id": "tea", "categories": []})
        ask.delete("items", item="rum")
        assert counts(ask) == [("food", 1), ("white", 1)]


def test_without_categories_there_are_none(tmp_path: Path) -> None:
    with served(shop(), tmp_path) as ask:
        assert counts(ask) == []
        ask.put("items", {"id": "tea", "categories": ["drinks"]})
        assert counts(ask) == [("drinks", 1)]


def test_rank_is_the_place_by_popularity(tmp_path: Path) -> None:
    with served(shop(), tmp_path) as ask:
        ranks = {item: ask.get("items", item=item)["items"][0]["rank"] for item in shop().item_ids}
        popular = [one["id"] for one in ask.get("popular", k=3)["items"]]
        assert sorted(ranks, key=lambda item: ranks[item]) == popular
        assert sorted(ranks.values()) == [1, 2, 3]
        ask.put("items", {"id": "rum"})
        assert ask.get("items", item="rum")["items"][0]["rank"] is None
