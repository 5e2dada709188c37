"""The model file: one safetensors file, `*.xorec`, with everything that recommending needs.

Tensors are plain arrays; all metadata about them are one JSON object under the key "xorec" of the
safetensors metadata (one key, so equal models have equal bytes). Any safetensors reader opens
it; nothing in it is ever executed. `docs/file-format.md` lists the names.
"""

from __future__ import annotations

import json
import os
import stat
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import Arrays, add_arrays, digest
from xorec.core.errors import ModelFileError, XorecError
from xorec.core.files import save_tensors
from xorec.core.paths import did_you_mean_file
from xorec.core.threads import available_threads
from xorec.data.categories import Categories
from xorec.data.id_table import IdTable
from xorec.data.ids import Ids
from xorec.data.text import Text
from xorec.recommender.header import LONGEST, CutShortError, parse_object, places_of, tensor_at
from xorec.recommender.metadata import check_metadata, parse_metadata

FORMAT = 3
"""1 had a digest of the tensors alone, by BLAKE2b; 2 had whole words for every code."""
_KEY = "xorec"
_ALGORITHM = "blake3"
_LARGE = 1 << 20
"""Bytes from which on threads share the hashing."""


@dataclass(frozen=True, eq=False)
class OpenFile:
    """A model file that is mapped: what it says, and what the system says of that very file.

    data: all its bytes. tensors: read-only views of them. status: taken before the first byte was
    read, at the time `opened_ns`.
    """

    path: Path
    status: os.stat_result
    opened_ns: int
    data: npt.NDArray[np.uint8]
    tensors: dict[str, npt.NDArray[Any]]
    metadata: dict[str, Any]
    _handle: BinaryIO

    def is_unchanged(self) -> bool:
        """Whether the system still says the same of the file."""
        names = ("st_dev", "st_ino", "st_size", "st_mtime_ns", "st_ctime_ns")
        now = os.fstat(self._handle.fileno())
        return all(getattr(now, name) == getattr(self.status, name) for name in names)


def write(path: Path, tensors: Arrays, metadata: Mapping[str, Any]) -> None:
    """Write tensors and metadata to `path`, whole or not at all. Equal input, equal bytes."""
    about = json.loads(_as_text({"format": FORMAT, **metadata}))
    complete = {**about, "digest": f"{_ALGORITHM}:{_blake3(about, tensors, threads=None)}"}
    save_tensors(path, tensors, {_KEY: _as_text(complete)})


def read(
    path: Path, *, verify: bool = True, threads: int | None = None
) -> tuple[dict[str, npt.NDArray[Any]], dict[str, Any]]:
    """Tensors (read-only memory maps) and metadata of a model file.

    verify: compare the digest, which reads the whole file.
    """
    with opened(path) as file:
        if verify:
            check_digest(file, threads)
        return file.tensors, file.metadata


@contextmanager
def opened(path: Path) -> Iterator[OpenFile]:
    """Map a model file and read its header: its values are not looked at.

    Mapped copy-on-write, so that kernels that are compiled for writable arrays take them. The
    arrays outlive this block.
    """
    with _handle(path) as handle:
        opened_ns, status = time.time_ns(), os.fstat(handle.fileno())
        header, start = _header(path, handle, status.st_size)
        metadata = _metadata(path, header.pop("__metadata__", {}))
        try:
            places = places_of(header, status.st_size - start)
        except CutShortError as error:
            raise ModelFileError(
                f"{path} is {status.st_size:,} bytes long but should be "
                f"{start + error.expected:,}: it was cut short or added to. "
                "Copy it again, or fit the model again."
            ) from None
        except ValueError as error:
            raise corrupt(path, error) from None
        # a plain view: np.memmap's own indexing costs microseconds, and ids are many small slices
        data = np.asarray(np.memmap(handle, dtype=np.uint8, mode="c", shape=(status.st_size,)))
        tensors = {name: tensor_at(place, data[start:]) for name, place in places.items()}
        for tensor in tensors.values():
            tensor.flags.writeable = False
        yield OpenFile(path, status, opened_ns, data, tensors, metadata, handle)


def check_digest(file: OpenFile, threads: int | None = None) -> None:
    """Refuse a file whose bytes are not those that were written."""
    said = file.metadata["digest"]
    algorithm, colon, _ = said.partition(":")
    if not colon:  # format 1
        found = digest(file.tensors)
    elif algorithm == _ALGORITHM:
        about = {name: file.metadata[name] for name in file.metadata if name != "digest"}
        found = f"{_ALGORITHM}:{_blake3(about, file.tensors, threads)}"
    else:
        raise corrupt(file.path, f"its digest is by {algorithm!r}, which this xorec does not know")
    if found != said:
        raise ModelFileError(
            f"{file.path} is corrupt: it has the digest {found} but says {said}. "
            "Copy it again, or fit the model again."
        )


def _blake3(about: Mapping[str, Any], tensors: Arrays, threads: int | None) -> str:
    """The digest of metadata and tensors. Threads of its own each time: a fork must not hang."""
    from blake3 import blake3

    large = sum(tensor.nbytes for tensor in tensors.values()) >= _LARGE
    total = blake3(max_threads=(threads or available_threads()) if large else 1)
    total.update(f"{_as_text(about)}\n".encode())
    add_arrays(total, tensors)
    return total.hexdigest()


def _as_text(metadata: Mapping[str, Any]) -> str:
    return json.dumps(metadata, sort_keys=True, ensure_ascii=False)


@contextmanager
def _handle(path: Path) -> Iterator[BinaryIO]:
    """The file opened for reading; what is no file (a pipe would wait for ever) is refused."""
    try:
        number = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0))
    except FileNotFoundError:
        raise ModelFileError(
            f"there is no model file {path}: check the path, or make one with `xorec fit`."
            f"{did_you_mean_file(path)}"
        ) from None
    except (OSError, ValueError) as error:  # ValueError: a null byte in the path
        reason = getattr(error, "strerror", None) or error
        raise ModelFileError(f"cannot read {path}: {reason}.") from None
    if not stat.S_ISREG(os.fstat(number).st_mode):
        os.close(number)
        raise ModelFileError(f"cannot read {path}: it is not a file: give a model file.")
    with os.fdopen(number, "rb") as handle:
        yield handle


def _header(path: Path, handle: BinaryIO, size: int) -> tuple[dict[str, Any], int]:
    """The safetensors header, and where the tensors begin."""
    try:
        length = int.from_bytes(handle.read(8), "little")
        if not 2 <= length <= min(size - 8, LONGEST):
            raise ValueError("its first bytes are not those of a safetensors file")
        return parse_object(handle.read(length)), 8 + length
    except ValueError as error:
        raise corrupt(path, error) from None
    except OSError as error:
        raise ModelFileError(f"cannot read {path}: {error.strerror}.") from None


def _metadata(path: Path, metadata: Any) -> dict[str, Any]:
    if not isinstance(metadata, dict) or _KEY not in metadata:
        raise ModelFileError(
            f"{path} is a safetensors file but not a xorec model: give a file made by `xorec fit`."
        )
    try:
        found, form = parse_metadata(metadata[_KEY])
        if form > FORMAT:
            raise ModelFileError(
                f"{path} has format {form}, but this xorec reads up to {FORMAT}: "
                "upgrade with `pip install -U xorec`."
            )
        check_metadata(found)
    except ValueError as error:
        raise corrupt(path, error) from None
    return found


def corrupt(path: Path, reason: object) -> ModelFileError:
    """The error that says why a file cannot be read."""
    return ModelFileError(
        f"{path} is not a xorec model, or is corrupt ({reason}): "
        "copy it again, or make one with `xorec fit`."
    )


def pack_ids(name: str, ids: Ids) -> dict[str, npt.NDArray[Any]]:
    """The tensors of ids: one of integers, or the two of a `Text`; and where each id stands."""
    values, table = ids.values, ids.table
    packed = pack_text(name, values) if isinstance(values, Text) else {name: values}
    if table is not None:
        packed |= {f"{name}.table.starts": table.starts, f"{name}.table.rows": table.rows}
    return packed


def unpack_ids(name: str, kind: str, tensors: Arrays) -> Ids:
    """The inverse of `pack_ids`."""
    values = tensors[name] if kind == "int64" else unpack_text(name, tensors)
    table = None
    if f"{name}.table.rows" in tensors:
        table = IdTable(tensors[f"{name}.table.starts"], tensors[f"{name}.table.rows"])
    return Ids(kind, values, table)


def pack_text(name: str, text: Text) -> dict[str, npt.NDArray[Any]]:
    """The two tensors of a `Text`."""
    return {f"{name}.data": text.data, f"{name}.offsets": text.offsets}


def unpack_text(name: str, tensors: Arrays) -> Text:
    """The inverse of `pack_text`."""
    return Text(tensors[f"{name}.data"], tensors[f"{name}.offsets"])


def pack_categories(categories: Categories) -> dict[str, npt.NDArray[Any]]:
    """The tensors of the categories of items; `file_checks.CATEGORIES` says what they must be."""
    return {
        **pack_text("item_categories.labels", categories.labels),
        "item_categories.indptr": categories.indptr.astype(np.int64, copy=False),
        "item_categories.indices": categories.indices.astype(np.int32, copy=False),
    }


def pack_places(places: npt.NDArray[np.int16]) -> npt.NDArray[np.uint16]:
    """The bits of int16 under a type that every xorec reads: older ones pass over the map."""
    return np.ascontiguousarray(places, dtype=np.int16).view(np.uint16)


def unpack_places(stored: npt.NDArray[np.uint16]) -> npt.NDArray[np.int16]:
    """The inverse of `pack_places`."""
    return stored.view(np.int16)


@contextmanager
def complete(path: Path) -> Iterator[None]:
    """Inside this block what fails means that the file lacks something or fits badly: say what."""
    try:
        yield
    except KeyError as error:
        raise corrupt(path, f"{error} is missing") from None
    except ModelFileError:
        raise
    except (XorecError, ValueError, TypeError, IndexError, ArithmeticError) as error:
        raise corrupt(path, error) from None
