"""What a format is: its name, how data of this kind is recognised, how it becomes a Source."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from io import BytesIO
from pathlib import Path
from typing import Any

from xorec.core.errors import DataError
from xorec.data.io.source import Source

Wanted = Mapping[str, str | None]
"""The name of the column asked for, by role; None where it is to be guessed, "" for none."""

_HEAD = 1 << 16
_GZIP = b"\x1f\x8b"


@dataclass(frozen=True)
class Layout:
    """How the text of a file is laid out, as far as the caller says.

    separator: " " stands for any run of blanks. named: the columns asked for by name; a first
    line that has one of them is a header.
    """

    separator: str | None = None
    has_header: bool | None = None
    named: tuple[str, ...] = ()


@dataclass(frozen=True)
class DataFile:
    """A file that is about to be opened; content: its text, where it had to be converted."""

    path: Path
    layout: Layout = Layout()
    content: bytes | None = None

    @property
    def place(self) -> Path | BytesIO:
        """Where polars reads it from."""
        return self.path if self.content is None else BytesIO(self.content)

    @property
    def ending(self) -> str:
        """Of the name, in lower case, without .gz: ".csv"."""
        suffixes = [suffix.lower() for suffix in self.path.suffixes]
        if suffixes and suffixes[-1] == ".gz":
            suffixes.pop()
        return suffixes[-1] if suffixes else ""

    @cached_property
    def head(self) -> bytes:
        """The first 64 KB, decompressed."""
        path = self.path
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

    @cached_property
    def lines(self) -> tuple[str, ...]:
        """The first lines that are not blank, without line ends."""
        head = self.head
        if len(head) == _HEAD and b"\n" in head:
            head = head[: head.rindex(b"\n")]  # the last line may be cut
        text = head.decode("utf-8-sig", "replace")
        lines = tuple(line for line in text.splitlines() if line.strip())
        if not lines:
            raise DataError(f"{self.path} has only blank lines: give a file with interactions.")
        return lines


@dataclass(frozen=True)
class FileFormat:
    """A format of files.

    title: what documents say of it. endings: of names that mean it. recognises: whether the
    content of a file whose name says nothing is of this kind; None: it goes by name alone.
    is_text: zero bytes are an error.
    """

    name: str
    title: str
    open: Callable[[DataFile], Source]
    endings: tuple[str, ...] = ()
    recognises: Callable[[DataFile], bool] | None = None
    is_text: bool = True


@dataclass(frozen=True)
class ObjectFormat:
    """A kind of Python object that holds interactions; `recognises` is asked before `open`."""

    title: str
    recognises: Callable[[Any], bool]
    open: Callable[[Any, Wanted], Source]
