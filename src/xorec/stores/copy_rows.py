"""Rows as PostgreSQL's binary COPY has them, made of whole columns at once.

A row is the number of its fields (int16), and of each field its length (int32) and its bytes, the
highest first. Fields of fixed length that stand side by side are one structured array.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain, groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words
from xorec.stores.tables import Batch, Column, code_bytes, code_words, rows_of

HEADER = b"PGCOPY\n\xff\r\n\0" + bytes(8)
TRAILER = b"\xff\xff"
_FLOAT4 = 700
"""The number of the type `real`."""
_NUMBERS = {"row": ">i4", "integer": ">i8", "float": ">f4"}


def copy_rows(columns: Sequence[Column], batch: Batch) -> bytes:
    """All rows of a batch.

    >>> copy_rows([Column("a", "row")], {"a": np.array([7])}).hex(" ", 2)
    '0001 0000 0004 0000 0007'
    """
    count = rows_of(batch)
    parts: list[list[bytes] | bytes] = []
    opening: npt.NDArray[Any] | None = np.full(count, len(columns), dtype=[("fields", ">i2")])
    for is_text, group in groupby(columns, lambda one: one.kind == "text"):
        if is_text:
            if opening is not None:
                parts.append(opening.tobytes())
            parts += [_texts(batch[one.name]) for one in group]
        else:
            parts.append(_fixed([*group], batch, opening).tobytes())
        opening = None
    if len(parts) == 1:
        assert isinstance(parts[0], bytes)
        return parts[0]
    rows = [_cut(one, count) if isinstance(one, bytes) else iter(one) for one in parts]
    return b"".join(chain.from_iterable(zip(*rows, strict=True)))


def _cut(joined: bytes, count: int) -> Iterator[bytes]:
    size = len(joined) // count if count else 0
    return (joined[at * size : (at + 1) * size] for at in range(count))


def _texts(values: Sequence[str]) -> list[bytes]:
    encoded = [value.encode() for value in values]
    return [len(one).to_bytes(4, "big") + one for one in encoded]


def _fixed(
    columns: Sequence[Column], batch: Batch, opening: npt.NDArray[Any] | None
) -> npt.NDArray[Any]:
    """Fields of fixed length, side by side. opening: the number of fields, where they are first."""
    values = {f"v{at}": _field(one, batch[one.name]) for at, one in enumerate(columns)}
    layout: list[Any] = [] if opening is None else [("fields", ">i2")]
    for name, array in values.items():
        layout += [(f"length_{name}", ">i4"), (name, array.dtype)]
    made = np.empty(rows_of(batch), dtype=layout)
    if opening is not None:
        made["fields"] = opening["fields"]
    for name, array in values.items():
        made[f"length_{name}"] = array.dtype.itemsize
        made[name] = array
    return made


def _field(column: Column, values: Any) -> npt.NDArray[Any]:
    """The bytes of a column, one element a row."""
    if column.kind in _NUMBERS:
        return np.asarray(values).astype(_NUMBERS[column.kind])
    size = column.size
    if column.kind == "code":
        bits = bits_of_words(values, size)
        made = np.empty(len(bits), dtype=[("bits", ">i4"), ("bytes", "u1", bits.shape[1])])
        made["bits"], made["bytes"] = size, bits
        return made
    one = [("length", ">i4"), ("value", ">f4")]
    head = ["dimensions", "has_nulls", "type", "count", "first"]
    made = np.empty(len(values), dtype=[*((name, ">i4") for name in head), ("all", one, size)])
    for name, value in zip(head, (1, 0, _FLOAT4, size, 1), strict=True):
        made[name] = value
    made["all"]["length"], made["all"]["value"] = 4, values
    return made


def bits_of_words(words: Words, bits: int) -> npt.NDArray[np.uint8]:
    """Codes as bit strings: the first bit is the highest of the first byte.

    >>> bits_of_words(np.array([[0b1011]], dtype=np.uint64), bits=6).tolist()
    [[208]]
    """
    one_each = np.unpackbits(code_bytes(words, bits), axis=1, bitorder="little", count=bits)
    return np.packbits(one_each, axis=1)


def words_of_bits(values: Sequence[bytes], bits: int) -> Words:
    """The inverse, of what the driver gives: the number of bits (int32) and the bit string."""
    width = 4 + -(-bits // 8)
    joined = np.frombuffer(b"".join(values), dtype=np.uint8).reshape(-1, width)[:, 4:]
    one_each = np.unpackbits(joined, axis=1, count=bits)
    packed = np.packbits(one_each, axis=1, bitorder="little")
    return code_words([packed.tobytes()], bits)
