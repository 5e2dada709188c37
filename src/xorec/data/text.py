"""Text: many strings in two arrays (UTF-8 bytes and offsets), ready to be memory-mapped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]


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


def gather_spans(
    offsets: Offsets, rows: npt.NDArray[np.integer]
) -> tuple[npt.NDArray[np.int64], Offsets]:
    """The positions of the contents of `rows`, `offsets[r]` up to `offsets[r + 1]` of each, and
    the offsets of these rows alone.
    """
    rows = np.asarray(rows, dtype=np.int64)
    sizes = offsets[rows + 1] - offsets[rows]
    new_offsets = offsets_of(sizes)
    shifts = np.repeat(offsets[rows] - new_offsets[:-1], sizes)
    return shifts + np.arange(new_offsets[-1]), new_offsets
