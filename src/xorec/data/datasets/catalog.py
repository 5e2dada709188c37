"""Named data sets: `debian` comes with xorec, the others are fetched once into a cache.

Wherever xorec takes data it takes a name from this catalogue or a path. A name of the catalogue
always means the catalogue; write `./debian` for a file of that name.
"""

from __future__ import annotations

import json
import os
import shutil
import tomllib
import zipfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xorec.core.addresses import parse_address
from xorec.core.errors import DataError, OptionError
from xorec.core.files import replacing, system_errors, write_text
from xorec.core.memory import require_address_space
from xorec.core.paths import near_file, user_cache, what_is_at
from xorec.core.printable import LONGEST_VALUE, closest, quoted, shortened
from xorec.core.progress import SILENT, Progress
from xorec.data.categories import Categories
from xorec.data.ids import Ids
from xorec.data.interactions import Interactions
from xorec.data.text import Text, offsets_of

if TYPE_CHECKING:
    import polars as pl


def read_embedded(interactions: Path, items_table: Path) -> Interactions:
    """The interactions of the two files."""
    require_address_space()
    import polars as pl

    def rows_in(values: pl.Series, series: pl.Series) -> npt.NDArray[np.int32]:
        return series.cast(pl.Enum(values)).to_physical().to_numpy().astype(np.int32)

    pairs, table = pl.read_parquet(interactions), pl.read_parquet(items_table)
    runs = pairs["user"].rle().struct.unnest()
    users, items = Ids.from_series(runs["value"]), Ids.from_series(table["item"])
    labels = table["category"].unique().sort()
    one_each = np.arange(len(items) + 1, dtype=np.int64)
    return Interactions(
        users,
        items,
        offsets_of(runs["len"].to_numpy()),
        rows_in(table["item"], pairs["item"]),
        names=items.values if isinstance(items.values, Text) else None,
        categories=Categories(Text.pack(labels), one_each, rows_in(labels, table["category"])),
    )


# the order of the flags in u.item, from u.genre
_GENRES = (
    *("unknown", "Action", "Adventure", "Animation", "Children's", "Comedy", "Crime"),
    *("Documentary", "Drama", "Fantasy", "Film-Noir", "Horror", "Musical", "Mystery"),
    *("Romance", "Sci-Fi", "Thriller", "War", "Western"),
)


def item_table(name: str, content: bytes) -> pl.DataFrame:
    """The items of a release; several categories are joined by "|", as GroupLens writes them.

    name: u.item (100K: one flag a genre), movies.dat (1M: "::") or movies.csv (20M and later).
    """
    import polars as pl

    if name == "movies.csv":
        table = pl.read_csv(content, infer_schema=False)
        rows = table.select("movieId", "title", "genres").rows()
    else:
        lines = filter(None, content.decode("latin-1").splitlines())
        rows = [tuple(line.split("::" if name == "movies.dat" else "|")) for line in lines]
    if name == "u.item":
        flagged = [(row, zip(_GENRES, row[-len(_GENRES) :], strict=True)) for row in rows]
        rows = [
            (*row[:2], "|".join(g for g, flag in pairs if flag == "1")) for row, pairs in flagged
        ]
    schema = {"item": pl.String, "name": pl.String, "category": pl.String}
    table = pl.DataFrame(rows, schema=schema, orient="row")
    return table.with_columns(pl.col("item").cast(pl.Int64))


EMBEDDED = Path(__file__).parent / "embedded"


@dataclass(frozen=True, kw_only=True)
class DataSet:
    """A named data set, as the catalogue describes it.

    users, items, pairs: as published (before any filter).
    url: where the file is; None for the data that comes with xorec.
    checksum: "sha256:..." of that file; None if none is published: then the first download is
        trusted and its SHA-256 recorded.
    size: bytes of that file, where known.
    members: the files of a MovieLens archive that are kept: ratings and items; none means that
        the file itself holds the interactions.
    """

    name: str
    title: str
    users: int
    items: int
    pairs: int
    terms: str
    citation: str
    url: str | None = None
    checksum: str | None = None
    size: int | None = None
    members: Sequence[str] = ()

    @property
    def embedded(self) -> bool:
        """Whether it comes with xorec."""
        return self.url is None

    @property
    def folder(self) -> Path:
        """Where its files are."""
        return EMBEDDED if self.url is None else cache_folder() / self.name

    @property
    def files(self) -> tuple[Path, ...]:
        """The files that are read; the first holds the interactions."""
        if self.url is None:
            return (EMBEDDED / "interactions.parquet", EMBEDDED / "items.parquet")
        pairs = self.folder / _last(self.members[0] if self.members else self.url)
        return (pairs, self.folder / "items.parquet") if self.members else (pairs,)

    @property
    def present(self) -> bool:
        """Whether it can be read without a network."""
        return all(path.is_file() for path in self.files)

    @property
    def bytes(self) -> int | None:
        """What is downloaded, or shipped, in bytes; None where it is not known yet."""
        if self.url is None:
            return sum(path.stat().st_size for path in self.files)
        return self.size or self.record.get("bytes")

    @property
    def record(self) -> dict[str, Any]:
        """The record of the download: url, sha256, bytes; empty before it is fetched."""
        path = self.folder / "fetched.json"
        try:
            return dict(json.loads(path.read_text())) if not self.embedded else {}
        except (OSError, ValueError):
            return {}


CATALOG = {
    name: DataSet(name=name, **entry)
    for name, entry in tomllib.loads((EMBEDDED / "catalog.toml").read_text("utf-8")).items()
}


def cache_folder() -> Path:
    """The folder of fetched data sets: $XOREC_DATA, or the platform's cache folder."""
    if chosen := os.environ.get("XOREC_DATA"):
        return Path(chosen).expanduser()
    return user_cache() / "data"


def find(name: str) -> DataSet:
    """The data set of that name, or an error that names the nearest ones."""
    if name in CATALOG:
        return CATALOG[name]
    raise DataError(f"there is no data set {name!r}; {_nearest(name)}")


def fetch_data(name: str, *, again: bool = False, progress: Progress = SILENT) -> DataSet:
    """Bring a named data set to this machine, unless it is here (`again`: fetch it anyway).

    A file without a published checksum must have the one that was recorded the first time.
    """
    entry = find(name)
    if entry.url is None or (entry.present and not again):
        return entry
    from xorec.data.datasets.transfer import fetch

    recorded = entry.record.get("sha256")
    checksum = entry.checksum or (f"sha256:{recorded}" if recorded else None)
    file = entry.folder / _last(entry.url)
    sha256 = fetch(entry.url, file, checksum=checksum, size=entry.size, progress=progress)
    record = {"url": entry.url, "sha256": sha256, "bytes": file.stat().st_size}
    try:
        if entry.members:
            unpack(file, entry)
        write_text(entry.folder / "fetched.json", json.dumps(record, indent=1) + "\n")
    except (zipfile.BadZipFile, KeyError, OSError) as error:
        raise DataError(f"{file} cannot be unpacked ({error}): make room, fetch again.") from error
    return entry


def unpack(archive: Path, entry: DataSet) -> None:
    """Keep ratings and items of a MovieLens archive, in place only when whole; drop the rest."""
    from polars.exceptions import PolarsError

    ratings, items = entry.members
    with (
        zipfile.ZipFile(archive) as file,
        replacing(entry.files[0]) as pairs,
        replacing(entry.files[1]) as info,
        system_errors(PolarsError),
    ):
        with file.open(ratings) as packed, pairs.open("wb") as plain:
            shutil.copyfileobj(packed, plain)
        item_table(_last(items), file.read(items)).write_parquet(info)
    archive.unlink()


def _last(path: str) -> str:
    """The last part of a URL or of a path in an archive."""
    return path.rpartition("/")[2]


def load_data(
    source: str | Path,
    *,
    threads: int | None = None,
    progress: Progress = SILENT,
    **options: Any,
) -> Interactions:
    """The interactions of a named data set, of a file or of a database.

    source: a name of the catalogue, a path, or the address of a database. A `str` that is a name
        of the catalogue means the catalogue, whatever files there are; `./debian` or
        `Path("debian")` means the file.
    threads, progress: as in `xorec.read`.
    options: those of `xorec.read` for a file. A named data set knows its columns and takes none.

    >>> load_data("debian")
    Interactions(9,157 users x 3,817 items, 96,495 pairs, names, categories)
    """
    from xorec.data.io.read import read

    options = {name: value for name, value in options.items() if value is not None}
    entry = CATALOG.get(source) if isinstance(source, str) else None
    if entry is None:
        return read(_location(source), threads=threads, progress=progress, **options)
    if options:
        given = ", ".join(options)
        raise OptionError(f"{entry.name} is a named data set and knows its columns: drop {given}.")
    if entry.embedded:
        return read_embedded(*entry.files)
    if not entry.present:
        raise DataError(
            f"{entry.name} is not on this machine yet: run `xorec data fetch {entry.name}`."
        )
    pairs, *info = entry.files
    return read(pairs, item_info=info[0] if info else None, threads=threads, progress=progress)


def _location(source: str | Path) -> str | Path:
    """The address of a database as it is, or a path at which there is something."""
    if parse_address(source) is not None:
        return source
    try:
        path = Path("/dev/stdin") if source == "-" else Path(source).expanduser()
    except RuntimeError as error:
        raise DataError(f"{source}: {error}: write the path without ~.") from None
    if not what_is_at(path, DataError):
        raise DataError(
            f"{shortened(str(source), LONGEST_VALUE)}: there is no such file and no data set of "
            f"that name; {_nearest(path.name, near_file(path))}"
        )
    return path


def _nearest(name: str, file: Path | None = None) -> str:
    """The end of the sentence: `file`, and the names of the catalogue like `name`; or all names."""
    near = [*([] if file is None else [quoted(str(file))]), *closest(name, CATALOG, 3)]
    return f"did you mean {' or '.join(near)}?" if near else f"there are {', '.join(CATALOG)}."
