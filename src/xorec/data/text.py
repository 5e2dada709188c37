"""Text: many strings in two arrays (UTF-8 bytes and offsets), ready to be memory-mapped.

IdTable: the row of an id by a hash of its bytes, in two arrays as well. A bucket has the rows of
all ids whose hash ends in the same bits, so a look-up compares the id with one or two others.
CRC-32 (of text) is Python's own, and the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]
Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]


@dataclass(frozen=True, eq=False, slots=True)
class Text:
    """An immutable list of strings. String `i` is `data[offsets[i]:offsets[i + 1]]`."""

    data: Bytes
    offsets: Offsets

    @classmethod
    def pack(cls, strings: Iterable[str]) -> Text:
        """Pack Python strings."""
        encoded = [string.encode("utf-8", "surrogateescape") for string in strings]
        offsets = offsets_of([len(piece) for piece in encoded])
        return cls(np.frombuffer(b"".join(encoded), dtype=np.uint8), offsets)

    def __len__(self) -> int:
        return len(self.offsets) - 1

    def __getitem__(self, row: int) -> str:
        return self.raw(row).decode("utf-8", "surrogateescape")

    def __iter__(self) -> Iterator[str]:
        return (self[row] for row in range(len(self)))

    def raw(self, row: int) -> bytes:
        """The UTF-8 bytes of string `row`; their order is the order of the strings."""
        if not 0 <= row < len(self):
            raise IndexError(f"row {row} of {len(self)} strings")
        return self.data[self.offsets[row] : self.offsets[row + 1]].tobytes()

    def strings(self, rows: Sequence[int]) -> list[str]:
        """The strings at `rows`, as Python has them."""
        if min(rows, default=0) < 0:
            raise IndexError(f"row {min(rows)} of {len(self)} strings")
        data, offsets = quick_view(self.data), quick_view(self.offsets)
        return [
            str(data[offsets[row] : offsets[row + 1]], "utf-8", "surrogateescape") for row in rows
        ]

    def take(self, rows: npt.NDArray[np.integer]) -> Text:
        """The strings at `rows`, in that order."""
        positions, offsets = gather_spans(self.offsets, rows)
        return Text(self.data[positions], offsets)

    def same(
        self, rows: npt.NDArray[np.integer], other: Text, other_rows: npt.NDArray[np.integer]
    ) -> npt.NDArray[np.bool_]:
        """Whether the strings at `rows` are those of `other` at `other_rows`, one by one."""
        sizes, sizes_there = np.diff(self.offsets)[rows], np.diff(other.offsets)[other_rows]
        same: npt.NDArray[np.bool_] = sizes == sizes_there
        here, bounds = gather_spans(self.offsets, rows[same])
        there, _ = gather_spans(other.offsets, other_rows[same])
        differ = offsets_of(self.data[here] != other.data[there])
        same[same] = differ[bounds[1:]] == differ[bounds[:-1]]
        return same


def not_unicode(strings: Sequence[str]) -> str | None:
    """The first string with half of a surrogate pair, which is no text; None if there is none."""
    try:
        "".join(strings).encode()
    except UnicodeEncodeError:
        return next(one for one in strings if any("\ud800" <= c <= "\udfff" for c in one))
    return None


def quick_view(array: npt.NDArray[Any]) -> memoryview:
    """A view of the memory: reading one number takes half as long as from the array."""
    buffer: Any = array
    return memoryview(buffer)


def offsets_of(sizes: npt.ArrayLike) -> Offsets:
    """Where each of these spans begins, one after the other, and the end of the last, (n + 1,)."""
    return np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)])


def gather_spans(offsets: Offsets, rows: npt.NDArray[np.integer]) -> tuple[Integers, Offsets]:
    """The positions of the contents of `rows`, `offsets[r]` up to `offsets[r + 1]` of each, and
    the offsets of these rows alone.
    """
    rows = np.asarray(rows, dtype=np.int64)
    sizes = offsets[rows + 1] - offsets[rows]
    new_offsets = offsets_of(sizes)
    shifts = np.repeat(offsets[rows] - new_offsets[:-1], sizes)
    return shifts + np.arange(new_offsets[-1]), new_offsets


_GOLDEN = 0x9E3779B97F4A7C15
_WORD = 2**64 - 1


@dataclass(frozen=True, eq=False)
class IdTable:
    """The rows of the ids in bucket b are rows[starts[b]:starts[b + 1]].

    starts (buckets + 1,), rows (ids,): int32. The number of buckets is a power of two, and two to
    four times that of the ids.
    """

    starts: Numbers
    rows: Numbers

    @classmethod
    def of(cls, values: Integers | Text) -> IdTable:
        """The table of these ids: integers, or text."""
        buckets = 2 << max(len(values) - 1, 0).bit_length()
        bucket_of = _buckets(values, buckets)
        starts = offsets_of(np.bincount(bucket_of, minlength=buckets)).astype(np.int32)
        return cls(starts, np.argsort(bucket_of, kind="stable").astype(np.int32))

    def finder_of_text(self, text: Text) -> Callable[[bytes], int]:
        """A function that finds the row of a string's UTF-8 bytes, or -1."""
        starts, rows = quick_view(self.starts), quick_view(self.rows)
        data, offsets = quick_view(text.data), quick_view(text.offsets)
        last_bits = len(starts) - 2

        def find(key: bytes) -> int:
            bucket = crc32(key) & last_bits
            for at in range(starts[bucket], starts[bucket + 1]):
                row = rows[at]
                if data[offsets[row] : offsets[row + 1]] == key:
                    return row
            return -1

        return find

    def finder_of_integers(self, values: Integers) -> Callable[[int], int]:
        """A function that finds the row of an integer, or -1."""
        starts, rows, every = quick_view(self.starts), quick_view(self.rows), quick_view(values)
        last_bits = len(starts) - 2

        def find(key: int) -> int:
            bucket = ((key * _GOLDEN & _WORD) >> 32) & last_bits
            for at in range(starts[bucket], starts[bucket + 1]):
                row = rows[at]
                if every[row] == key:
                    return row
            return -1

        return find

    def find_all(self, values: Integers | Text, keys: Integers | Text) -> Integers:
        """The rows of many keys at once, -1 where unknown. values: the ids of this table."""
        bucket_of = _buckets(keys, len(self.starts) - 1)
        at, end = self.starts[bucket_of], self.starts[bucket_of + 1]
        found = np.full(len(keys), -1, dtype=np.int64)
        left = np.flatnonzero(at < end)
        while len(left):
            rows = self.rows[at[left]]
            same = _same(values, rows, keys, left)
            found[left[same]] = rows[same]
            left = left[~same]
            at[left] += 1
            left = left[at[left] < end[left]]
        return found


def _same(
    values: Integers | Text, rows: Numbers, keys: Integers | Text, others: Integers
) -> npt.NDArray[np.bool_]:
    """Whether values[rows] and keys[others] are equal, one by one."""
    if isinstance(values, Text) and isinstance(keys, Text):
        return values.same(rows, keys, others)
    same: npt.NDArray[np.bool_] = np.asarray(values)[rows] == np.asarray(keys)[others]
    return same


def _buckets(values: Integers | Text, buckets: int) -> Numbers:
    """The bucket of each id."""
    if isinstance(values, Text):
        data, spans = values.data.tobytes(), pairwise(values.offsets.tolist())
        crcs = (crc32(data[begin:end]) for begin, end in spans)
        hashes = np.fromiter(crcs, dtype=np.uint64, count=len(values))
    else:  # the upper half of a product: neighbouring numbers go to distant buckets
        hashes = (values.view(np.uint64) * np.uint64(_GOLDEN)) >> np.uint64(32)
    return (hashes & np.uint64(buckets - 1)).astype(np.int32)
