"""DataFile: a file of data as polars reads it, a plain file, with bounds on what it may become.

Gzip and pipes are copied to a temporary file first, which has no name and goes with this process.
A megabyte of gzip can hold a gigabyte: how much comes out, and how long a line is, has limits.
"""

from __future__ import annotations

import gzip
import io
import mmap
import os
import re
import tempfile
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import IO, Any

from xorec.core.errors import DataError, OptionError
from xorec.core.paths import open_once, reason
from xorec.core.printable import quoted

ALWAYS_FINE = 256 * 10**6
"""Bytes that any file may become."""
RATIO = 200
"""Beyond that, so many times the size of the file."""
ENDLESS = 10**15
"""Bytes that no disk has."""
HEAD = 1 << 16
"""Bytes by which a format is recognised."""
_CHUNK = 1 << 20
GZIP = b"\x1f\x8b"
_OTHERS = {
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bzip2",
    b"\xfd7zXZ\x00": "xz",
    b"PK\x03\x04": "zip",
    b"\x78\x01": "zlib",
    b"\x78\x9c": "zlib",
    b"\x78\xda": "zlib",
}
_UTF_16 = (b"\xff\xfe", b"\xfe\xff")
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@dataclass(frozen=True)
class FileLimits:
    """expanded: bytes that a compressed file or a pipe may become; None: see `RATIO`.

    line: bytes of the longest line.
    """

    expanded: int | None = None
    line: int = 64 * 10**6

    def bound(self, size: int) -> int:
        """The bytes that a file of `size` bytes may become."""
        return max(ALWAYS_FINE, RATIO * size) if self.expanded is None else self.expanded


@dataclass(frozen=True)
class Layout:
    """The layout of a text file, as far as the caller says.

    separator: " " stands for any run of blanks. named: the columns asked for by name; a first
    line that has one of them is a header.
    """

    separator: str | None = None
    has_header: bool | None = None
    named: tuple[str, ...] = ()


def byte_count(value: int | str, option: str) -> int:
    """A number of bytes, or text as people write it.

    >>> byte_count("20GB", "max_expanded"), byte_count(512, "max_line")
    (20000000000, 512)
    """
    found = re.fullmatch(r"\s*([0-9]{1,15})\s*([KMGT]?)B?\s*", str(value), re.IGNORECASE)
    size = int(found[1]) * _UNITS[found[2].upper()] if found else 0
    if size < 1:
        raise OptionError(f"{option} is {value!r}: give a number of bytes, for example 20GB.")
    return size


def ending_of(path: Path) -> str:
    """The ending of a name, in lower case, without .gz.

    >>> ending_of(Path("Orders.CSV.gz"))
    '.csv'
    """
    return Path(path.name.lower().removesuffix(".gz")).suffix


class DataFile:
    """A file that is about to be read, more than once if need be.

    data: its content, unpacked, where it was read elsewhere. location: of a plain file with the
    content, good as long as this object lives. size: bytes on the disk, compressed or not.
    """

    def __init__(
        self,
        path: Path,
        limits: FileLimits = FileLimits(),  # noqa: B008 - immutable
        layout: Layout = Layout(),  # noqa: B008
        data: bytes | None = None,
    ) -> None:
        self.path, self.limits, self.layout, self.location = path, limits, layout, path
        self._file: IO[bytes] = io.BytesIO()
        if data is not None:
            self._file, self.location = _temporary()
            self._file.write(data)
            self._file.flush()
        else:
            self._file, is_pipe = open_once(path, DataError)
            if is_pipe:
                self._copy(self._file.read, limits.expanded or ENDLESS)
        self.size = os.fstat(self._file.fileno()).st_size
        start = self._start(6)
        if start.startswith(GZIP) and data is None:
            self._copy(gzip.GzipFile(fileobj=self._file).read, limits.bound(self.size))
        elif packed := next((how for sign, how in _OTHERS.items() if start.startswith(sign)), ""):
            raise DataError(f"{path} is packed by {packed}: unpack it first (gzip alone is read).")

    def _start(self, size: int) -> bytes:
        self._file.seek(0)
        start = self._file.read(size)
        self._file.seek(0)
        return start

    @cached_property
    def head(self) -> bytes:
        """The first 64 KB, decompressed."""
        return self._start(HEAD)

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The first lines that are not blank, without line ends."""
        head = self.head
        if len(head) == HEAD and b"\n" in head:
            head = head[: head.rindex(b"\n")]  # the last line may be cut
        text = head.decode("utf-8-sig", "replace")
        lines = tuple(line.rstrip("\r") for line in text.split("\n") if line.strip())
        if not lines:
            raise DataError(f"{self.path} has only blank lines: give a file with interactions.")
        return lines

    def require_something(self) -> None:
        """Refuse an empty file."""
        if not self.head.strip():
            raise DataError(f"{self.path} is empty: give a file with interactions.")

    def require_text(self) -> None:
        """Refuse what cannot be text, or has endless lines; leave out the mark of UTF-8."""
        head, end = self.head, ""
        if head.startswith(_UTF_16):
            end = "is UTF-16 text: convert it, for example: iconv -f utf-16 -t utf-8"
        elif b"\0" in head:
            end = "is not text (it has zero bytes): say what with format."
        elif b"\r" in head.rstrip() and b"\n" not in head:
            end = "ends its lines with CR alone: convert it, for example: tr '\\r' '\\n'"
        if end:
            raise DataError(f"{self.path} {end}")
        if head.startswith(BOM_UTF8):  # not all of polars' readers leave it out
            self._file.seek(len(BOM_UTF8))
            self._copy(self._file.read, ENDLESS)
        self._require_lines()

    def require_short_header(self) -> None:
        """Refuse a table whose first line does not end: its names would be endless."""
        if len(self.head) == HEAD and b"\n" not in self.head:
            begin = quoted(self.head[:40].decode("utf-8", "replace"))
            raise DataError(
                f"{self.path}: the first line of the table has more than {HEAD:,} bytes, from "
                f"{begin} on: is this a table? Say what it is with format."
            )

    def recode(self) -> None:
        """Take it for Latin-1, and hold it as UTF-8."""
        self._start(0)
        self._copy(lambda size: self._file.read(size).decode("latin-1").encode(), ENDLESS)

    def _require_lines(self) -> None:
        """Refuse a line that is too long; looks at a page or two of each stretch of that length."""
        size, longest = os.fstat(self._file.fileno()).st_size, self.limits.line
        if size <= longest:
            return
        with mmap.mmap(self._file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            start = 0
            while start + longest < size:
                start = text.rfind(b"\n", start, start + longest + 1) + 1
                if not start:
                    raise self._long_line()

    def _copy(self, read: Callable[[int], bytes], bound: int) -> None:
        """Hold what `read` gives, `bound` bytes at most, in a file that has no name."""
        file, location = _temporary()
        total = since_line_end = 0
        try:
            while chunk := read(_CHUNK):
                total += len(chunk)
                end = chunk.rfind(b"\n")
                since_line_end = len(chunk) - end - 1 if end >= 0 else since_line_end + len(chunk)
                if total > bound:
                    raise DataError(
                        f"{self.path} unpacks to more than {bound:,} bytes: if it is meant to, "
                        "raise max_expanded (--max-expanded 20GB)."
                    )
                if since_line_end > self.limits.line:
                    raise self._long_line()
                file.write(chunk)
            file.flush()
            self._file.close()
            self._file, self.location = file, location
            vars(self).pop("head", None)
            vars(self).pop("lines", None)
        except (EOFError, zlib.error, gzip.BadGzipFile) as error:
            raise DataError(
                f"{self.path} is not a whole gzip file ({error}): fetch it again."
            ) from None
        except OSError as error:
            what = f"{self.path} cannot be copied to {tempfile.gettempdir()}: {reason(error)}"
            raise DataError(f"{what}. Set TMPDIR to a folder with more room.") from None
        finally:
            if self._file is not file:
                file.close()

    def __del__(self) -> None:
        self._file.close()

    def _long_line(self) -> DataError:
        return DataError(
            f"{self.path} has a line of more than {self.limits.line:,} bytes: is it text? If it is "
            "meant to, raise max_line (--max-line 1GB)."
        )


def _temporary() -> tuple[IO[bytes], Path]:
    """A temporary file and a path to it; where the system allows, it has no name in any folder."""
    file: Any = tempfile.TemporaryFile(prefix="xorec-")  # noqa: SIM115 - DataFile closes it
    location = Path(f"/proc/self/fd/{file.fileno()}")
    if not location.exists():
        file.close()
        file = tempfile.NamedTemporaryFile(prefix="xorec-")  # noqa: SIM115
        location = Path(file.name)
    return file, location
