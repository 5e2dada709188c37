from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from xorec.core.code_rows import as_offsets, joined_offsets
from xorec.core.errors import DataError


def test_zeros_are_no_offsets() -> None:
    assert len(as_offsets(np.zeros(4, dtype=np.int64), 4)) == 0
    assert len(as_offsets(None, 4)) == 0
    assert as_offsets(np.array([0, 15]), 2).tolist() == [0, 15]


@pytest.mark.parametrize(
    ("values", "message"),
    [
        ([1, 2], "there are 2 item offsets for 3 items"),
        ([0, -1, 2], "an item has the offset -1: give numbers from 0 to 15"),
        ([0, 16, 2], "an item has the offset 16"),
        ([0, 300, 2], "an item has the offset 300"),
        ([0.5, 1.0, 2.0], "give whole numbers"),
    ],
)
def test_what_is_no_offset_is_refused(values: Any, message: str) -> None:
    with pytest.raises(DataError, match=message):
        as_offsets(np.array(values), 3)


def test_parts_without_offsets_have_zeros() -> None:
    first = np.array([3, 1], dtype=np.uint8)
    assert joined_offsets((first, 2), (None, 2)).tolist() == [3, 1, 0, 0]
    assert joined_offsets((first[:0], 2), ([0, 2], 2)).tolist() == [0, 0, 0, 2]
    assert len(joined_offsets((None, 2), ([0, 0], 2))) == 0
