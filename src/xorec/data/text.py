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
        return Text.pack(self[int(row)] for row in rows)

    @property
    def nbytes(self) -> int:
        return self.data.nbytes + self.offsets.nbytes
