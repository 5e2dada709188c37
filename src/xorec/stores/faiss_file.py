"""A faiss file: the items' codes as an IndexBinaryFlat, rows in tie order.

faiss breaks ties by the smaller label, so labels are tie ranks and lists come out right. It counts
bits and nothing else, so what a distance is corrected by is counted in bits, too: behind an item's
code stand as many set bits as it lags behind the item that gains most, where a query has zeros.
"""

from __future__ import annotations

from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.addresses import Address
from xorec.core.bits import Words
from xorec.core.code_rows import MOST_OFFSET
from xorec.core.errors import MissingExtraError
from xorec.stores.about import About
from xorec.stores.code_files import CodeFile, items_of
from xorec.stores.contents import Contents
from xorec.stores.tables import Batch, code_bytes

Bytes = npt.NDArray[np.uint8]


class FaissFile(CodeFile):
    """faiss.read_index_binary(path): a label is a tie_rank of items.parquet."""

    kind = "faiss"
    extra = "faiss"

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        self.driver_errors = (*self.driver_errors, RuntimeError)

    @cached_property
    def _faiss(self) -> Any:
        try:
            import faiss
        except ImportError:
            raise MissingExtraError(
                f"{self.path} needs faiss: pip install 'xorec[faiss]'."
            ) from None
        return faiss

    def write_codes(self, contents: Contents, path: Path) -> None:
        self._faiss.write_index_binary(
            self._index_of(contents.about, items_of(contents)), str(path)
        )

    def _index_of(self, about: About, batches: Any) -> Any:
        size = -(-about.bits // 8) + _lag_bytes(about)
        rows = np.zeros((about.items, size), dtype=np.uint8)
        for batch in batches:
            rows[batch["tie_rank"]] = with_lags(batch, about)
        index = self._faiss.IndexBinaryFlat(8 * size)
        index.add(rows)
        return index

    @cached_property
    def index(self) -> Any:
        """The index of the file, or one that is made of the folder where the file is another's."""
        if self.is_current:
            with self.telling("ask"):
                return self._faiss.read_index_binary(str(self.path))
        return self._index_of(self.about, [self.items])

    @cached_property
    def _item_at(self) -> npt.NDArray[np.int64]:
        """The row at each tie rank."""
        rows = np.empty(self.about.items, dtype=np.int64)
        rows[self.items["tie_rank"]] = np.arange(self.about.items)
        return rows

    def forget(self) -> None:
        super().forget()
        for name in ("index", "_item_at"):
            vars(self).pop(name, None)

    def nearest_rows(
        self, code: Words, k: int, hidden: npt.NDArray[Any]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """faiss knows nothing of seen items: as many more are asked for as there are."""
        about, items = self.about, self.about.items
        query = np.zeros((1, self.index.code_size), dtype=np.uint8)
        own = code_bytes(code[None], about.bits)
        query[:, : own.shape[1]] = own
        threads = self._faiss.omp_get_max_threads()
        self._faiss.omp_set_num_threads(1)  # of this thread: others would only wait for one query
        try:
            away, labels = self.index.search(query, min(items, k + len(hidden)))
        finally:
            self._faiss.omp_set_num_threads(threads)
        rows = self._item_at[labels[0]]
        kept = ~np.isin(rows, hidden)
        return rows[kept][:k], self._distances(away[0][kept][:k].astype(np.int64), code)

    def _distances(self, away: npt.NDArray[np.int64], code: Words) -> npt.NDArray[np.int64]:
        """The distances that lists are ordered by, of those that faiss has counted."""
        if self.about.ranking == "masked-codes":
            own = int(np.bitwise_count(code).sum())
            return (away - self.about.bits + own) // 2
        return away - MOST_OFFSET if self.about.offsets else away


def _lag_bytes(about: About) -> int:
    """Bytes behind a code that count what an item lags behind."""
    if about.ranking == "masked-codes":
        return -(-about.bits // 8)
    return -(-MOST_OFFSET // 8) if about.offsets else 0


def with_lags(batch: Batch, about: About) -> Bytes:
    """The bytes of codes, and as many set bits behind them as an item lags behind.

    Of masked codes |u and not i| = (|u xor i| + bits - |i| + |u| - bits) / 2: the lag is the number
    of clear bits. Of offsets: what they are less than the largest that there may be.
    """
    codes = code_bytes(batch["code"], about.bits)
    if about.ranking == "masked-codes":
        lags = about.bits - np.asarray(batch["set_bits"])
    elif about.offsets:
        lags = MOST_OFFSET - np.asarray(batch["item_offset"])
    else:
        return codes
    bits = np.arange(8 * _lag_bytes(about)) < lags[:, None]
    return np.concatenate([codes, np.packbits(bits, axis=1)], axis=1)
