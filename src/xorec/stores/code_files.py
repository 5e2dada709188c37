"""Codes in a file of another library, with the tables beside it: `codes.faiss`, `codes.npy`.

`codes.faiss.tables/` is a Parquet folder with everything that a list needs, the codes too. The
file is for whoever has that library; where it is of another export than the folder (a
process died between the two), the folder is right.
"""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path

from xorec.core.addresses import Address
from xorec.core.errors import OptionError
from xorec.core.files import replacing
from xorec.core.locks import locked
from xorec.core.progress import SILENT, Progress
from xorec.stores.contents import Contents
from xorec.stores.parquet_folder import ParquetFolder
from xorec.stores.tables import Batch

_DIGEST = "codes.digest"
"""The file in the folder that says what the file of codes is."""


class CodeFile(ParquetFolder):
    """A file of codes and the folder beside it."""

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

    def forget(self) -> None:
        super().forget()
        vars(self).pop("is_current", None)

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
