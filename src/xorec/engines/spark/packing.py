"""Arrays as one run of bytes, read back without a copy: a row of Spark, or a mapped file."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from xorec.core.engine import Arrays

_ALIGN = 64
_LENGTH = 8
"""Bytes of the number that says how long the header is."""


def pack(arrays: Arrays) -> bytes:
    """Header (names, types, shapes), then the arrays, each at a multiple of 64 bytes.

    >>> unpack(pack({"x": np.array([3, 4], dtype=np.int32)}))["x"]
    array([3, 4], dtype=int32)
    """
    return b"".join(_pieces(arrays))


def write_packed(arrays: Arrays, file: BinaryIO) -> None:
    """The same to an open file, array by array."""
    for piece in _pieces(arrays):
        file.write(piece)


def unpack(buffer: Any) -> dict[str, npt.NDArray[Any]]:
    """The arrays, as views of the buffer.

    They are not marked as read-only, though nobody may write to them: kernels are compiled once
    more for read-only arrays, and the sums of that other code could differ in their last digits.
    """
    whole = np.frombuffer(buffer, dtype=np.uint8)
    length = int(whole[:_LENGTH].view("<u8")[0])
    entries = json.loads(whole[_LENGTH : _LENGTH + length].tobytes())
    found: dict[str, npt.NDArray[Any]] = {}
    at = _aligned(_LENGTH + length)
    for name, kind, shape in entries:
        found[name] = np.asarray(_View(whole, at, kind, tuple(shape)))
        at = _aligned(at + found[name].nbytes)
    return found


class _View:
    """Some bytes of an array as another, for NumPy to take; it keeps the array alive."""

    def __init__(
        self, whole: npt.NDArray[np.uint8], at: int, kind: str, shape: tuple[int, ...]
    ) -> None:
        self.whole = whole
        place = (whole.ctypes.data + at, False)
        self.__array_interface__ = {"data": place, "typestr": kind, "shape": shape, "version": 3}


def map_packed(path: Path) -> dict[str, npt.NDArray[Any]]:
    """The arrays of a file that `write_packed` has written; pages are shared by all processes."""
    return unpack(np.memmap(path, dtype=np.uint8, mode="c"))


def _pieces(arrays: Arrays) -> list[Any]:
    whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
    entries = [(name, array.dtype.str, np.shape(arrays[name])) for name, array in whole.items()]
    header = json.dumps(entries).encode()
    pieces: list[Any] = [len(header).to_bytes(_LENGTH, "little"), header]
    pieces.append(bytes(_aligned(_LENGTH + len(header)) - _LENGTH - len(header)))
    for array in whole.values():
        pieces.append(array.reshape(-1).view(np.uint8).data)
        pieces.append(bytes(_aligned(array.nbytes) - array.nbytes))
    return pieces


def _aligned(place: int) -> int:
    return -(-place // _ALIGN) * _ALIGN
