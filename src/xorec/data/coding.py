"""Raw ids -> compact codes while a file streams by, exactly, in one pass.

Polars hashes every id in its own threads; an open-addressing table gives each new hash the next
code. The text behind a code is kept once, and every batch is compared with it, so that two ids
with one hash are noticed (`HashCollision`: read again with another hash seed) and never mixed up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from numba import uint64

from xorec.data.ids import Ids
from xorec.kernels import kernel

if TYPE_CHECKING:
    import polars as pl

Codes = npt.NDArray[np.int32]
Hashes = npt.NDArray[np.uint64]

WHOLE_NUMBER = r"^(0|-?[1-9][0-9]{0,18})$"
"""Text that is an integer's own way of writing itself: not 007, not +7, not 7.0."""

NEVER_AN_ID = ("nan", "NaN")
NOT_AN_INTEGER = ("NA", "N/A", "na", "n/a", "null", "NULL", "None", "none", "#N/A", "-")
"""Words for "missing": the second kind counts as missing where every other id is an integer."""


class HashCollision(Exception):  # noqa: N818 - not an error: the reader tries again
    """Two different ids have the same hash."""


class Coder:
    """Gives the ids of one column the codes 0, 1, 2, ... in the order of their first appearance."""

    def __init__(self) -> None:
        self._table: Hashes = np.zeros((1 << 12, 2), dtype=np.uint64)
        self._count = 0
        self._known: pl.Series | None = None

    def add(self, ids: pl.Series, hashes: Hashes) -> Codes:
        """The codes of a batch of ids (no nulls), new ones taken in."""
        self._make_room(len(ids))
        codes = np.empty(len(ids), dtype=np.int32)
        first_rows = np.empty(len(ids), dtype=np.int32)
        fresh = _look_up(hashes, self._table, self._count, codes, first_rows)
        if fresh:
            new = ids.gather(first_rows[:fresh])
            # in one piece, for polars gathers from several four times as slowly
            self._known = new if self._known is None else self._known.append(new).rechunk()
            self._count += fresh
        if self._known is not None and not (self._known.gather(codes) == ids).all():
            raise HashCollision
        return codes

    def finish(self, *, whole_numbers: bool) -> tuple[Ids, Codes]:
        """The ids sorted, and the row of each code among them.

        whole_numbers: text ids that all are whole numbers become integers.
        """
        import polars as pl

        ids = pl.Series([], dtype=pl.String) if self._known is None else self._known
        if whole_numbers and len(ids) and ids.str.contains(WHOLE_NUMBER).all():
            numbers = ids.cast(pl.Int64, strict=False)
            ids = ids if numbers.null_count() else numbers
        order = ids.arg_sort().to_numpy()
        rows = np.empty(len(ids), dtype=np.int32)
        rows[order] = np.arange(len(ids), dtype=np.int32)
        return Ids.from_series(ids.gather(order)), rows

    def missing_word(self, *, text: bool) -> tuple[int, str] | None:
        """The code and the id of one that is empty, or a word for "missing" if ids come as text."""
        import polars as pl

        if self._known is None or self._known.dtype != pl.String:
            return None
        words = [*NEVER_AN_ID, *NOT_AN_INTEGER] if text else []
        suspects = self._known.is_in(["", *words])
        for code in suspects.arg_true():
            word = self._known[int(code)]
            others = self._known.filter(~suspects)
            if word in ("", *NEVER_AN_ID) or (
                len(others) and others.str.contains(WHOLE_NUMBER).all()
            ):
                return int(code), word
        return None

    def _make_room(self, more: int) -> None:
        """Keep the table at most half full."""
        needed = 2 * (self._count + more)
        if needed > len(self._table):
            bigger = np.zeros((1 << (needed - 1).bit_length(), 2), dtype=np.uint64)
            _move(self._table, bigger)
            self._table = bigger


@kernel
def _look_up(hashes: Hashes, table: Hashes, count: int, codes: Codes, first_rows: Codes) -> Any:
    """Fill `codes` with the code of each hash; new hashes get codes from `count` on.

    A line of the table is a hash and its code + 1, side by side in memory; 0 is no code. Returns
    how many were new; their rows are in `first_rows`.
    """
    mask = uint64(len(table) - 1)
    fresh = 0
    for row in range(len(hashes)):
        key = hashes[row]
        slot = key & mask
        while table[slot, 1] != 0 and table[slot, 0] != key:
            slot = (slot + uint64(1)) & mask
        if table[slot, 1] == 0:
            table[slot, 0] = key
            table[slot, 1] = uint64(count + fresh + 1)
            first_rows[fresh] = row
            fresh += 1
        codes[row] = np.int32(table[slot, 1] - uint64(1))
    return fresh


@kernel
def _move(table: Hashes, bigger: Hashes) -> Any:
    """Put every entry into the bigger table."""
    mask = uint64(len(bigger) - 1)
    for old in range(len(table)):
        if table[old, 1] != 0:
            slot = table[old, 0] & mask
            while bigger[slot, 1] != 0:
                slot = (slot + uint64(1)) & mask
            bigger[slot, 0] = table[old, 0]
            bigger[slot, 1] = table[old, 1]
