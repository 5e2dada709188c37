"""Two stages from a store: it finds by code, the order is made here of the few rows that matter.

The items that one user's list can be made of (the nearest codes, what the user's items speak for,
what the user has) become a small catalogue of their own, in which the search that a model file is
asked by finds the same candidates and gives them the same scores, to the bit.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xorec.recommender.results import Recommended
from xorec.representations.codes import Codes
from xorec.representations.neighbours import Neighbours
from xorec.representations.postings import NO_SCALES, Postings
from xorec.representations.quantized import QuantizedVectors
from xorec.representations.ranking_vectors import RankingVectors
from xorec.representations.two_stage import Sources, TwoStage
from xorec.stores.asking import items_at

if TYPE_CHECKING:
    from xorec.stores.base import Rows, Store

Numbers = npt.NDArray[Any]


def best_of_two_stages(
    store: Store, user_row: int, user: int | str, k: int, *, seen: bool = False
) -> tuple[Recommended, ...]:
    """The k best items of a user; user: the id as its column has it."""
    from xorec.search.hamming.lazy_index import LazyHammingIndex
    from xorec.search.two_stage import TwoStageIndex

    about, sources = store.about, Sources(*store.about.sources)
    near = store.nearest(user, max(sources.near, k), seen=seen)
    history = _fetch(store, "seen", "user_row", [user_row])
    own = history["item_row"].tolist()
    weights = _fetch(store, "item_weights", "item_row", own) if about.weights_keep else {}
    beside = _fetch(store, "item_neighbours", "item_row", own) if sources.neighbours else {}
    others = [*weights.get("other_row", ()), *beside.get("other_row", ())]
    rows = np.unique(np.array([*(one.item_row for one in near), *own, *others], dtype=np.int64))
    items = items_at(store, rows.tolist(), "tie_rank", "code")
    learned = TwoStage(
        Codes(_user_code(store, user_row), items["code"], about.bits),
        _vectors(store, user_row, rows),
        _weights(history, weights, rows, about.weights_keep) if about.weights_keep else None,
        sources,
        about.blend,
    )
    tie_rank = np.argsort(np.argsort(items["tie_rank"])).astype(np.int32)
    hamming = LazyHammingIndex.of(learned.codes, tie_rank, None, 1)
    index = TwoStageIndex(hamming, learned, _table(beside, rows, sources))
    hidden = np.searchsorted(rows, [] if seen else own)
    exclude = np.array([0, len(hidden)]), hidden.astype(np.int32)
    hits = index.search(learned.queries(np.zeros(1, dtype=np.int64)), k, exclude=exclude)
    return tuple(
        Recommended(items["item_id"][at], items["name"][at], score)
        for at, score in zip(*(part.tolist() for part in hits.row(0)), strict=True)
    )


def _fetch(store: Store, table: str, where: str, rows: list[int]) -> Rows:
    from xorec.stores.schema import schema_of

    columns = [one.name for one in schema_of(store.about)[table].columns]
    return store.fetch(table, columns, where, rows)


def _user_code(store: Store, user_row: int) -> Any:
    return store.fetch("users", ["code"], "user_row", [user_row])["code"]


def _vectors(store: Store, user_row: int, rows: Numbers) -> RankingVectors | None:
    """The vectors of one user and some items, in the numbers of the model file."""
    about = store.about
    if not about.dimensions:
        return None
    users = store.fetch("user_vectors", ["vector"], "user_row", [user_row])["vector"]
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
    """The nearest items of each of the user's items, by place in `rows`; of others any."""
    if not beside or not len(beside["item_row"]):
        return np.zeros((len(rows), 0), dtype=np.int32)
    width = int(beside["rank"].max())
    table = np.zeros((len(rows), width), dtype=np.int32)
    places = np.searchsorted(rows, beside["item_row"])
    table[places, beside["rank"] - 1] = np.searchsorted(rows, beside["other_row"])
    return table
