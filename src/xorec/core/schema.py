"""Declared types, shapes and ranges of a file's tensors, checked before a kernel sees them.

Kernels do not check bounds: a row or offset out of range would access foreign memory. A digest does
not protect from a file that was made on purpose.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy.typing as npt

from xorec.core.arrays import Arrays
from xorec.core.errors import DataError


@dataclass(frozen=True)
class Tensor:
    """A declared tensor.

    shape: numbers, or names of sizes ("items", "items+1"). rows_of: the size whose rows its values
    are. offsets_of: the tensor whose pieces its values bound, rising from 0 to its length. least,
    most: of any value.
    """

    dtype: str | tuple[str, ...]
    shape: tuple[int | str, ...]
    rows_of: str = ""
    offsets_of: str = ""
    least: float | None = None
    most: float | None = None
    optional: bool = False

    def as_optional(self) -> Tensor:
        """The same tensor, which may be missing."""
        return replace(self, optional=True)


Schema = Mapping[str, Tensor]


def check_tensors(
    tensors: Arrays, schema: Schema, sizes: Mapping[str, int], *, values: bool = True
) -> None:
    """Refuse tensors that are not as declared, with a DataError that names the first.

    sizes: the known ones; others are set by the first tensor that has them. values: check values
    too, which reads the tensors.

    >>> import numpy as np
    >>> schema = {"rows": Tensor("int32", ("pairs",), rows_of="items")}
    >>> check_tensors({"rows": np.array([0, 2], dtype=np.int32)}, schema, {"items": 2})
    Traceback (most recent call last):
    xorec.core.errors.DataError: rows has the value 2 but 0 to 1 are possible
    """
    known = dict(sizes)
    there = {name: one for name, one in schema.items() if name in tensors or not one.optional}
    for name, one in there.items():
        if name not in tensors:
            raise DataError(f"{name} is missing")
        _check_shape(name, tensors[name], one, known)
    for name, one in there.items() if values else ():
        if one.offsets_of:
            if one.offsets_of not in tensors:
                raise DataError(f"{one.offsets_of} is missing")
            check_offsets(name, tensors[name], len(tensors[one.offsets_of]))
        least, most = one.least, one.most
        if one.rows_of:
            least, most = 0, known[one.rows_of] - 1
        check_range(name, tensors[name], least, most)


def check_offsets(name: str, offsets: npt.NDArray[Any], length: int) -> None:
    """They rise from 0 to `length`."""
    whole = len(offsets) and offsets[0] == 0 and offsets[-1] == length
    if not whole or (offsets[1:] < offsets[:-1]).any():
        raise DataError(f"{name} does not rise from 0 to {length}")


def check_range(
    name: str, values: npt.NDArray[Any], least: float | None, most: float | None
) -> None:
    """All values are from `least` to `most`."""
    if not values.size or (least is None and most is None):
        return
    low, high = values.min(), values.max()
    below, above = least is not None and low < least, most is not None and high > most
    if below or above:
        value = low if below else high
        raise DataError(f"{name} has the value {value} but {least} to {most} are possible")


def _check_shape(name: str, array: npt.NDArray[Any], one: Tensor, known: dict[str, int]) -> None:
    dtypes = (one.dtype,) if isinstance(one.dtype, str) else one.dtype
    if array.dtype.name not in dtypes or array.ndim != len(one.shape):
        raise DataError(
            f"{name} is {array.dtype.name} {array.shape} and should be {' or '.join(dtypes)} of "
            f"{len(one.shape)} dimensions"
        )
    for found, size in zip(array.shape, one.shape, strict=True):
        if isinstance(size, int):
            expected = size
        else:
            named, _, more = size.partition("+")
            expected = known.setdefault(named, found - int(more or 0)) + int(more or 0)
        if found != expected or expected < 0:
            raise DataError(f"{name} has the shape {array.shape}: {found} should be {expected}")
