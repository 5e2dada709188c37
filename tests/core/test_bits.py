from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from xorec.core.bits import add_eight, pack_signs, popcount, unpack_signs, words_for
from xorec.core.kernels import kernel


@kernel
def counts(words: Any, out: Any) -> None:
    for at in range(len(words)):
        out[at] = popcount(words[at])


@kernel
def add(sums: Any, at: Any, table: Any, place: Any) -> None:
    add_eight(sums, at, table, place)


@pytest.mark.parametrize("bits", [1, 8, 20, 63, 64, 65, 100, 256])
def test_packing_round_trip_and_padding(bits: int) -> None:
    values = np.random.default_rng(bits).standard_normal((7, bits))
    values[0, 0] = 0.0  # zero is +1
    words = pack_signs(values)
    assert words.shape == (7, words_for(bits))
    np.testing.assert_array_equal(unpack_signs(words, bits), np.where(values >= 0, 1, -1))
    for row in range(7):
        number = sum(int(word) << (64 * at) for at, word in enumerate(words[row]))
        assert number == sum(1 << k for k in range(bits) if values[row, k] >= 0)


def test_popcount_is_pythons_bit_count() -> None:
    words = np.random.default_rng(0).integers(2**64, size=200, dtype=np.uint64, endpoint=False)
    words[:2] = 0, 2**64 - 1
    out = np.empty(200, dtype=np.int64)
    counts(words, out)
    assert out.tolist() == [int(word).bit_count() for word in words]


def test_popcount_of_bytes() -> None:
    out = np.empty(256, dtype=np.int64)
    counts(np.arange(256).astype(np.uint8), out)
    assert out.tolist() == [value.bit_count() for value in range(256)]


@pytest.mark.parametrize(("at", "place"), [(0, 0), (3, 5), (12, 12)])
def test_eight_sums_at_once_and_no_more(at: int, place: int) -> None:
    sums, table = np.random.default_rng(0).standard_normal((2, 20)).astype(np.float32)
    expected = sums.copy()
    expected[at : at + 8] += table[place : place + 8]
    add(sums, at, table, place)
    np.testing.assert_array_equal(sums, expected)
