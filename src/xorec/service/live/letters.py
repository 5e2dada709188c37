"""LetterIndex: many ids and names, found by letters that they begin with or have inside."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import as_contiguous
from xorec.data.text import Text
from xorec.service.live.letters_kernels import (
    Packed,
    Strings,
    Wanted,
    collect_begins,
    collect_inside,
    count_pairs,
    pack,
)

BEGINS, WORD, INSIDE = 1, 2, 3
"""How letters stand in an entry: at its beginning, at that of a word, inside; best first."""
_SAMPLE = 1 << 22
"""Bytes from which the pairs that texts have least are counted."""
_OF_WORDS = np.array([byte >= 0x80 or chr(byte).isalnum() for byte in range(256)])


class LetterIndex:
    """Entries in an order of their own, which is that of what is found: best first.

    ids, names: of all rows, folded (`live.folding.fold_all`), so that neither case nor accents
    count; a name may be missing or "". order: rows.

    >>> teas = LetterIndex(Text.pack(["t1", "t2"]), Text.pack(["Green tea", "Tea for two"]))
    >>> teas.search(b"tea", 5)
    [(1, 1), (2, 0)]
    """

    def __init__(
        self, ids: Text, names: Text | None = None, order: npt.NDArray[np.integer] | None = None
    ) -> None:
        names = _no_text(len(ids)) if names is None else names
        rows = np.arange(len(ids)) if order is None else order
        size = len(ids.data) + len(names.data) + 2 * len(rows)
        words = np.empty(-(-size // 8) + 1 + 16, dtype=np.uint64)
        self.packed = Packed(
            words.view(np.uint8),
            words,
            np.empty(2 * len(rows) + 1, dtype=np.int64),
            np.empty(2 * len(rows), dtype=np.uint64),
            np.zeros(len(rows), dtype=np.bool_),
        )
        pack(
            np.ascontiguousarray(rows, dtype=np.int32), _strings(ids), _strings(names), self.packed
        )
        self._pairs = np.zeros(1 << 16, dtype=np.int64)
        count_pairs(self.packed.data[:_SAMPLE], self._pairs)

    def __len__(self) -> int:
        return len(self.packed.skip)

    @property
    def nbytes(self) -> int:
        """Bytes that it keeps."""
        packed = self.packed
        return sum(one.nbytes for one in (packed.words, *packed[2:], self._pairs))

    def skip(self, entry: int) -> None:
        """Find this entry no more."""
        self.packed.skip[entry] = True

    def is_skipped(self, entry: int) -> bool:
        """Whether it is not found any more."""
        return bool(self.packed.skip[entry])

    def search(self, letters: bytes, k: int) -> list[tuple[int, int]]:
        """Up to k entries that have the letters, which are folded: (how, entry), best first.

        No letters: the first entries.
        """
        if not len(self):
            return []
        if not letters:
            first = np.flatnonzero(~self.packed.skip)[:k]
            return [(BEGINS, entry) for entry in first.tolist()]
        k = min(k, len(self))
        pattern = np.frombuffer(bytearray(letters), dtype=np.uint8)
        begins = np.empty(k, dtype=np.int32)
        found = begins[: collect_begins(self.packed, pattern, begins)].tolist()
        hits = [(BEGINS, entry) for entry in found]
        if len(hits) < k:
            words, others = np.empty((2, k - len(hits)), dtype=np.int32)
            wanted = Wanted(pattern, self._anchor(pattern))
            counts = collect_inside(self.packed, wanted, _OF_WORDS, words, others)
            hits += [(WORD, entry) for entry in words[: counts[0]].tolist()]
            hits += [(INSIDE, entry) for entry in others[: counts[1]].tolist()]
        return hits[:k]

    def _anchor(self, pattern: npt.NDArray[np.uint8]) -> int:
        """Where the pair of bytes stands that texts have least."""
        pairs = (pattern[:-1].astype(np.int64) << 8) | pattern[1:]
        return int(self._pairs[pairs].argmin()) if len(pairs) else 0


def _no_text(rows: int) -> Text:
    return Text(np.zeros(0, dtype=np.uint8), np.zeros(rows + 1, dtype=np.int64))


def _strings(text: Text) -> Strings:
    return Strings(as_contiguous(text.data), as_contiguous(text.offsets))
