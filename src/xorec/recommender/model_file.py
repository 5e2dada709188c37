"""A recommender's state as a model file, and back: which tensors and metadata it is made of."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from xorec.core.arrays import Arrays
from xorec.core.errors import ModelFileError
from xorec.core.paths import require_file
from xorec.core.schema import check_tensors
from xorec.recommender import storage
from xorec.recommender.file_checks import (
    check_categories,
    check_ids,
    check_places,
    check_state,
    check_text,
)
from xorec.recommender.signing import Key, check_signature
from xorec.recommender.stamps import add_stamp, has_stamp
from xorec.recommender.state import RecommenderState
from xorec.representations import representation_class
from xorec.search.index import Index, SavedIndex, index_of

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
