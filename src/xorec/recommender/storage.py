"""The bytes of a model file: one safetensors file, `*.xorec`, read without trust.

The rules are those of safetensors: a length in eight bytes, a JSON object, then tensors that fill
the rest without holes and without sharing a byte. Our metadata are one JSON object under the key
"xorec" (one key, so equal models have equal bytes). Any safetensors reader opens the file; nothing
in it is ever executed. `docs/file-format.md` lists the names. The metadata are checked in plain
Python: importing pydantic would take longer than opening a file.
"""

from __future__ import annotations

import json
import math
import os
import stat
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import Arrays, add_arrays, digest
from xorec.core.bits import MOST_BITS
from xorec.core.errors import ModelFileError, XorecError
from xorec.core.files import save_tensors
from xorec.core.paths import did_you_mean_file
from xorec.core.threads import available_threads

FORMAT = 3
"""1 had a digest of the tensors alone, by BLAKE2b; 2 had whole words for every code."""
_KEY = "xorec"
_ALGORITHM = "blake3"
_LARGE = 1 << 20
"""Bytes from which on threads share the hashing."""
_LONGEST_HEADER = 100_000_000
"""Bytes, as in safetensors itself."""
_DEEPEST = 32
_MOST_DIMENSIONS = 8
_LARGEST = 2**31
"""Rows or columns of a tensor that has no values."""
_DTYPES: dict[str, np.dtype[Any]] = {
    "F32": np.dtype("<f4"),
    "F16": np.dtype("<f2"),
    "I64": np.dtype("<i8"),
    "I32": np.dtype("<i4"),
    "U16": np.dtype("<u2"),
    "I8": np.dtype("|i1"),
    "U64": np.dtype("<u8"),
    "U32": np.dtype("<u4"),
    "U8": np.dtype("|u1"),
}


@dataclass(frozen=True, eq=False)
class OpenFile:
    """A mapped model file: its content, and the system's facts about that very file.

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
        with complete(path):
            header, start = _header(path, handle, status.st_size)
            metadata = _metadata(path, header.pop("__metadata__", {}))
            spans = _tensor_spans(header)
        expected = start + max((span.end for span in spans.values()), default=0)
        if status.st_size != expected:
            raise ModelFileError(
                f"{path} is {status.st_size:,} bytes long but should be {expected:,}: it was cut "
                "short or added to. Copy it again, or fit the model again."
            )
        # a plain view: np.memmap's own indexing costs microseconds, and ids are many small slices
        data = np.asarray(np.memmap(handle, dtype=np.uint8, mode="c", shape=(status.st_size,)))
        tensors = {name: _tensor(span, data[start:]) for name, span in spans.items()}
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
        raise _corrupt(file.path, f"its digest is by {algorithm!r}, which this xorec does not know")
    if found != said:
        raise ModelFileError(
            f"{file.path} is corrupt: it has the digest {found} but says {said}. "
            "Copy it again, or fit the model again."
        )


@contextmanager
def complete(path: Path) -> Iterator[None]:
    """Errors inside this block mean that the file lacks something or fits badly: say what."""
    try:
        yield
    except KeyError as error:
        raise _corrupt(path, f"{error} is missing") from None
    except ModelFileError:
        raise
    except (XorecError, ValueError, TypeError, IndexError, ArithmeticError) as error:
        raise _corrupt(path, error) from None


def _corrupt(path: Path, reason: object) -> ModelFileError:
    return ModelFileError(
        f"{path} is not a xorec model, or is corrupt ({reason}): "
        "copy it again, or make one with `xorec fit`."
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
        if not 2 <= length <= min(size - 8, _LONGEST_HEADER):
            raise ValueError("its first bytes are not those of a safetensors file")
        return _parse_object(handle.read(length)), 8 + length
    except OSError as error:
        raise ModelFileError(f"cannot read {path}: {error.strerror}.") from None


class _Span(NamedTuple):
    """Which bytes behind the header a tensor has, and its type and shape."""

    begin: int
    end: int
    dtype: np.dtype[Any]
    shape: tuple[int, ...]


def _tensor_spans(header: dict[str, Any]) -> dict[str, _Span]:
    """The span of each tensor, without holes and overlaps; or a ValueError."""
    spans = {name: _span(name, entry) for name, entry in header.items()}
    end = 0
    for name, span in sorted(spans.items(), key=lambda item: item[1][:2]):
        if span.begin != end:
            raise ValueError(f"{name} begins at {span.begin} and not where another ends, {end}")
        end = span.end
    return spans


def _span(name: str, entry: Any) -> _Span:
    """The entry of one tensor in a header, checked by itself."""
    if not isinstance(entry, dict):
        raise ValueError(f"{name} is described by {_short(entry)}")
    kind = entry.get("dtype")
    if not isinstance(kind, str) or kind not in _DTYPES:
        raise ValueError(f"{name} is of type {_short(kind)}")
    shape, offsets = _sizes(name, entry, "shape"), _sizes(name, entry, "data_offsets")
    if len(shape) > _MOST_DIMENSIONS or len(offsets) != 2:
        raise ValueError(f"{name} has the shape {_short(shape)} and lies at {_short(offsets)}")
    dtype, (begin, end) = _DTYPES[kind], offsets
    if end - begin != math.prod(shape) * dtype.itemsize or max(shape, default=0) > max(
        _LARGEST, end - begin
    ):
        raise ValueError(f"{name} has the shape {_short(shape)} but {end - begin} bytes")
    return _Span(begin, end, dtype, tuple(shape))


def _sizes(name: str, entry: dict[str, Any], key: str) -> list[int]:
    sizes = entry.get(key)
    if not isinstance(sizes, list) or not all(type(n) is int and 0 <= n < 2**63 for n in sizes):
        raise ValueError(f"{name} has the {key} {_short(sizes)}")
    return sizes


def _tensor(span: _Span, data: npt.NDArray[np.uint8]) -> npt.NDArray[Any]:
    """The read-only tensor in the bytes behind the header; a view where it is aligned."""
    tensor = data[span.begin : span.end].view(span.dtype).reshape(span.shape)
    tensor = tensor if tensor.flags.aligned else tensor.copy()  # kernels count on it
    tensor.flags.writeable = False
    return tensor


def _parse_object(text: bytes | str) -> dict[str, Any]:
    """A JSON object of UTF-8 that names nothing twice and is not too deep; else a ValueError."""

    def without_doubles(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(pairs)
        if len(found) < len(pairs):
            raise ValueError("it has a name twice")
        return found

    try:
        if isinstance(text, bytes):
            text = text.decode()
        found = json.loads(text, object_pairs_hook=without_doubles)
        json.dumps(found, ensure_ascii=False).encode()  # no halves of characters
        too_deep = _depth(found) > _DEEPEST
    except RecursionError:
        too_deep = True
    if too_deep:
        raise ValueError("it is nested too deeply")
    if not isinstance(found, dict):
        raise ValueError("it is not a JSON object")
    return found


def _depth(value: Any) -> int:
    """Levels of objects and lists."""
    inner = value.values() if isinstance(value, dict) else value
    return 1 + max(map(_depth, inner), default=0) if isinstance(value, dict | list) else 0


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else f"{text[:80]}..."


Check = Callable[[Any], bool]


def _whole(least: int, most: int) -> Check:
    return lambda value: type(value) is int and least <= value <= most


def _text(least: int = 1) -> Check:
    return lambda value: isinstance(value, str) and least <= len(value) <= 200


def _number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < float("inf")


def _interval(value: Any) -> bool:
    """Two numbers, or none where they are not known."""
    return isinstance(value, list) and len(value) in (0, 2) and all(map(_number, value))


def _settings(value: Any) -> bool:
    """Names that a model takes as keywords; the model itself checks their values."""
    return isinstance(value, dict) and all(name.isidentifier() and name != "self" for name in value)


_COUNT = _whole(0, 2**63 - 1)
_REQUIRED: Mapping[str, Check] = {
    "digest": _text(least=0),
    "model": _text(),
    "representation": _text(),
}
_OPTIONAL: Mapping[str, Check] = {
    "config": _settings,
    "seed": _whole(-(2**63), 2**64 - 1),
    "updates": _COUNT,
}
_OBJECTS: Mapping[str, Mapping[str, Check]] = {
    "data": {"users": _COUNT, "items": _COUNT, "pairs": _COUNT, "digest": _text()},
    "codes": {"bits": _whole(1, MOST_BITS), "digest": _text()},
    "id_kinds": {"user_ids": _text(), "item_ids": _text()},
    "validation": {
        "metric": _text(),
        "value": _number,
        "interval": _interval,
        "users": _COUNT,
        "judged_on": _text(least=0),
    },
    "map": {"layout": _text()},
}
"""The fields of each object, where a file has it. `docs/file-format.md` says what they mean."""


def _metadata(path: Path, metadata: Any) -> dict[str, Any]:
    """The checked metadata; unknown fields may stand beside. Of newer formats nothing is known."""
    if not isinstance(metadata, dict) or _KEY not in metadata:
        raise ModelFileError(
            f"{path} is a safetensors file but not a xorec model: give a file made by `xorec fit`."
        )
    text = metadata[_KEY]
    if not isinstance(text, str):
        raise ValueError(f"its metadata are {type(text).__name__} and not text")
    found = _parse_object(text)
    _check(found, {"format": _whole(1, 2**31)})
    if found["format"] > FORMAT:
        raise ModelFileError(
            f"{path} has format {found['format']}, but this xorec reads up to {FORMAT}: "
            "upgrade with `pip install -U xorec`."
        )
    _check(found, {**_REQUIRED, **{name: _OPTIONAL[name] for name in _OPTIONAL if name in found}})
    for name in _OBJECTS.keys() & found.keys():
        if not isinstance(found[name], dict):
            raise ValueError(f"{name} in its metadata is not an object")
        _check(found[name], _OBJECTS[name], f"{name}.")
    return found


def _check(found: Mapping[str, Any], checks: Mapping[str, Check], prefix: str = "") -> None:
    for name, is_right in checks.items():
        if name not in found:
            raise ValueError(f"{prefix}{name} is missing in its metadata")
        if not is_right(found[name]):
            raise ValueError(f"{prefix}{name} cannot be {_short(found[name])}")
