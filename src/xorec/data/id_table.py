"""IdTable: the row of an id by a hash of its bytes. Two arrays, ready to be memory-mapped.

A bucket has the rows of all ids whose hash ends in the same bits, so a look-up compares the id
with one or two others. CRC-32 (of text) is Python's own, and the same on every machine.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import pairwise
from zlib import crc32

import numpy as np
import numpy.typing as npt

from xorec.data.text import Text, offsets_of, quick_view

Integers = npt.NDArray[np.int64]
Numbers = npt.NDArray[np.int32]

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
