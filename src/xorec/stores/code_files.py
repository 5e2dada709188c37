"""Codes in a file of another library, with the tables beside it: `codes.faiss`, `codes.npy`.

`codes.faiss.tables/` is a Parquet folder with everything that a list needs, the codes too. The
file is for programs that have that library; where it is of another export than the folder (a
process died between the two), the folder is right.

faiss breaks ties by the smaller label, so labels are tie ranks and lists come out right. It counts
bits and nothing else, so what a distance is corrected by is counted in bits, too: behind an item's
code stand as many set bits as it lags behind the item that gains most, where a query has zeros.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt

from xorec.core.addresses import Address
from xorec.core.bits import MOST_OFFSET, Words, words_for
from xorec.core.errors import MissingExtraError, OptionError
from xorec.core.files import replacing
from xorec.core.locks import locked
from xorec.core.progress import SILENT, Progress
from xorec.stores.contents import Contents
from xorec.stores.parquet_folder import ParquetFolder
from xorec.stores.schema import About
from xorec.stores.tables import Batch, code_bytes

_DIGEST = "codes.digest"
"""The file in the folder that has the digest of the file of codes."""


class CodeFile(ParquetFolder):
    """A file of codes and the folder beside it."""

    read: ClassVar = (*ParquetFolder.read, "is_current")

    def __init__(self, address: Address) -> None:
        assert address.path is not None
        tables = address.path.with_name(f"{address.path.name}.tables")
        super().__init__(replace(address, path=tables))
        self.address, self.path = address, address.path

    @abstractmethod
    def write_codes(self, contents: Contents, path: Path) -> None:
        """Write the file of codes."""

    def write(self, contents: Contents, progress: Progress = SILENT) -> dict[str, int]:
        if not contents.about.bits:
            raise OptionError(
                f"{contents.about.model} has no codes for {self.path}: export its lists to a "
                "database or to a folder NAME.parquet."
            )
        with self.telling("export to"), locked(self.path), replacing(self.path) as temporary:
            self._temporary = temporary
            return super().write(contents, progress)

    def fill(self, contents: Contents, folder: Path, progress: Progress) -> dict[str, int]:
        counts = super().fill(contents, folder, progress)
        self.write_codes(contents, self._temporary)
        (folder / _DIGEST).write_text(digest_of(self._temporary), encoding="utf-8")
        return counts

    @cached_property
    def is_current(self) -> bool:
        """Whether the file of codes is of the same export as the folder."""
        with suppress(OSError):
            return (self.folder / _DIGEST).read_text(encoding="utf-8") == digest_of(self.path)
        return False


def digest_of(path: Path) -> str:
    """The digest of a file's bytes."""
    from blake3 import blake3

    return str(blake3().update_mmap(path).hexdigest())


def items_of(contents: Contents) -> Iterator[Batch]:
    """The items in batches: item_row, tie_rank, code, ..."""
    return next(table for table in contents.tables if table.name == "items").batches()


class NpyStore(CodeFile):
    """numpy.load(path): uint64 (items, words) by item_row, memory-mapped.

    Bit k of a code is bit k % 64 of word k // 64.
    """

    kind = "npy"
    read: ClassVar = (*CodeFile.read, "item_codes")

    def write_codes(self, contents: Contents, path: Path) -> None:
        about = contents.about
        shape = (about.items, words_for(about.bits))
        words = np.lib.format.open_memmap(path, mode="w+", dtype="<u8", shape=shape)
        for batch in items_of(contents):
            words[batch["item_row"]] = batch["code"]
        words.flush()

    @cached_property
    def item_codes(self) -> Words:
        if not self.is_current:
            words: Words = self.items["code"]
            return words
        with self.telling("ask"):
            return np.asarray(np.load(self.path, mmap_mode="r"), dtype=np.uint64)


class FaissFile(CodeFile):
    """faiss.read_index_binary(path): a label is a tie_rank of items.parquet."""

    kind = "faiss"
    extra = "faiss"
    read: ClassVar = (*CodeFile.read, "index", "_item_at")

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


def with_lags(batch: Batch, about: About) -> npt.NDArray[np.uint8]:
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
