from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from xorec.core.arrays import digest

BASE = np.arange(6, dtype=np.int32)


def test_equal_arrays_have_one_digest_in_any_order_and_layout() -> None:
    table = np.arange(6).reshape(2, 3)
    strided = np.asfortranarray(table)
    assert digest({"a": table, "b": BASE}) == digest({"b": BASE, "a": strided})


@pytest.mark.parametrize(
    "other",
    [
        {"b": BASE},  # another name
        {"a": BASE.view(np.float32)},  # the same bytes of another type
        {"a": BASE.reshape(2, 3)},  # of another shape
        {"a": BASE.reshape(3, 2)},
        {"a": BASE[::-1]},  # the same numbers in another order
        {"a": BASE + (np.arange(6) == 5)},  # another last number
        {"a": BASE, "b": BASE[:0]},  # one more
    ],
)
def test_any_difference_shows(other: dict[str, npt.NDArray[Any]]) -> None:
    assert digest(other) != digest({"a": BASE})
