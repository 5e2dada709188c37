"""What Spark can read, opened: files and folders, tables of its catalogue, databases by JDBC.

Opening looks at names, types and first lines. What a column is for and what ids become is told by
the same rules as on one machine.
"""

from __future__ import annotations

import gzip
import os
import re
import zlib
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from xorec.core.errors import DataError, XorecError
from xorec.core.paths import open_once, what_is_at
from xorec.core.printable import quoted
from xorec.data.io.base import Source
from xorec.data.io.columns import Columns
from xorec.data.io.data_file import GZIP, HEAD, DataFile, FileLimits, Layout, ending_of
from xorec.data.io.registry import ENDINGS, discover, format_of, join_parts
from xorec.engines.spark.row_tasks import ELSEWHERE, FILE, LINE, START, TextFile, open_text
from xorec.engines.spark.session import SparkAddress, one_line_errors


def local_head(path: Path, limits: FileLimits) -> bytes:
    """The first lines of a local file, unpacked; refuses what Spark would not unpack as we do."""
    file, is_pipe = open_once(path, DataError)
    try:
        if is_pipe:
            raise DataError(f"{path} is a pipe, which Spark cannot read: write it to a file first.")
        start = file.read(2)
        file.seek(0)
        if (start == GZIP) != (path.suffix.lower() == ".gz") and start:
            what = "gzipped and not called" if start == GZIP else "not gzipped and called"
            raise DataError(f"{path} is {what} .gz, by which Spark tells: rename it.")
        if start != GZIP:
            return file.read(HEAD) + file.readline(limits.line)
        try:
            with gzip.GzipFile(fileobj=file) as unpacked:
                return unpacked.read(HEAD) + unpacked.readline(limits.line)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DataError(f"{path} is not a whole gzip file ({error}): fetch it again.") from None
    finally:
        file.close()


def spark_head(session: Any, location: str) -> bytes:
    """Of a file that only Spark can reach: its first lines, none longer than the head."""
    from pyspark.sql import functions as f

    lines = session.read.option("lineSep", "\n").text(location)
    value = f.substring(f.col("value").cast("binary"), 1, HEAD + 1)
    with one_line_errors():
        found = lines.select(value.alias("line")).limit(1000).toArrow().column("line").to_pylist()
        if sum(map(len, found)) < HEAD and len(found) == 1000:
            found = lines.select(value.alias("line")).limit(HEAD).toArrow()
            found = found.column("line").to_pylist()
    return b"".join(line + b"\n" for line in found)


_WHOLE = ("tinyint", "smallint", "int", "bigint")
_IDS = (*_WHOLE, "float", "double", "string")
_BATCH_ROWS, _BATCH_BYTES = 1 << 16, 1 << 24
_EXACT_DIGITS = 18
"""Of a decimal that is a 64-bit integer."""


@dataclass(frozen=True)
class Piece:
    """Rows that Spark reads: a file, a folder of files, or a table.

    frame: lines of text, or columns, beside FILE and START where rows have an order of their own.
    files: hashes of the files in their order. part: of a given split.
    """

    frame: Any
    files: tuple[int, ...] = ()
    text: TextFile | None = None
    part: str = ""

    @property
    def batch_rows(self) -> int:
        """Rows that go to a Python process at once: some megabytes."""
        if self.text is None:
            return _BATCH_ROWS
        line = len(self.text.head) // max(1, self.text.head.count(b"\n"))
        return max(1, min(_BATCH_ROWS, _BATCH_BYTES // max(1, line)))

    def by_role(self, columns: Columns, name: str) -> Any:
        """The columns in use, by their roles, beside those of the order."""
        from pyspark.sql import functions as f

        order = [FILE, START] if self.files else []
        if self.text is not None:
            return self.frame.select(*order, LINE)
        types = dict(self.frame.dtypes)
        wanted = [f.col(one) for one in order]
        for role, column in columns.in_use().items():
            if role == "split" and self.part:
                continue
            value = f.col("`" + column.replace("`", "``") + "`")
            if role in ("user", "item"):
                value = _id_column(value, types[column], role, column, name)
            wanted.append(value.alias(role))
        return self.frame.select(wanted)


@dataclass(frozen=True)
class SparkTable:
    """source: the rules for the rows of all pieces. item_info: files found beside them."""

    source: Source
    pieces: tuple[Piece, ...]
    item_info: tuple[Path, ...] = ()


def open_address(session: Any, address: SparkAddress) -> SparkTable:
    """A table of Spark's catalogue, or a table or query of a database."""
    jar = " (the driver of the database is a jar that spark.jars names)" if address.url else ""
    with _as_data_error(address.what, f"check the address, and what Spark says of it{jar}"):
        frame = _of_database(session, address) if address.url else session.table(address.table)
        names = tuple(frame.columns)
    source = Source(address.what, _nothing(), names, stream=lambda columns: iter(()))
    source.require_short_names()
    piece = Piece(frame) if address.url else _ordered(session, frame)
    return SparkTable(source, (piece,))


def open_path(
    session: Any, given: str, layout: Layout, format: str | None, limits: FileLimits
) -> SparkTable:
    """A file or a folder; on this machine, or behind hdfs://, s3a:// and the like."""
    opener = _Opener(session, layout, format, limits)
    if "://" in given:
        return opener.remote(given)
    path = Path(given).expanduser()
    if what_is_at(path, DataError) != "a folder":
        source, piece = opener.file(path)
        return SparkTable(source, (piece,))
    try:
        folder = discover(path)
    except DataError:
        files = _part_files(path)
        if not files:
            raise
        source, piece = opener.file(path, files)
        return SparkTable(source, (piece,))
    opened = [
        opener.file(file, part=part) for file, part in zip(folder.files, folder.parts, strict=True)
    ]
    sources, pieces = zip(*opened, strict=True)
    whole = sources[0] if len(sources) == 1 else join_parts(str(path), sources, folder.parts)
    return SparkTable(whole, pieces, folder.item_info)


@dataclass(frozen=True)
class _Opener:
    """Opens files with what was said of their layout."""

    session: Any
    layout: Layout
    format: str | None
    limits: FileLimits

    def file(self, path: Path, files: Sequence[Path] = (), part: str = "") -> tuple[Source, Piece]:
        """A file on this machine, or a folder with these files."""
        heads = ((file, local_head(file, self.limits)) for file in files or [path])
        first, head = next((one for one in heads if one[1].strip()), (path, b""))
        location = f"file://{os.path.abspath(path)}"
        return self._opened(location, str(path), first, head, part)

    def remote(self, location: str) -> SparkTable:
        """A file or a folder that Spark reaches."""
        with _as_data_error(location, "check the path"):
            files = sorted(self.session.read.text(location).inputFiles())
        if not files:
            raise DataError(f"{location} is empty: give a file with interactions.")
        first = Path(files[0])
        is_binary = first.suffix.lower() in (".parquet", ".pq") or self.format == "parquet"
        with _as_data_error(location, "check the path"):
            head = b"PAR1" if is_binary else spark_head(self.session, files[0])
        source, piece = self._opened(location, location, first, head, "")
        return SparkTable(source, (piece,))

    def _opened(
        self, location: str, name: str, first: Path, head: bytes, part: str
    ) -> tuple[Source, Piece]:
        """name: for messages; first: the file that `head` is the beginning of."""
        kind = format_of(DataFile(first, self.limits, self.layout, head), self.format)
        if kind.is_text:
            return self._text(location, name, head, kind.name, part)
        with _as_data_error(
            name, "the file is damaged or of another format; say which with format"
        ):
            reader = self.session.read.option("__globPaths__", "false")
            frame = reader.parquet(location)
            source = Source(name, _nothing(), tuple(frame.columns), format=kind.name)
        source.require_short_names()
        return source, _ordered(self.session, frame, part)

    def _text(
        self, location: str, name: str, head: bytes, format: str, part: str
    ) -> tuple[Source, Piece]:
        from pyspark.sql import functions as f

        source, text = open_text(name, head, format, self.layout, self.limits)
        with _as_data_error(name, "check the path"):
            reader = self.session.read.option("__globPaths__", "false").option("lineSep", "\n")
            lines = reader.text(location)
            whole = f.concat(f.col("value"), f.lit("\n")).cast("binary")
            piece = _ordered(self.session, lines.withColumn(LINE, whole), part, text)
        return source, piece


def _ordered(session: Any, frame: Any, part: str = "", text: TextFile | None = None) -> Piece:
    """A frame of files with the order of its rows; a table that has none stays as it is."""
    import pyarrow as pa
    from pyspark.errors import AnalysisException
    from pyspark.sql import functions as f

    file = f.xxhash64(f.col("_metadata.file_path")).alias(FILE)
    start = f.col("_metadata.file_block_start").alias(START)
    try:
        ordered = frame.select("*", file, start)
        ordered.schema  # noqa: B018 - asks Spark whether there are such columns
    except AnalysisException:
        return Piece(frame, (), text, part)
    paths = [re.sub("^file:/+", "file:/", path) for path in sorted(frame.inputFiles())]
    names = pa.table({"file": pa.array(paths, pa.string())})  # as _metadata has them
    hashes = session.createDataFrame(names).select(f.xxhash64("file").alias("hash")).toArrow()
    return Piece(ordered, tuple(hashes.column("hash").to_pylist()), text, part)


def _of_database(session: Any, address: SparkAddress) -> Any:
    """preferTimestampNTZ: times without a zone are UTC, as always."""
    query = f"({address.query.strip().rstrip(';')}) chosen_rows"
    options = {"url": address.url, "preferTimestampNTZ": "true", **address.settings}
    return session.read.format("jdbc").options(**options, dbtable=address.table or query).load()


def _id_column(value: Any, kind: str, role: str, column: str, name: str) -> Any:
    if kind.startswith("decimal("):
        digits, scale = map(int, kind[len("decimal(") : -1].split(","))
        if scale == 0 and digits <= _EXACT_DIGITS:
            return value.cast("bigint")
    if kind.startswith(("char(", "varchar(")):
        return value
    if kind not in _IDS:
        raise DataError(
            f"{name}, column {quoted(column)}: {kind} values cannot be ids with Spark; give "
            f"text or numbers of 64 bits, name another column with {role}_column, or {ELSEWHERE}."
        )
    return value


def _part_files(folder: Path) -> list[Path]:
    """The data files below a folder, as a job of Spark or of its like has written them."""
    found = [
        path
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and not any(part.startswith(("_", ".")) for part in path.relative_to(folder).parts)
    ]
    endings = {ending_of(path) for path in found}
    if len(endings) > 1:
        kinds = ", ".join(sorted(endings))
        raise DataError(
            f"the folder {folder} holds files of several kinds ({kinds}): give a folder with one "
            "kind, or name a file."
        )
    return found if endings <= set(ENDINGS) else []


def _nothing() -> Any:
    import polars as pl

    return pl.LazyFrame()


@contextmanager
def _as_data_error(name: str, way_out: str) -> Iterator[None]:
    """What Spark says while data are opened, as a `DataError` that names them."""
    try:
        with one_line_errors():
            yield
    except DataError:
        raise
    except XorecError as error:
        reason = str(error).removeprefix("Spark: ")
        raise DataError(f"{name} cannot be read ({reason}): {way_out}.") from None
