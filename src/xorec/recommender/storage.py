"""The model file: one safetensors file, `*.xorec`, with everything that recommending needs.

Tensors are plain arrays; all metadata about them are one JSON object under the key "xorec" of the
safetensors metadata (one key, so equal models have equal bytes). Any safetensors reader opens
it; nothing in it is ever executed. `docs/file-format.md` lists the names.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import Arrays, digest
from xorec.core.errors import ModelFileError, XorecError
from xorec.core.files import save_tensors
from xorec.data.id_table import IdTable
from xorec.data.ids import Ids
from xorec.data.text import Text

FORMAT = 1
_KEY = "xorec"
_VERIFY_UP_TO = 64 * 2**20
_DTYPES = {
    "F32": "<f4",
    "F16": "<f2",
    "I64": "<i8",
    "I32": "<i4",
    "I8": "|i1",
    "U64": "<u8",
    "U8": "|u1",
}


def write(path: Path, tensors: Arrays, metadata: Mapping[str, Any]) -> None:
    """Write tensors and metadata to `path`, whole or not at all. Equal input, equal bytes."""
    complete = {"format": FORMAT, **metadata, "digest": digest(tensors)}
    text = json.dumps(complete, sort_keys=True, ensure_ascii=False)
    save_tensors(path, tensors, {_KEY: text})


def read(path: Path, *, verify: bool | None = None) -> tuple[dict[str, Any], dict[str, Any]]:
    """Tensors (read-only memory maps) and metadata of a model file.

    Mapped copy-on-write, so that kernels that are compiled for writable arrays take them.

    verify: compare the digest of all tensors, which reads the whole file; None does so up to 64 MB.
    """
    header, start = _header(path)
    metadata = _metadata(path, header.pop("__metadata__", {}))
    size = path.stat().st_size
    try:
        end = max((_span(entry)[1] for entry in header.values()), default=0)
    except (KeyError, ValueError, TypeError) as error:
        raise corrupt(path, error) from None
    if start + end != size:
        raise ModelFileError(
            f"{path} is {size:,} bytes long but should be {start + end:,}: it was cut short or "
            "added to. Copy it again, or fit the model again."
        )
    # a plain view: np.memmap's own indexing costs microseconds, and ids are many small slices
    data = np.asarray(np.memmap(path, dtype=np.uint8, mode="c"))
    try:
        tensors = {name: _tensor(data[start:], entry) for name, entry in header.items()}
        for tensor in tensors.values():
            tensor.flags.writeable = False
    except (KeyError, ValueError, TypeError) as error:
        raise corrupt(path, error) from None
    if is_verified(path, verify):
        found = digest(tensors)
        if found != metadata["digest"]:
            raise ModelFileError(
                f"{path} is corrupt: its tensors have the digest {found} but the file says "
                f"{metadata['digest']}. Copy it again, or fit the model again."
            )
    return tensors, metadata


def is_verified(path: Path, verify: bool | None) -> bool:
    """Whether every byte of the file is looked at: None means those of up to 64 MB."""
    return path.stat().st_size <= _VERIFY_UP_TO if verify is None else verify


def _header(path: Path) -> tuple[dict[str, Any], int]:
    """The safetensors header, and where the tensors begin."""
    try:
        with path.open("rb") as file:
            length = int.from_bytes(file.read(8), "little")
            if not 2 <= length <= os.fstat(file.fileno()).st_size - 8:
                raise ValueError("its first bytes are not those of a safetensors file")
            header = json.loads(file.read(length))
        if not isinstance(header, dict):
            raise ValueError("its header is not a JSON object")
    except FileNotFoundError:
        raise ModelFileError(
            f"there is no model file {path}: check the path, or make one with `xorec fit`."
        ) from None
    except (ValueError, RecursionError) as error:
        raise corrupt(path, error) from None
    except OSError as error:
        raise ModelFileError(f"cannot read {path}: {error.strerror}.") from None
    return header, 8 + length


def _span(entry: Any) -> tuple[int, int]:
    """Where a tensor begins and ends."""
    begin, end = entry["data_offsets"]
    if not (type(begin) is int and type(end) is int and 0 <= begin <= end):
        raise ValueError(f"a tensor from {begin!r} to {end!r}")
    return begin, end


def _tensor(data: npt.NDArray[np.uint8], entry: Any) -> npt.NDArray[Any]:
    begin, end = _span(entry)
    shape = entry["shape"]
    if not all(type(size) is int and size >= 0 for size in shape):
        raise ValueError(f"a tensor of shape {shape!r}")
    tensor = data[begin:end].view(_DTYPES[entry["dtype"]]).reshape(shape)
    return tensor if tensor.flags.aligned else tensor.copy()  # kernels count on it


def _metadata(path: Path, metadata: Any) -> dict[str, Any]:
    if not isinstance(metadata, dict) or _KEY not in metadata:
        raise ModelFileError(
            f"{path} is a safetensors file but not a xorec model: give a file made by `xorec fit`."
        )
    try:
        metadata = json.loads(metadata[_KEY])
        found = int(metadata["format"])
        metadata["digest"], metadata["model"], metadata["representation"]
    except (ValueError, KeyError, TypeError, OverflowError, RecursionError) as error:
        raise corrupt(path, error) from None
    if found > FORMAT:
        raise ModelFileError(
            f"{path} has format {found}, but this xorec reads up to {FORMAT}: "
            "upgrade with `pip install -U xorec`."
        )
    return dict(metadata)


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
