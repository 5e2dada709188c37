"""A block of rows that were read: the codes of their ids, these ids, and what stands beside them.

Ids are numbers, or text as bytes and lengths: arrays that can be joined end to end.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xorec.core.engine import Arrays
from xorec.data.ids import Ids
from xorec.data.io.encode import Gathered
from xorec.data.text import Text

if TYPE_CHECKING:
    import polars as pl

ID_ROLES = ("user", "item")


def row_block(gathered: Gathered) -> dict[str, npt.NDArray[Any]]:
    """What one pass has gathered, as a block: arrays by role, and the ids behind the codes."""
    arrays = {role: array.finish() for role, array in gathered.arrays.items()}
    for role in ID_ROLES:
        arrays |= pack_ids(role, gathered.encoders[role].known())
    return arrays


def pack_ids(role: str, ids: pl.Series) -> dict[str, npt.NDArray[Any]]:
    """Distinct ids as arrays.

    >>> import polars as pl
    >>> packed = pack_ids("user", pl.Series(["ann", "bo"]))
    >>> unpack_ids("user", packed).to_list()
    ['ann', 'bo']
    """
    if ids.dtype.is_float():
        return {f"{role}_ids": ids.to_numpy() + 0.0}  # -0.0 is 0.0
    values = Ids.from_series(ids).values
    if isinstance(values, Text):
        return {f"{role}_text": values.data, f"{role}_lengths": np.diff(values.offsets)}
    return {f"{role}_ids": values}


def unpack_ids(role: str, arrays: Arrays) -> pl.Series:
    """The ids of `pack_ids`."""
    import polars as pl

    if f"{role}_ids" in arrays:
        return pl.Series(arrays[f"{role}_ids"])
    return text_series(text_of(role, arrays))


def text_of(role: str, arrays: Arrays) -> Text:
    """Ids that are text."""
    offsets = np.zeros(len(arrays[f"{role}_lengths"]) + 1, dtype=np.int64)
    np.cumsum(arrays[f"{role}_lengths"], out=offsets[1:])
    return Text(arrays[f"{role}_text"], offsets)


def text_series(text: Text) -> pl.Series:
    """Strings for polars."""
    import polars as pl
    import pyarrow as pa

    buffers = (pa.py_buffer(text.offsets), pa.py_buffer(np.ascontiguousarray(text.data)))
    return pl.Series(pl.from_arrow(pa.LargeStringArray.from_buffers(len(text), *buffers)))
