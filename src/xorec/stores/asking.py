"""Asking a store: the list that `Recommender.recommend` gives, from what an export has."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from xorec.core.arrays import positive_int
from xorec.core.errors import OptionError, UnknownIdError
from xorec.core.printable import quoted
from xorec.data.ids import Ids
from xorec.data.text import Text
from xorec.recommender.results import Recommendations, Recommended
from xorec.representations.single_query import agreement

if TYPE_CHECKING:
    from xorec.stores.base import Store


def recommend(store: Store, user: Hashable, k: int, *, seen: bool = False) -> Recommendations:
    """The `k` best items for a user of an export, without what they have unless `seen`."""
    about, k = store.about, positive_int(k)
    row, key = find_user(store, user)
    if about.ranking == "lists":
        return Recommendations(user, _listed(store, row, k, seen))
    if about.ranking == "two-stage":
        from xorec.stores.two_stage import best_of_two_stages

        return Recommendations(user, best_of_two_stages(store, row, key, k, seen=seen))
    found = store.nearest(key, k, seen=seen)
    ids = decode_ids(about.item_kind, [one.item_id for one in found])
    distances = np.array([one.distance for one in found], dtype=np.int64)
    scores = agreement(distances, about.bits).tolist()
    return Recommendations(
        user,
        tuple(
            Recommended(raw, one.name, score, one.distance)
            for raw, one, score in zip(ids, found, scores, strict=True)
        ),
    )


def find_user(store: Store, user: Hashable) -> tuple[int, int | str]:
    """The row of a user, and the id as its column has it."""
    about = store.about
    if not about.user_kind:
        raise OptionError(
            f"{store.address} has items and no users: export the model again with --users."
        )
    ids = no_ids(about.user_kind)
    key = ids.stored(user)
    rows = [] if key is None else store.fetch("users", ["user_row"], "user_id", [key])["user_row"]
    if len(rows) == 0 or key is None:
        hint = "" if key is not None else f" Ids there are {ids.type_name}."
        raise UnknownIdError(
            f"user {quoted(user)} is not in {store.address}: export a model that has them.{hint}"
        )
    return int(rows[0]), key


def no_ids(kind: str) -> Ids:
    """Ids of a kind, none of them: for their codec."""
    if kind == "int64":
        return Ids(kind, np.zeros(0, dtype=np.int64))
    return Ids(kind, Text.pack([]))


def decode_ids(kind: str, stored: Sequence[Any]) -> list[Any]:
    """Raw ids of what their column has.

    >>> decode_ids("date", ["2024-02-29"]), decode_ids("int64", [7])
    ([datetime.date(2024, 2, 29)], [7])
    """
    if kind == "int64":
        return [int(one) for one in stored]
    return Ids(kind, Text.pack(stored)).take(range(len(stored)))


def items_at(store: Store, rows: Sequence[int], *columns: str) -> dict[str, Any]:
    """The items at `rows`, in the order of rows: item_row, raw ids, names, and other columns."""
    about = store.about
    wanted = ["item_row", "item_id", *(["name"] if about.names else []), *columns]
    found = dict(store.fetch("items", wanted, "item_row", rows))
    found["item_id"] = decode_ids(about.item_kind, found["item_id"])
    return {"name": [None] * len(found["item_id"]), **found}


def _listed(store: Store, user_row: int, k: int, seen: bool) -> tuple[Recommended, ...]:
    """The first k of the list that was exported."""
    about = store.about
    if k > about.lists:
        raise OptionError(
            f"k is {k}, but {store.address} has lists of {about.lists}, and {about.model} cannot "
            f"be ranked there: export it again with --lists {k}."
        )
    if seen:
        raise OptionError(
            f"{store.address} has lists without the items that users have: leave --seen out."
        )
    rows = store.fetch("lists", ["rank", "item_row", "score"], "user_row", [user_row])
    order = np.argsort(np.asarray(rows["rank"]), kind="stable")[:k]
    places = np.asarray(rows["item_row"])[order].tolist()
    items = items_at(store, places)
    at = {row: place for place, row in enumerate(np.asarray(items["item_row"]).tolist())}
    scores = np.asarray(rows["score"])[order].tolist()
    return tuple(
        Recommended(items["item_id"][at[row]], items["name"][at[row]], score)
        for row, score in zip(places, scores, strict=True)
    )
