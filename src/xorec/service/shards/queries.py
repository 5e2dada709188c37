"""A query as bytes, and back: what goes from the front to its shards."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.bits import CodeRows, words_for
from xorec.core.errors import DataError, OptionError
from xorec.representations.base import Representation
from xorec.representations.codebooks import Codebooks
from xorec.representations.codes import Codes
from xorec.representations.composed import ComposedCodes, ComposedQueries
from xorec.representations.histories import NO_VALUES, Histories
from xorec.representations.item_weights import ItemWeights
from xorec.representations.neighbours import Neighbours
from xorec.representations.shared_scores import SharedScores
from xorec.service.schemas.shards import ShardQuery

TYPES = {
    "codes": "<u8",
    "vectors": "<f4",
    "weights": "<f4",
    "items": "<i4",
    "values": "<f4",
    "users": "<i8",
}
"""Of the arrays that a query is made of."""


def pack_query(query: Any) -> dict[str, npt.NDArray[Any]]:
    """The arrays of one query, by name.

    >>> pack_query(np.array([[7]], dtype=np.uint64))
    {'codes': array([7], dtype=uint64)}
    """
    arrays: dict[str, Any]
    if isinstance(query, ComposedQueries):
        arrays = {"codes": query.words, "weights": query.weights}
    elif isinstance(query, Histories) or hasattr(query, "indptr"):
        rows = Histories.of(query)
        arrays = {"items": rows.indices}
        if len(rows.data):
            arrays["values"] = rows.data
    else:
        array = np.asarray(query)
        name = {"u": "codes", "f": "vectors"}.get(array.dtype.kind, "users")
        arrays = {name: array}
    return {name: np.ravel(one).astype(TYPES[name]) for name, one in arrays.items()}


def unpack_query(learned: Representation, query: ShardQuery) -> Any:
    """The inverse, for what a representation ranks by; checked as anything from outside."""
    given = {name: getattr(query, name) for name in TYPES if getattr(query, name) is not None}
    arrays = {name: _array(name, packed) for name, packed in given.items()}
    names = _names(learned)
    if not set(names) <= set(arrays) or not set(arrays) <= {*names, *_optional(learned)}:
        needed, got = " and ".join(names), ", ".join(arrays) or "nothing"
        raise OptionError(f"a query of this model ({learned.kind}) is {needed}, this has {got}.")
    if isinstance(learned, Neighbours):
        return _history(learned, arrays)
    if isinstance(learned, ItemWeights):
        return _history(learned, arrays).matrix()
    if isinstance(learned, ComposedCodes):
        return ComposedQueries(_code(learned.bits, arrays["codes"]), arrays["weights"][None])
    if "codes" in arrays:
        assert isinstance(learned, Codes)
        return _code(learned.bits, arrays["codes"])
    if "users" in arrays:
        if len(arrays["users"]) != 1:
            raise DataError(f"users has {len(arrays['users'])} rows: a query is one.")
        return arrays["users"]
    return arrays["vectors"][None]


def _names(learned: Representation) -> tuple[str, ...]:
    """What a query of this representation is made of."""
    if isinstance(learned, ComposedCodes):
        return "codes", "weights"
    if isinstance(learned, Codes):
        return ("codes",) if learned.user_vectors is None else ("vectors",)
    if isinstance(learned, (Neighbours, ItemWeights)):
        return ("items",)
    for kind, name in ((Codebooks, "vectors"), (SharedScores, "users")):
        if isinstance(learned, kind):
            return (name,)
    learned.item_range(0, learned.n_items)  # says why it is refused
    raise OptionError(f"this model ({learned.kind}) is not searched in shards.")


def _optional(learned: Representation) -> tuple[str, ...]:
    return ("values",) if isinstance(learned, (Neighbours, ItemWeights)) else ()


def _array(name: str, packed: bytes) -> npt.NDArray[Any]:
    kind = np.dtype(TYPES[name])
    if len(packed) % kind.itemsize:
        raise DataError(f"{name} has {len(packed)} bytes: {kind.itemsize} for each number.")
    return np.frombuffer(packed, kind).astype(kind.newbyteorder("="))


def _code(bits: int, words: npt.NDArray[Any]) -> npt.NDArray[np.uint64]:
    if len(words) != words_for(bits):
        raise DataError(f"codes has {len(words)} words: {bits} bits are {words_for(bits)}.")
    return CodeRows(words[None], bits, "codes of the query").words


def _history(learned: Neighbours | ItemWeights, arrays: dict[str, npt.NDArray[Any]]) -> Histories:
    items, n_items = arrays["items"], int(learned.history.shape[1])
    check_ascending(items, 0, n_items, "items")
    values = arrays.get("values", NO_VALUES)
    if len(values) not in (0, len(items)) or not np.isfinite(values).all():
        raise DataError(f"values has {len(values)} numbers for {len(items)} items, or no numbers.")
    return Histories(np.array([0, len(items)], dtype=np.int64), items, values, n_items)


def check_ascending(rows: npt.NDArray[np.int32], start: int, stop: int, what: str) -> None:
    """Refuse rows that do not ascend between `start` and `stop`."""
    if len(rows) and (rows[0] < start or rows[-1] >= stop or (np.diff(rows) <= 0).any()):
        raise DataError(f"the rows of {what} do not ascend from {start} up to {stop}.")
