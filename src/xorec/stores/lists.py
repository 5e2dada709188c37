"""The list of a user from a store: the one that `Recommender.recommend` gives, id for id.

With two stages the store finds by code, and the few rows that matter are put in order here: the
items that one user's list can be made of (the nearest codes, what the user's items speak for, what
the user has) become a small catalogue, in which the search of a model file finds the same
candidates and gives them the same scores, to the bit.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import positive_int
from xorec.core.errors import OptionError, UnknownIdError
from xorec.core.printable import quoted
from xorec.data.ids import Ids
from xorec.data.text import Text
from xorec.recommender.results import Recommendations, Recommended
from xorec.representations.base import NO_SCALES
from xorec.representations.codes import Codes, hamming_scores
from xorec.representations.neighbours import Neighbours, Postings
from xorec.representations.ranking_vectors import QuantizedVectors, RankingVectors
from xorec.representations.two_stage import Sources, TwoStage
from xorec.stores.schema import schema_of

if TYPE_CHECKING:
    from xorec.stores.base import Rows, Store

Numbers = npt.NDArray[Any]


def recommend(store: Store, user: Hashable, k: int, *, seen: bool = False) -> Recommendations:
    """The `k` best items for a user of an export, without what they have unless `seen`."""
    about, k = store.about, positive_int(k)
    row, key = _find_user(store, user)
    if about.ranking == "lists":
        return Recommendations(user, _listed(store, row, k, seen))
    if about.ranking == "two-stage":
        return Recommendations(user, _best_of_two_stages(store, row, key, k, seen=seen))
    found = store.nearest(key, k, seen=seen)
    ids = decode_ids(about.item_kind, [one.item_id for one in found])
    distances = np.array([one.distance for one in found], dtype=np.int64)
    scores = hamming_scores(distances, about.bits).tolist()
    return Recommendations(
        user,
        tuple(
            Recommended(raw, one.name, score, one.distance)
            for raw, one, score in zip(ids, found, scores, strict=True)
        ),
    )


def _find_user(store: Store, user: Hashable) -> tuple[int, int | str]:
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


def _items_at(store: Store, rows: Sequence[int], *columns: str) -> dict[str, Any]:
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
    listed = np.asarray(rows["item_row"])[order]
    items = _items_at(store, listed.tolist())
    found = np.searchsorted(np.asarray(items["item_row"]), listed).tolist()
    scores = np.asarray(rows["score"])[order].tolist()
    return tuple(
        Recommended(items["item_id"][at], items["name"][at], score)
        for at, score in zip(found, scores, strict=True)
    )


def _best_of_two_stages(
    store: Store, user_row: int, user: int | str, k: int, *, seen: bool = False
) -> tuple[Recommended, ...]:
    """The k best items of a user; user: the id as its column has it."""
    from xorec.search.hamming.index import HammingIndex
    from xorec.search.two_stage import TwoStageIndex

    about, sources = store.about, Sources(*store.about.sources)
    near = store.nearest(user, max(sources.near, k), seen=seen)
    history = _fetch(store, "seen", "user_row", [user_row])
    own = history["item_row"].tolist()
    weights = _fetch(store, "item_weights", "item_row", own) if about.weights_keep else {}
    beside = _fetch(store, "item_neighbours", "item_row", own) if sources.neighbours else {}
    others = [*weights.get("other_row", ()), *beside.get("other_row", ())]
    rows = np.unique(np.array([*(one.item_row for one in near), *own, *others], dtype=np.int64))
    items = _items_at(store, rows.tolist(), "tie_rank", "code")
    learned = TwoStage(
        Codes(_of_user(store, "users", "code", user_row), items["code"], about.bits),
        _vectors(store, user_row, rows),
        _weights(history, weights, rows, about.weights_keep) if about.weights_keep else None,
        sources,
        about.blend,
    )
    tie_rank = np.argsort(np.argsort(items["tie_rank"])).astype(np.int32)
    hamming = HammingIndex.of(learned.codes, tie_rank, None, 1)
    index = TwoStageIndex(hamming, learned, _table(beside, rows, sources))
    hidden = np.searchsorted(rows, [] if seen else own)
    exclude = np.array([0, len(hidden)]), hidden.astype(np.int32)
    hits = index.search(learned.queries(np.zeros(1, dtype=np.int64)), k, exclude=exclude)
    return tuple(
        Recommended(items["item_id"][at], items["name"][at], score)
        for at, score in zip(*(part.tolist() for part in hits.row(0)), strict=True)
    )


def _fetch(store: Store, table: str, where: str, rows: list[int]) -> Rows:
    columns = [one.name for one in schema_of(store.about)[table].columns]
    return store.fetch(table, columns, where, rows)


def _of_user(store: Store, table: str, column: str, user_row: int) -> Any:
    return store.fetch(table, [column], "user_row", [user_row])[column]


def _vectors(store: Store, user_row: int, rows: Numbers) -> RankingVectors | None:
    """The vectors of one user and some items, in the numbers of the model file."""
    about = store.about
    if not about.dimensions:
        return None
    users = _of_user(store, "user_vectors", "vector", user_row)
    items = bias = None
    if about.keep:
        found = _fetch(store, "item_vectors", "item_row", rows.tolist())
        scales = found["scale"] if about.keep == "int8" else NO_SCALES
        items = QuantizedVectors(found["vector"].astype(about.keep), scales)
        bias = found["bias"] if about.bias else None
    return RankingVectors(QuantizedVectors(users, NO_SCALES), items, bias)


def _weights(history: Rows, weights: Rows, rows: Numbers, keep: str) -> Neighbours:
    """What the user's items say for others; the other items say nothing here."""
    from scipy.sparse import csr_array

    speakers = np.searchsorted(rows, weights["item_row"])
    indptr = np.concatenate([[0], np.cumsum(np.bincount(speakers, minlength=len(rows)))])
    scales = NO_SCALES
    if keep == "int8":
        scales = np.zeros(len(rows), dtype=np.float32)
        scales[speakers] = weights["scale"]
    spoken_for = np.asarray(np.searchsorted(rows, weights["other_row"]), dtype=np.int32)
    postings = Postings(indptr, spoken_for, weights["weight"].astype(keep), scales)
    own = np.asarray(np.searchsorted(rows, history["item_row"]), dtype=np.int32)
    counts = history.get("weight", np.ones(len(own), dtype=np.float32))
    has: Any = (counts, own, np.array([0, len(own)]))
    return Neighbours(postings, csr_array(has, shape=(1, len(rows))))


def _table(beside: Rows, rows: Numbers, sources: Sources) -> npt.NDArray[np.int32]:
    """The nearest items of each of the user's items, by their index in `rows`; of others any."""
    if not beside or not len(beside["item_row"]):
        return np.zeros((len(rows), 0), dtype=np.int32)
    width = int(beside["rank"].max())
    table = np.zeros((len(rows), width), dtype=np.int32)
    speakers = np.searchsorted(rows, beside["item_row"])
    table[speakers, beside["rank"] - 1] = np.searchsorted(rows, beside["other_row"])
    return table
