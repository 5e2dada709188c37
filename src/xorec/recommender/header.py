"""The header of a model file, read without trust: JSON, and where each tensor lies in the bytes.

The rules are those of safetensors: a length in eight bytes, a JSON object, then tensors that fill
the rest without holes and without sharing a byte.
"""

from __future__ import annotations

import json
import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

LONGEST = 100_000_000
"""Bytes of a header, at most: as in safetensors itself."""
_DEEPEST = 32
_MOST_DIMENSIONS = 8
_LARGEST = 2**31
"""Rows or columns of a tensor that has no values."""
_DTYPES: dict[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "U16": np.dtype("<u2"),
    "I8": np.dtype("|i1"),
    "U64": np.dtype("<u8"),
    "U32": np.dtype("<u4"),
    "U8": np.dtype("|u1"),
}


class Place(NamedTuple):
    """Where a tensor lies behind the header, and what it is."""

    begin: int
    end: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


def parse_object(text: bytes | str) -> dict[str, Any]:
    """A JSON object of UTF-8 that names nothing twice and is not too deep; else a ValueError."""
    try:
        if isinstance(text, bytes):
            text = text.decode()
        found = json.loads(text, object_pairs_hook=_without_doubles)
        json.dumps(found, ensure_ascii=False).encode()  # no halves of characters
        too_deep = _depth(found) > _DEEPEST
    except RecursionError:
        too_deep = True
    if too_deep:
        raise ValueError("it is nested too deeply")
    if not isinstance(found, dict):
        raise ValueError("it is not a JSON object")
    return found


def places_of(header: dict[str, Any], length: int) -> dict[str, Place]:
    """The place of each tensor in `length` bytes, all of which belong to one; or a ValueError."""
    places = {name: _place(name, entry) for name, entry in header.items()}
    at = 0
    for name, place in sorted(places.items(), key=lambda item: item[1][:2]):
        if place.begin != at:
            raise ValueError(f"{name} begins at {place.begin} and not where another ends, {at}")
        at = place.end
    if at != length:
        raise CutShortError(at)
    return places


class CutShortError(ValueError):
    """The tensors of a header fill more or fewer bytes than there are."""

    def __init__(self, expected: int) -> None:
        super().__init__(f"its tensors fill {expected} bytes")
        self.expected = expected


def tensor_at(place: Place, data: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
    """The tensor in the bytes behind the header; a view wherever the machine can count from it."""
    tensor = data[place.begin : place.end].view(place.dtype).reshape(place.shape)
    return tensor if tensor.flags.aligned else tensor.copy()  # kernels count on it


def _place(name: str, entry: Any) -> Place:
    """What a header says of one tensor, checked by itself."""
    if not isinstance(entry, dict):
        raise ValueError(f"{name} is described by {_short(entry)}")
    kind = entry.get("dtype")
    if not isinstance(kind, str) or kind not in _DTYPES:
        raise ValueError(f"{name} is of type {_short(kind)}")
    shape, span = _sizes(name, entry, "shape"), _sizes(name, entry, "data_offsets")
    if len(shape) > _MOST_DIMENSIONS or len(span) != 2:
        raise ValueError(f"{name} has the shape {_short(shape)} and lies at {_short(span)}")
    dtype, (begin, end) = _DTYPES[kind], span
    if end - begin != math.prod(shape) * dtype.itemsize or max(shape, default=0) > max(
        _LARGEST, end - begin
    ):
        raise ValueError(f"{name} has the shape {_short(shape)} but {end - begin} bytes")
    return Place(begin, end, dtype, tuple(shape))


def _sizes(name: str, entry: dict[str, Any], key: str) -> list[int]:
    sizes = entry.get(key)
    if not isinstance(sizes, list) or not all(type(n) is int and 0 <= n < 2**63 for n in sizes):
        raise ValueError(f"{name} has the {key} {_short(sizes)}")
    return sizes


def _without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) < len(pairs):
        raise ValueError("it has a name twice")
    return found


def _depth(value: Any) -> int:
    """Levels of objects and lists."""
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(_depth, inner), default=0) if isinstance(value, dict | list) else 0


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."
