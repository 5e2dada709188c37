"""A recommender's state as a model file, and back: which tensors and metadata it is made of.

Everything in a file is checked before a kernel sees it: sizes, types, ranges, offsets. A digest
finds bytes that were changed by accident; these checks find a file that was written wrong, or on
purpose. The tensors of a representation are declared in its class (`schema`); an index checks its
own. `values=False`, for a file that was verified before (`verified_cache`), looks at types and
shapes alone.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import Arrays
from xorec.core.errors import DataError, ModelFileError
from xorec.core.paths import require_file
from xorec.core.schema import Schema, Tensor, check_tensors
from xorec.data.categories import Categories
from xorec.data.ids import Ids
from xorec.data.text import IdTable, Text
from xorec.recommender import storage
from xorec.recommender.signing import Key, check_signature
from xorec.recommender.state import RecommenderState
from xorec.recommender.verified_cache import add_stamp, has_stamp
from xorec.representations import representation_class
from xorec.search.filters import check_tie_rank
from xorec.search.index import Index, SavedIndex, index_of

State = TypeVar("State", bound=RecommenderState)
INDEX_FROM = 10_000
"""Items from which on the index is kept in the file: choosing how to search takes a while there."""
_OF_THE_FILE = ("format", "digest", "representation", "id_kinds")
"""Metadata that are written by `save` alone."""
_STATE: Schema = {
    "seen.indptr": Tensor("int64", ("users+1",), offsets_of="seen.items"),
    "seen.items": Tensor("int32", ("pairs",), rows_of="items"),
    "prior": Tensor("int64", ("items",)),
    "tie_rank": Tensor("int32", ("items",), rows_of="items"),
}
_CATEGORIES: Schema = {
    "item_categories.indptr": Tensor("int64", ("items+1",), offsets_of="item_categories.indices"),
    "item_categories.indices": Tensor("int32", ("placements",), rows_of="categories"),
}
_MAP: Schema = {"map.places": Tensor("uint16", ("items", 2))}
"""int16 under a type that every xorec reads: older ones pass over the map."""


def save(path: Path, state: RecommenderState, index: Arrays) -> None:
    """Write the file, whole or not at all. index: the tensors of the search index, if any."""
    tensors = {
        **pack_ids("user_ids", state.user_ids),
        **pack_ids("item_ids", state.item_ids),
        "seen.indptr": state.seen[0],
        "seen.items": state.seen[1],
        "prior": state.item_counts,
        "tie_rank": state.tie_rank,
        **{f"representation.{name}": one for name, one in state.representation.tensors().items()},
        **{f"index.{name}": one for name, one in index.items()},
    }
    if state.names is not None:
        tensors |= pack_text("item_names", state.names)
    if state.categories is not None:
        tensors |= pack_text("item_categories.labels", state.categories.labels)
        tensors["item_categories.indptr"] = state.categories.indptr.astype(np.int64, copy=False)
        tensors["item_categories.indices"] = state.categories.indices.astype(np.int32, copy=False)
    if state.map_xy is not None:
        tensors["map.places"] = np.ascontiguousarray(state.map_xy, np.int16).view(np.uint16)
    kinds = {"user_ids": state.user_ids.kind, "item_ids": state.item_ids.kind}
    metadata = {**state.metadata, "representation": state.representation.kind, "id_kinds": kinds}
    storage.write(path, tensors, metadata)


def load(
    make: Callable[..., State],
    path: Path,
    verify: bool | None = None,
    *,
    key: Key | None = None,
    threads: int | None = None,
    index: bool = True,
) -> tuple[State, Index | None]:
    """The state of a file, and the search index if it was saved too and is wanted.

    make: takes the fields of a `RecommenderState`. The bytes (by the digest) and the values (by
    the checks) are looked at unless the file is known as verified. verify: True asks for both in
    any case, False leaves out the digest alone. key: the public key that the file must be signed
    with.
    """
    require_file(path, ModelFileError, "model file")
    with storage.opened(path) as file:
        if key is not None:
            check_signature(file, key, threads)
        check = verify is not None or not has_stamp(file)
        if check and verify is not False:
            storage.check_digest(file, threads)
        with storage.complete(path):
            fields = _checked_fields(file.tensors, file.metadata, values=check)
            learned, tie_rank = fields["representation"], fields["tie_rank"]
            tensors = _under("index.", file.tensors)
            saved = SavedIndex(tensors, checked=not check) if tensors and (index or check) else None
            found = saved and index_of(learned, tie_rank, saved, threads)
        if check and verify is not False:
            add_stamp(file)
    return make(**fields, threads=threads), found if index else None


def _checked_fields(
    tensors: dict[str, Any], metadata: dict[str, Any], *, values: bool
) -> dict[str, Any]:
    """The fields of a `RecommenderState`: they fit together, and no row, rank or offset points
    outside its array."""
    kinds, _ = metadata["id_kinds"], metadata["config"]  # both must be there
    users, items = (
        check_ids(name, kinds[name], tensors, values=values) for name in ("user_ids", "item_ids")
    )
    sizes = {"users": len(users), "items": len(items)}
    kind = representation_class(metadata["representation"])
    own = _under("representation.", tensors)
    check_tensors(own, kind.schema, sizes, values=values)
    learned = kind.from_tensors(own)
    if (learned.n_users, learned.n_items) != (len(users), len(items)):
        raise DataError(
            f"{len(users)} x {len(items)} ids, but {learned.n_users} x {learned.n_items} were "
            "learned"
        )
    check_tensors(tensors, _STATE, sizes, values=values)
    if values:
        check_tie_rank(tensors["tie_rank"], len(items))
    names, map_xy = None, None
    if "item_names.data" in tensors:
        names = check_text("item_names", tensors, values=values)
        if len(names) != len(items):
            raise DataError(f"{len(names)} names for {len(items)} items")
    if "map.places" in tensors:
        check_tensors(tensors, _MAP, sizes, values=values)
        map_xy = tensors["map.places"].view(np.int16)
    return {
        "representation": learned,
        "user_ids": users,
        "item_ids": items,
        "seen": (tensors["seen.indptr"], tensors["seen.items"]),
        "item_counts": tensors["prior"],
        "tie_rank": tensors["tie_rank"],
        "names": names,
        "categories": _checked_categories(tensors, sizes, values=values),
        "metadata": {name: metadata[name] for name in metadata if name not in _OF_THE_FILE},
        "map_xy": map_xy,
    }


def pack_ids(name: str, ids: Ids) -> dict[str, npt.NDArray[Any]]:
    """The tensors of ids: one of integers, or the two of a `Text`; and their look-up table."""
    values, table = ids.values, ids.table
    packed = pack_text(name, values) if isinstance(values, Text) else {name: values}
    if table is not None:
        packed |= {f"{name}.table.starts": table.starts, f"{name}.table.rows": table.rows}
    return packed


def check_ids(name: str, kind: str, tensors: Arrays, *, values: bool) -> Ids:
    """The inverse of `pack_ids`. A wrong table may lose an id, but points to no other memory."""
    starts, rows = f"{name}.table.starts", f"{name}.table.rows"
    known: npt.NDArray[Any] | Text
    if kind == "int64":
        check_tensors(tensors, {name: Tensor("int64", ("ids",))}, {})
        known = tensors[name]
    else:
        known = check_text(name, tensors, values=values)
    schema = {
        starts: Tensor("int32", ("buckets+1",), offsets_of=rows, optional=True),
        rows: Tensor("int32", ("ids",), rows_of="ids", optional=True),
    }
    check_tensors(tensors, schema, {"ids": len(known)}, values=values)
    buckets = len(tensors.get(starts, (0, 0))) - 1
    if buckets.bit_count() != 1:
        raise DataError(f"{name}.table has {buckets} buckets, which is no power of two")
    return Ids(kind, known, IdTable(tensors[starts], tensors[rows]) if rows in tensors else None)


def pack_text(name: str, text: Text) -> dict[str, npt.NDArray[Any]]:
    """The two tensors of a `Text`."""
    return {f"{name}.data": text.data, f"{name}.offsets": text.offsets}


def check_text(name: str, tensors: Arrays, *, values: bool) -> Text:
    """The inverse of `pack_text`: strings whose offsets stay within their bytes."""
    data, offsets = f"{name}.data", f"{name}.offsets"
    schema = {
        data: Tensor("uint8", ("bytes",)),
        offsets: Tensor("int64", ("strings+1",), offsets_of=data),
    }
    check_tensors(tensors, schema, {}, values=values)
    return Text(tensors[data], tensors[offsets])


def _checked_categories(
    tensors: Arrays, sizes: dict[str, int], *, values: bool
) -> Categories | None:
    """The categories of the items, where the file has them: all of it, or nothing."""
    if not any(name.startswith("item_categories.") for name in tensors):
        return None
    labels = check_text("item_categories.labels", tensors, values=values)
    check_tensors(tensors, _CATEGORIES, {**sizes, "categories": len(labels)}, values=values)
    return Categories(labels, *(tensors[name] for name in _CATEGORIES))


def _under(prefix: str, tensors: Arrays) -> dict[str, Any]:
    """The tensors under this prefix, by the rest of their name."""
    return {name.removeprefix(prefix): tensors[name] for name in tensors if name.startswith(prefix)}
