"""What a model file says is checked before a kernel sees it: sizes, types, ranges, offsets.

A digest finds bytes that were changed by accident; these checks find a file that was written wrong,
or on purpose. What a representation's tensors must be stands in its class (`schema`); what those of
an index must be is checked by the index itself. `values=False`, for a file that was verified before
(`stamps`), looks at types and shapes alone.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import Arrays
from xorec.core.errors import DataError
from xorec.core.schema import Schema, Tensor, check_tensors
from xorec.data.categories import Categories
from xorec.data.ids import Ids
from xorec.data.text import Text
from xorec.recommender.state import RecommenderState
from xorec.recommender.storage import unpack_ids, unpack_places, unpack_text
from xorec.search.checks import check_tie_rank

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
