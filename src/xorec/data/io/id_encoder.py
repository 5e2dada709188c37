"""Raw ids -> compact codes while a file streams by, exactly, in one pass.

An id becomes a key of two numbers, and an open-addressing table gives each new hash of a key the
next code. The key behind a code is kept, and every batch is compared with it, so that two ids with
one hash are noticed (`HashCollision`: read again with another hash seed) and never mixed up.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from xorec.core.growing_array import grown
from xorec.data.ids import Ids
from xorec.data.io.id_kernels import (
    Codes,
    are_equal,
    count_long_bytes,
    hash_keys,
    keep,
    look_up,
    move_table,
)
from xorec.data.io.id_keys import IdKeys, keys_of

if TYPE_CHECKING:
    import polars as pl

WHOLE_NUMBER = r"^(0|-?[1-9][0-9]{0,18})$"
"""Text that is an integer's own way of writing itself: not 007, not +7, not 7.0."""

NEVER_AN_ID = ("nan", "NaN")
NOT_AN_INTEGER = ("NA", "N/A", "na", "n/a", "null", "NULL", "None", "none", "#N/A", "-")
"""Words for "missing": the second kind counts as missing where every other id is an integer."""


class HashCollision(Exception):  # noqa: N818 - not an error: the reader tries again
    """Two different ids have the same hash."""


class IdEncoder:
    """Gives the ids of one column the codes 0, 1, 2, ... in the order of their first appearance.

    >>> import polars as pl
    >>> encoder = IdEncoder()
    >>> encoder.add(pl.Series(["b", "a", "b"])).tolist()
    [0, 1, 0]
    >>> ids, rows = encoder.finish(whole_numbers=True)
    >>> list(ids), rows.tolist()
    (['a', 'b'], [1, 0])
    """

    def __init__(self, seed: int = 0) -> None:
        self._seed = seed
        self._table = np.zeros((1 << 12, 2), dtype=np.uint64)
        self._keys = np.empty((0, 2), dtype=np.uint64)
        self._long_bytes = np.empty(0, dtype=np.uint8)
        self._count = self._bytes_used = 0
        self._pieces: list[pl.Series] = []

    def add(self, ids: pl.Series) -> Codes:
        """The codes of a batch of ids (no nulls, of one type in all batches), new ones taken in."""
        codes = np.empty(len(ids), dtype=np.int32)
        if len(ids) == 0:
            return codes
        self._make_room(len(ids))
        with keys_of(ids) as keys:
            rows = np.empty(len(ids), dtype=np.int32)
            fresh = look_up(hash_keys(keys, self._seed), self._table, self._count, codes, rows)
            if fresh:
                self._keep(ids, keys, rows[:fresh])
            if not are_equal(keys, codes, self._keys, self._long_bytes):
                raise HashCollision
        return codes

    def _keep(self, ids: pl.Series, keys: IdKeys, rows: Codes) -> None:
        """Keep the ids at these rows, and their keys."""
        self._pieces.append(ids.gather(rows))
        before, self._count = self._count, self._count + len(rows)
        self._keys = grown(self._keys, self._count)
        needed = self._bytes_used + int(count_long_bytes(keys.words, rows))
        self._long_bytes = grown(self._long_bytes, needed)
        new = self._keys[before : self._count]
        self._bytes_used = int(keep(keys, rows, new, self._long_bytes, self._bytes_used))

    def finish(self, *, whole_numbers: bool) -> tuple[Ids, Codes]:
        """The ids sorted, and the row of each code among them.

        whole_numbers: text ids that all are whole numbers become integers.
        """
        import polars as pl

        ids = self._known()
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

        known = self._known()
        if known.dtype != pl.String:
            return None
        words = [*NEVER_AN_ID, *NOT_AN_INTEGER] if text else []
        suspects = known.is_in(["", *words])
        for code in suspects.arg_true():
            word = known[int(code)]
            others = known.filter(~suspects)
            if word in ("", *NEVER_AN_ID) or (
                len(others) and others.str.contains(WHOLE_NUMBER).all()
            ):
                return int(code), word
        return None

    def _known(self) -> pl.Series:
        """The ids by their codes."""
        import polars as pl

        if not self._pieces:
            return pl.Series([], dtype=pl.String)
        self._pieces = [pl.concat(self._pieces, rechunk=True)]
        return self._pieces[0]

    def _make_room(self, more: int) -> None:
        """Keep the table at most half full."""
        needed = 2 * (self._count + more)
        if needed > len(self._table):
            bigger = np.zeros((1 << (needed - 1).bit_length(), 2), dtype=np.uint64)
            move_table(self._table, bigger)
            self._table = bigger
