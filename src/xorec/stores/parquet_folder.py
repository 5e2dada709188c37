"""A folder of Parquet files, one a table: for data lakes and for joins in polars.

Codes are words of 64 bits (w0, w1, ...). The folder is swapped as a whole. A folder of files of
another kind derives from this one: it has another `ending`, `write_table` and `scan_table`.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
import polars as pl

from xorec.core.addresses import Address
from xorec.core.bits import Words
from xorec.core.errors import StoreError
from xorec.core.files import replacing_folder, write_frames
from xorec.core.locks import locked
from xorec.core.memory import require_address_space
from xorec.core.progress import SILENT, Progress, Task
from xorec.representations.codes import distances
from xorec.stores.base import Near, Rows, Store
from xorec.stores.contents import Contents, Table
from xorec.stores.schema import ABOUT, About, Schema, schema_of
from xorec.stores.tables import frame_schema, from_frame, rows_of, to_frame


class ParquetFolder(Store):
    """Tables as files `items.parquet`, `users.parquet`, ... in one folder."""

    kind = "parquet"
    ending: ClassVar[str] = ".parquet"
    """Of the files of tables."""
    read: ClassVar[tuple[str, ...]] = ("about", "items")
    """Cached properties that hold what was read of an export."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        assert address.path is not None
        self.folder = address.path
        self.driver_errors = (OSError, pl.exceptions.PolarsError)

    def write(self, contents: Contents, progress: Progress = SILENT) -> dict[str, int]:
        require_address_space()
        self._refuse_foreign_folder()
        self.forget()
        lock = self.folder.with_name(f"{self.folder.name}.export")
        with self.telling("export to"), locked(lock), replacing_folder(self.folder) as temporary:
            return self.fill(contents, temporary, progress)

    def fill(self, contents: Contents, folder: Path, progress: Progress) -> dict[str, int]:
        """Write all tables to a folder; their rows."""
        counts: dict[str, int] = {}
        with progress.task("export", contents.rows) as task:
            for table in contents.tables:
                frames, types = _frames(table, task, counts), frame_schema(table.schema.columns)
                self.write_table(frames, types, folder / f"{table.name}{self.ending}")
        return counts

    def write_table(self, frames: Iterator[Any], types: Any, path: Path) -> None:
        """Write the frames of a table to a file, as they come; types: of the columns, by name."""
        write_frames(frames, types, path)

    def scan_table(self, path: Path, types: Any) -> Any:
        """The table in a file as a lazy frame; types: of the columns, by name."""
        return pl.scan_parquet(path)

    def _refuse_foreign_folder(self) -> None:
        if self.folder.is_dir() and any(self.folder.iterdir()) and not self._has("about"):
            raise StoreError(
                f"{self.folder} holds something that xorec did not make: choose another name."
            )

    def _has(self, table: str) -> bool:
        return self._path(table).is_file()

    def forget(self) -> None:
        """Drop what was read of an older export."""
        for name in self.read:
            vars(self).pop(name, None)

    def read_about(self) -> About | None:
        if not self._has("about"):
            return None
        with self.telling("ask"):
            rows = self._scan(ABOUT).collect().rows()
        return About.of_rows(rows, str(self.address))

    def fetch(
        self, table: str, columns: Sequence[str], where: str, values: Sequence[int | str]
    ) -> Rows:
        schema = schema_of(self.about)[table]
        kind = frame_schema(schema.columns)[where]
        wanted = pl.Series(sorted(set(values)), dtype=pl.Int64 if kind.is_integer() else kind)
        if table == "items" and where == "item_row":
            rows = wanted.filter(wanted < self.about.items)
            return from_frame(self.items["frame"][rows], [schema.column(name) for name in columns])
        with self.telling("ask"):
            found = self._scan(schema).filter(pl.col(where).is_in(wanted.implode())).collect()
        return from_frame(found, [schema.column(name) for name in columns])

    def nearest(self, user: int | str, k: int, *, seen: bool = False) -> list[Near]:
        found = self.fetch("users", ["user_row", "code"], "user_id", [user])
        hidden: npt.NDArray[Any] = np.zeros(0, dtype=np.int64)
        if not seen:
            user_row = int(found["user_row"][0])
            hidden = self.fetch("seen", ["item_row"], "user_row", [user_row])["item_row"]
        rows, away = self.nearest_rows(found["code"][0], k, hidden)
        return self._described(rows, away)

    def nearest_rows(
        self, code: Words, k: int, hidden: npt.NDArray[Any]
    ) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
        """(rows, distances) of the k items nearest to a code, without the rows `hidden`."""
        away = self.corrected(distances(code, self.item_codes), code)
        open_ = np.ones(len(away), dtype=np.bool_)
        open_[hidden] = False
        rows = np.flatnonzero(open_)
        if k < len(rows):  # only what is as near as the k-th need be put in order
            rows = rows[away[rows] <= np.partition(away[rows], k - 1)[k - 1]]
        best = rows[np.lexsort((self.items["tie_rank"][rows], away[rows]))[:k]]
        return best, away[best]

    def corrected(self, away: npt.NDArray[np.int64], code: Words) -> npt.NDArray[np.int64]:
        """The distances that lists are ordered by, of Hamming distances to all items."""
        if self.about.ranking == "masked-codes":  # |u and not i| = (|u xor i| + |u| - |i|) / 2
            own = int(np.bitwise_count(code).sum())
            return np.asarray((away + own - self.items["set_bits"]) // 2)
        return away - self.items["item_offset"] if self.about.offsets else away

    @cached_property
    def items(self) -> Rows:
        """All items, by row: the file is read once."""
        schema = schema_of(self.about)["items"]
        with self.telling("ask"):
            frame = self._scan(schema).collect()
        columns = [one for one in schema.columns if one.name not in ("item_id", "name")]
        return {**from_frame(frame, columns), "frame": frame}

    @property
    def item_codes(self) -> Words:
        """The words of all items' codes, by row."""
        words: Words = self.items["code"]
        return words

    def _described(self, rows: npt.NDArray[np.int64], away: npt.NDArray[np.int64]) -> list[Near]:
        found = self.items["frame"][rows.tolist()]
        names = found["name"].to_list() if self.about.names else [None] * len(rows)
        ids = found["item_id"].to_list()
        return [*map(Near, rows.tolist(), ids, names, away.tolist())]

    def _path(self, table: str) -> Path:
        return self.folder / f"{table}{self.ending}"

    def _scan(self, schema: Schema) -> Any:
        return self.scan_table(self._path(schema.name), frame_schema(schema.columns))


def _frames(table: Table, task: Task, counts: dict[str, int]) -> Iterator[Any]:
    counts[table.name] = 0
    for batch in table.batches():
        counts[table.name] += rows_of(batch)
        task.advance(rows_of(batch), table=table.name)
        yield to_frame(table.schema.columns, batch)
