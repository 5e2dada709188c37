"""What kind of file is this? By its name, and by its first lines where the name does not tell."""

from __future__ import annotations

import gzip
import re
import zlib
from dataclasses import dataclass
from pathlib import Path

from xorec.core.errors import DataError, OptionError
from xorec.data.io.columns import is_known_name

FORMATS = ("csv", "tsv", "dat", "inter", "list", "jsonl", "parquet")
"""csv, tsv, dat ("::"), inter (RecBole) are tables of text; list is "user item item ..." lines."""

_BY_EXTENSION = {
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".dat": "dat",
    ".inter": "inter",
    ".item": "inter",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".parquet": "parquet",
    ".pq": "parquet",
}
WHITESPACE = " "
_SEPARATORS = ("::", "\t", ",", ";", "|")
_HEAD = 1 << 16
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Shape:
    """How the text of a file is laid out.

    separator: " " stands for any run of blanks. lines: the first ones, without line ends.
    quoted: the places of the columns whose values stand in quotation marks (so they are strings).
    """

    format: str
    separator: str = ""
    has_header: bool = False
    lines: tuple[str, ...] = ()
    quoted: frozenset[int] = frozenset()


def sniff(
    path: Path,
    format: str | None = None,
    separator: str | None = None,
    has_header: bool | None = None,
    named: tuple[str, ...] = (),
) -> Shape:
    """The shape of a file; what is given is believed. `named` are columns that were asked for."""
    if format is not None and format not in FORMATS:
        raise OptionError(f"format {format!r} is not known: use one of {', '.join(FORMATS)}.")
    if separator == "":
        raise OptionError("separator is empty: give one or more characters, or leave it out.")
    head = read_head(path)
    format = format or _format_by_name(path)
    if format == "parquet" or (format is None and head.startswith(b"PAR1")):
        return Shape("parquet")
    lines = _lines_of(head, path)
    if format == "jsonl" or (format is None and lines[0].lstrip().startswith(("{", "["))):
        return Shape("jsonl", lines=lines)
    if separator is None:
        separator = _separator(lines, format)
    if format == "list" or (format is None and separator == ""):
        return Shape("list", WHITESPACE, lines=lines)
    rows = [split_fields(line, separator) for line in lines[:100]]
    if has_header is None:
        has_header = format == "inter" or _has_header(rows, named)
    body = rows[1:] if has_header else rows
    return Shape(format or "csv", separator, has_header, lines, _quoted_columns(body))


def read_head(path: Path) -> bytes:
    """The first 64 KB, decompressed."""
    try:
        with path.open("rb") as file:
            head = file.read(_HEAD)
        if head.startswith(_GZIP):
            with gzip.open(path) as file:
                head = file.read(_HEAD)
    except FileNotFoundError:
        raise DataError(f"there is no file {path}: check the path.") from None
    except (EOFError, zlib.error, gzip.BadGzipFile) as error:
        raise DataError(f"{path} is not a whole gzip file ({error}): fetch it again.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}.") from None
    if not head.strip():
        raise DataError(f"{path} is empty: give a file with interactions.")
    return head


def split_fields(line: str, separator: str) -> list[str]:
    """The fields of a line as they stand there, quotation marks included."""
    if separator == WHITESPACE:
        return line.split()
    if '"' not in line or len(separator) > 1:
        return line.split(separator)
    escaped = re.escape(separator)
    return [field for field, _ in re.findall(rf'("(?:[^"]|"")*"|[^{escaped}]*)({escaped}|$)', line)]


def unquote(field: str) -> str:
    """A field without its quotation marks."""
    field = field.strip()
    if len(field) >= 2 and field[0] == field[-1] == '"':
        return field[1:-1].replace('""', '"')
    return field


def is_number(field: str) -> bool:
    """Whether a field of text is a number."""
    try:
        float(unquote(field))
    except ValueError:
        return False
    return True


def _format_by_name(path: Path) -> str | None:
    suffixes = [suffix.lower() for suffix in path.suffixes]
    if suffixes and suffixes[-1] == ".gz":
        suffixes.pop()
    return _BY_EXTENSION.get(suffixes[-1]) if suffixes else None


def _lines_of(head: bytes, path: Path) -> tuple[str, ...]:
    if b"\0" in head:
        raise DataError(
            f"{path} is neither text nor Parquet (it has zero bytes): give a file of one of "
            f"the formats {', '.join(FORMATS)}."
        )
    if len(head) == _HEAD and b"\n" in head:
        head = head[: head.rindex(b"\n")]  # the last line may be cut
    text = head.decode("utf-8-sig", "replace")
    lines = tuple(line for line in text.splitlines() if line.strip())
    if not lines:
        raise DataError(f"{path} has only blank lines: give a file with interactions.")
    return lines


def _separator(lines: tuple[str, ...], format: str | None) -> str:
    """What divides the fields; "" if lines have so different lengths that they must be lists."""
    if format in ("tsv", "inter"):
        return "\t"
    if format == "csv" and "," in lines[0]:
        return ","
    for separator in _SEPARATORS:
        counts = [len(split_fields(line, separator)) for line in lines]
        if counts[0] > 1 and counts[0] == min(counts) == max(counts):
            return separator
    lengths = {len(line.split()) for line in lines}
    if format is None and (len(lengths) > 1 or max(lengths) > 4):
        return ""
    return "," if format == "csv" else WHITESPACE


def _has_header(rows: list[list[str]], named: tuple[str, ...]) -> bool:
    """A first row of names: one that was asked for, or known ones, or words over numbers."""
    first = [unquote(field) for field in rows[0]]
    if any(name in first for name in named) or any(is_known_name(field) for field in first):
        return True
    if any(is_number(field) for field in first):
        return False
    body = rows[1:]
    if any(is_number(field) for row in body for field in row[: len(first)]):
        return True
    seen = {(place, unquote(field)) for row in body for place, field in enumerate(row)}
    return not any((place, field) in seen for place, field in enumerate(first))


def _quoted_columns(rows: list[list[str]]) -> frozenset[int]:
    width = max((len(row) for row in rows), default=0)
    columns = ([row[place] for row in rows if place < len(row)] for place in range(width))
    return frozenset(
        place
        for place, fields in enumerate(columns)
        if any(fields) and all(field.lstrip().startswith('"') for field in fields if field)
    )
