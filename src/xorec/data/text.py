"""Text: many strings in two arrays (UTF-8 bytes and offsets), ready to be memory-mapped."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np
import numpy.typing as npt

Bytes = npt.NDArray[np.uint8]
Offsets = npt.NDArray[np.int64]


class Text:
    """An immutable list of strings. String `i` is `data[offsets[i]:offsets[i + 1]]`."""

    __slots__ = ("data", "offsets")

    def __init__(self, data: Bytes, offsets: Offsets) -> None:
        self.data, self.offsets = data, offsets

    @classmethod
    def pack(cls, strings: Iterable[str]) -> Text:
        """Pack Python strings."""
        encoded = [string.encode("utf-8", "surrogateescape") for string in strings]
        offsets = np.zeros(len(encoded) + 1, dtype=np.int64)
        np.cumsum([len(piece) for piece in encoded], out=offsets[1:])
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

    def take(self, rows: npt.NDArray[np.integer]) -> Text:
        """The strings at `rows`, in that order."""
        places, offsets = gather_spans(self.offsets, rows)
        return Text(self.data[places], offsets)

    def is_ascending(self) -> bool:
        """Whether every string is smaller than the next one; eight bytes at a time, all at once."""
        left, at = np.arange(max(len(self) - 1, 0)), 0
        while len(left):
            here, following = self._eight_bytes(left, at), self._eight_bytes(left + 1, at)
            if (here > following).any():
                return False
            left = left[here == following]
            at += 8
            sizes, next_sizes = self._sizes(left), self._sizes(left + 1)
            ended = np.maximum(sizes, next_sizes) <= at
            if (sizes >= next_sizes)[ended].any():
                return False
            left = left[~ended]
        return True

    def _sizes(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.int64]:
        return self.offsets[rows + 1] - self.offsets[rows]

    def _eight_bytes(self, rows: npt.NDArray[np.int64], at: int) -> npt.NDArray[np.uint64]:
        """Eight bytes of each string from place `at`, zeros after its end, as one number."""
        value = np.zeros(len(rows), dtype=np.uint64)
        sizes = self._sizes(rows)
        for place in range(at, at + 8):
            inside = place < sizes
            value <<= np.uint64(8)
            value[inside] |= self.data[self.offsets[rows[inside]] + place]
        return value

    @property
    def nbytes(self) -> int:
        return self.data.nbytes + self.offsets.nbytes


def gather_spans(
    offsets: Offsets, rows: npt.NDArray[np.integer]
) -> tuple[npt.NDArray[np.int64], Offsets]:
    """Where the contents of `rows` lie, one after the other, and their new offsets.

    The content of row `r` is at `offsets[r]` up to `offsets[r + 1]`.
    """
    rows = np.asarray(rows, dtype=np.int64)
    sizes = offsets[rows + 1] - offsets[rows]
    new_offsets = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(sizes, out=new_offsets[1:])
    shifts = np.repeat(offsets[rows] - new_offsets[:-1], sizes)
    return shifts + np.arange(new_offsets[-1]), new_offsets
