"""The content of a data file as polars reads it: a plain file, with bounds on what it may become.

Gzip and pipes are copied to a temporary file first, which has no name and goes with this process.
A megabyte of gzip can hold a gigabyte: how much comes out, and how long a line is, has limits.
"""

from __future__ import annotations

import gzip
import mmap
import os
import re
import tempfile
import zlib
from codecs import BOM_UTF8
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

from xorec.core.errors import DataError, OptionError
from xorec.core.paths import open_once, reason

ALWAYS_FINE = 256 * 10**6
"""Bytes that any file may become."""
RATIO = 200
"""Beyond that, so many times the size of the file."""
ENDLESS = 10**15
"""Bytes that no disk has."""
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
_UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}


@dataclass(frozen=True)
class Limits:
    """expanded: bytes that a compressed file or a pipe may become; None: see `RATIO`.

    line: bytes of the longest line.
    """

    expanded: int | None = None
    line: int = 64 * 10**6

    def bound(self, size: int) -> int:
        """What a file of `size` bytes may become."""
        return max(ALWAYS_FINE, RATIO * size) if self.expanded is None else self.expanded


def make_limits(expanded: int | str | None, line: int | str | None) -> Limits:
    """Limits as a caller gives them."""
    most = None if expanded is None else byte_count(expanded, "max_expanded")
    return Limits(most) if line is None else Limits(most, byte_count(line, "max_line"))


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


class Content:
    """What is in a file, at a place where polars can read it more than once.

    place: the path of a plain file, good as long as this object lives. size: bytes on the disk,
    compressed or not.
    """

    def __init__(self, path: Path, limits: Limits = Limits()) -> None:  # noqa: B008 - immutable
        self.path, self.limits, self.place = path, limits, path
        self._file: IO[bytes] | None = None
        file, is_pipe = open_once(path, DataError)
        self._hold(file)
        if is_pipe:
            self._copy(file.read, limits.expanded or ENDLESS)
        self.size = os.fstat(self._open_file.fileno()).st_size
        if self.head(2) == GZIP:
            self._copy(gzip.GzipFile(fileobj=self._open_file).read, limits.bound(self.size))
        else:
            self._require_unpacked()

    @classmethod
    def of_bytes(cls, path: Path, data: bytes, limits: Limits = Limits()) -> Content:  # noqa: B008
        """Some of what is in the file `path`, unpacked, that was read elsewhere."""
        content = cls.__new__(cls)
        content.path, content.limits, content._file = path, limits, None
        file, content.place = _temporary()
        content._hold(file)
        file.write(data)
        file.flush()
        content.size = len(data)
        content._require_unpacked()
        return content

    def _require_unpacked(self) -> None:
        start = self.head(6)
        packed = next((name for sign, name in _OTHERS.items() if start.startswith(sign)), None)
        if packed:
            raise DataError(
                f"{self.path} is packed by {packed}: unpack it first (gzip alone is read)."
            )

    def head(self, size: int) -> bytes:
        """The first bytes."""
        self._open_file.seek(0)
        head = self._open_file.read(size)
        self._open_file.seek(0)
        return head

    def skip_mark(self) -> None:
        """Leave out the mark of UTF-8 at the beginning: not all of polars' readers do."""
        if self.head(3) == BOM_UTF8:
            file = self._open_file
            file.seek(3)
            self._copy(file.read, ENDLESS)

    def recode(self) -> None:
        """Take it for Latin-1, and hold it as UTF-8."""
        file = self._open_file
        self._copy(lambda size: file.read(size).decode("latin-1").encode(), ENDLESS)

    def require_lines(self) -> None:
        """Refuse a line that is too long; looks at a page or two of each stretch of that length."""
        size, longest = os.fstat(self._open_file.fileno()).st_size, self.limits.line
        if size <= longest:
            return
        with mmap.mmap(self._open_file.fileno(), 0, access=mmap.ACCESS_READ) as text:
            start = 0
            while start + longest < size:
                start = text.rfind(b"\n", start, start + longest + 1) + 1
                if not start:
                    raise self._long_line()

    def _copy(self, read: Callable[[int], bytes], bound: int) -> None:
        """Take what `read` gives, `bound` bytes at most, into a file that has no name."""
        file, place = _temporary()
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
            self._hold(file)
            self.place = place
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

    @property
    def _open_file(self) -> IO[bytes]:
        assert self._file is not None
        return self._file

    def _hold(self, file: IO[bytes]) -> None:
        """Keep this file open, and no other."""
        if self._file is not None:
            self._file.close()
        self._file = file

    def __del__(self) -> None:
        if self._file is not None:
            self._file.close()

    def _long_line(self) -> DataError:
        return DataError(
            f"{self.path} has a line of more than {self.limits.line:,} bytes: is it text? If it is "
            "meant to, raise max_line (--max-line 1GB)."
        )


def _temporary() -> tuple[IO[bytes], Path]:
    """A temporary file and a path to it; where the system allows, it has no name in any folder."""
    file: Any = tempfile.TemporaryFile(prefix="xorec-")  # noqa: SIM115 - Content closes it
    place = Path(f"/proc/self/fd/{file.fileno()}")
    if not place.exists():
        file.close()
        file = tempfile.NamedTemporaryFile(prefix="xorec-")  # noqa: SIM115
        place = Path(file.name)
    return file, place
