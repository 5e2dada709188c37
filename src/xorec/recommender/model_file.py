"""A recommender's state as a model file, and back: which tensors and metadata it is made of.

What a model file says is checked before a kernel sees it: sizes, types, ranges, offsets.

A digest finds bytes that were changed by accident; these checks find a file that was written wrong,
or on purpose. What a representation's tensors must be stands in its class (`schema`); what those of
an index must be is checked by the index itself. `values=False`, for a file that was verified before
(`stamps`), looks at types and shapes alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import Arrays
from xorec.core.errors import DataError, ModelFileError
from xorec.core.paths import require_file
from xorec.core.schema import Schema, Tensor, check_tensors
from xorec.data.categories import Categories
from xorec.data.ids import Ids
from xorec.data.text import Text
from xorec.recommender import storage
from xorec.recommender.signing import Key, check_signature
from xorec.recommender.stamps import add_stamp, has_stamp
from xorec.recommender.state import RecommenderState
from xorec.recommender.storage import unpack_ids, unpack_places, unpack_text
from xorec.representations import representation_class
from xorec.search.checks import check_tie_rank
from xorec.search.index import Index, SavedIndex, index_of

STATE: Schema = {
    "seen.indptr": Tensor("int64", ("users+1",), offsets_of="seen.items"),
    "seen.items": Tensor("int32", ("pairs",), rows_of="items"),
    "prior": Tensor("int64", ("items",)),
    "tie_rank": Tensor("int32", ("items",), rows_of="items"),
}
CATEGORIES: Schema = {
    "item_categories.indptr": Tensor("int64", ("items+1",), offsets_of="item_categories.indices"),
    "item_categories.indices": Tensor("int32", ("placements",), rows_of="categories"),
}

PLACES: Schema = {"map.places": Tensor("uint16", ("items", 2))}


def check_ids(name: str, kind: str, tensors: Arrays, *, values: bool) -> Ids:
    """The ids of users or items."""
    if kind == "int64":
        check_tensors(tensors, {name: Tensor("int64", ("ids",))}, {})
    else:
        check_text(name, tensors, values=values)
    ids = unpack_ids(name, kind, tensors)
    check_tensors(tensors, table_schema(name), {"ids": len(ids)}, values=values)
    buckets = len(tensors.get(f"{name}.table.starts", (0, 0))) - 1
    if buckets.bit_count() != 1:
        raise DataError(f"{name}.table has {buckets} buckets, which is no power of two")
    return ids


def table_schema(name: str) -> Schema:
    """Where each id stands: a wrong table may lose an id, but points to no other memory."""
    starts, rows = f"{name}.table.starts", f"{name}.table.rows"
    return {
        starts: Tensor("int32", ("buckets+1",), offsets_of=rows, optional=True),
        rows: Tensor("int32", ("ids",), rows_of="ids", optional=True),
    }


def check_text(name: str, tensors: Arrays, *, values: bool) -> Text:
    """Strings whose offsets stay within their bytes."""
    data, offsets = f"{name}.data", f"{name}.offsets"
    schema = {
        data: Tensor("uint8", ("bytes",)),
        offsets: Tensor("int64", ("strings+1",), offsets_of=data),
    }
    check_tensors(tensors, schema, {}, values=values)
    return unpack_text(name, tensors)


def check_categories(tensors: Arrays, items: int, *, values: bool) -> Categories | None:
    """The categories of the items, where the file has them: all of it, or nothing."""
    if not any(name.startswith("item_categories.") for name in tensors):
        return None
    labels = check_text("item_categories.labels", tensors, values=values)
    sizes = {"items": items, "categories": len(labels)}
    check_tensors(tensors, CATEGORIES, sizes, values=values)
    return Categories(labels, *(tensors[name] for name in CATEGORIES))


def check_places(tensors: Arrays, items: int, *, values: bool) -> npt.NDArray[np.int16] | None:
    """Where the items lie on the map, where the file has that."""
    if "map.places" not in tensors:
        return None
    check_tensors(tensors, PLACES, {"items": items}, values=values)
    return unpack_places(tensors["map.places"])


def check_state(state: RecommenderState, *, values: bool) -> None:
    """Everything fits together, and no row, rank or offset points outside its array."""
    users, items = len(state.users), len(state.items)
    learned = (state.representation.n_users, state.representation.n_items)
    if learned != (users, items):
        raise DataError(f"{users} x {items} ids, but {learned[0]} x {learned[1]} were learned")
    tensors: Arrays = {
        "seen.indptr": state.seen[0],
        "seen.items": state.seen[1],
        "prior": state.prior,
        "tie_rank": state.tie_rank,
    }
    check_tensors(tensors, STATE, {"users": users, "items": items}, values=values)
    if values:
        check_tie_rank(state.tie_rank, items)
    if state.names is not None and len(state.names) != items:
        raise DataError(f"{len(state.names)} names for {items} items")


INDEX_FROM = 10_000
"""Items from which on the index is kept in the file: choosing how to search takes a while there."""
_OF_THE_FILE = ("format", "digest", "representation", "id_kinds")
"""Metadata that are made anew with every file."""


def save(path: Path, state: RecommenderState, index: Arrays) -> None:
    """Write the file, whole or not at all. index: the tensors of the search index, if any."""
    tensors = {
        **storage.pack_ids("user_ids", state.users),
        **storage.pack_ids("item_ids", state.items),
        "seen.indptr": state.seen[0],
        "seen.items": state.seen[1],
        "prior": state.prior,
        "tie_rank": state.tie_rank,
        **_under("representation.", state.representation.tensors()),
        **_under("index.", index),
    }
    if state.names is not None:
        tensors |= storage.pack_text("item_names", state.names)
    if state.categories is not None:
        tensors |= storage.pack_categories(state.categories)
    if state.places is not None:
        tensors["map.places"] = storage.pack_places(state.places)
    kinds = {"user_ids": state.users.kind, "item_ids": state.items.kind}
    metadata = {**state.metadata, "representation": state.representation.kind, "id_kinds": kinds}
    storage.write(path, tensors, metadata)


def load(
    path: Path,
    verify: bool | None = None,
    *,
    key: Key | None = None,
    threads: int | None = None,
    index: bool = True,
) -> tuple[RecommenderState, Index | None]:
    """What a file has: the state, and the search index where it was saved too and is wanted.

    Bytes (the digest) and values (the checks) are looked at unless a stamp says that they were.
    verify: True asks for both in any case, False leaves out the digest alone. key: the public key
    that the file must be signed with.
    """
    require_file(path, ModelFileError, "model file")
    with storage.opened(path) as file:
        if key is not None:
            check_signature(file, key, threads)
        anew = verify is not None or not has_stamp(file)
        if anew and verify is not False:
            storage.check_digest(file, threads)
        with storage.complete(path):
            state = _state(file.tensors, file.metadata, values=anew)
            check_state(state, values=anew)
            tensors = _without("index.", file.tensors)
            saved = SavedIndex(tensors, checked=not anew) if tensors and (index or anew) else None
            found = saved and index_of(state.representation, state.tie_rank, saved, threads)
        if anew and verify is not False:
            add_stamp(file)
    return state, found if index else None


def _state(tensors: dict[str, Any], metadata: dict[str, Any], *, values: bool) -> RecommenderState:
    """What the tensors say; each is checked before it is used."""
    kinds, _ = metadata["id_kinds"], metadata["config"]  # both must be there
    named = "item_names.data" in tensors
    users, items = (
        check_ids(name, kinds[name], tensors, values=values) for name in ("user_ids", "item_ids")
    )
    kind, learned = representation_class(metadata["representation"]), "representation."
    sizes = {"users": len(users), "items": len(items)}
    check_tensors(_without(learned, tensors), kind.schema, sizes, values=values)
    about = {name: metadata[name] for name in metadata if name not in _OF_THE_FILE}
    return RecommenderState(
        kind.from_tensors(_without(learned, tensors)),
        users=users,
        items=items,
        seen=(tensors["seen.indptr"], tensors["seen.items"]),
        prior=tensors["prior"],
        tie_rank=tensors["tie_rank"],
        names=check_text("item_names", tensors, values=values) if named else None,
        categories=check_categories(tensors, len(items), values=values),
        metadata=about,
        places=check_places(tensors, len(items), values=values),
    )


def _under(prefix: str, tensors: Arrays) -> dict[str, Any]:
    return {prefix + name: tensors[name] for name in tensors}


def _without(prefix: str, tensors: Arrays) -> dict[str, Any]:
    """The tensors under this prefix, by the rest of their name."""
    return {name.removeprefix(prefix): tensors[name] for name in tensors if name.startswith(prefix)}
