"""A recommender as a model file, and back: which tensors and metadata it is made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xorec.recommender import storage
from xorec.recommender.recommender import Recommender
from xorec.representations import representation_class
from xorec.search.index import index_of

INDEX_FROM = 10_000
"""Items from which on the index is kept in the file: choosing how to search takes a while there."""


def save(recommender: Recommender, path: Path, index: bool | None) -> None:
    """Write the file, whole or not at all; see `Recommender.save`."""
    one = recommender
    tensors = {
        **storage.pack_ids("user_ids", one.users),
        **storage.pack_ids("item_ids", one.items),
        "seen.indptr": one.seen[0],
        "seen.items": one.seen[1],
        "prior": one.prior,
        "tie_rank": one.tie_rank,
    }
    if one.names is not None:
        tensors |= storage.pack_text("item_names", one.names)
    tensors |= _under("representation.", one.representation.tensors())
    if index or (index is None and len(one.items) >= INDEX_FROM):
        tensors |= _under("index.", one.index.tensors())
    kinds = {"user_ids": one.users.kind, "item_ids": one.items.kind}
    metadata = {**one.metadata, "representation": one.representation.kind, "id_kinds": kinds}
    storage.write(path, tensors, metadata)


def load(path: Path, verify: bool | None) -> Recommender:
    """Open a file; see `Recommender.load`."""
    tensors, metadata = storage.read(path, verify=verify)
    with storage.complete(path):
        return _from_file(tensors, metadata)


def _from_file(tensors: dict[str, Any], metadata: dict[str, Any]) -> Recommender:
    kinds = metadata.pop("id_kinds")
    names = "item_names.data" in tensors
    recommender = Recommender(
        representation_class(metadata.pop("representation")).from_tensors(
            _without("representation.", tensors)
        ),
        users=storage.unpack_ids("user_ids", kinds["user_ids"], tensors),
        items=storage.unpack_ids("item_ids", kinds["item_ids"], tensors),
        seen=(tensors["seen.indptr"], tensors["seen.items"]),
        prior=tensors["prior"],
        tie_rank=tensors["tie_rank"],
        names=storage.unpack_text("item_names", tensors) if names else None,
        metadata={name: metadata[name] for name in metadata if name not in ("format", "digest")},
    )
    kept = _without("index.", tensors)
    if kept:
        index = index_of(recommender.representation, recommender.tie_rank, kept)
        recommender.__dict__["index"] = index  # what the cached property would make
    return recommender


def _under(prefix: str, tensors: dict[str, Any]) -> dict[str, Any]:
    return {prefix + name: tensors[name] for name in tensors}


def _without(prefix: str, tensors: dict[str, Any]) -> dict[str, Any]:
    """The tensors under this prefix, by the rest of their name."""
    return {name.removeprefix(prefix): tensors[name] for name in tensors if name.startswith(prefix)}
