from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from xorec.core.bits import (
    CodeRows,
    add_eight,
    as_offsets,
    joined_offsets,
    pack_signs,
    popcount,
    unpack_signs,
    words_for,
)
from xorec.core.errors import DataError
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
    for numbers in (words, np.arange(256).astype(np.uint8)):
        out = np.empty(len(numbers), dtype=np.int64)
        counts(numbers, out)
        assert out.tolist() == [int(number).bit_count() for number in numbers]


@pytest.mark.parametrize(("at", "place"), [(0, 0), (3, 5), (12, 12)])
def test_eight_sums_at_once_and_no_more(at: int, place: int) -> None:
    sums, table = np.random.default_rng(0).standard_normal((2, 20)).astype(np.float32)
    expected = sums.copy()
    expected[at : at + 8] += table[place : place + 8]
    add(sums, at, table, place)
    np.testing.assert_array_equal(sums, expected)


@pytest.mark.parametrize("bits", [1, 8, 20, 32, 33, 64, 65, 100, 128])
def test_words_bytes_and_rows_are_one_code(bits: int) -> None:
    """Bit k is bit k % 8 of byte k // 8: what NumPy packs, told bit by bit."""
    signs = np.where(np.random.default_rng(bits).random((9, bits)) < 0.5, -1, 1)
    expected = np.zeros((9, -(-bits // 8)), dtype=np.uint8)
    for row, bit in zip(*np.nonzero(signs > 0), strict=True):
        expected[row, bit // 8] |= 1 << (bit % 8)
    words, some = pack_signs(signs), np.array([7, 2, 2])
    for kept in (words, expected, words.copy()[::-1][::-1]):
        rows = CodeRows(kept, bits)
        np.testing.assert_array_equal(rows[some], words[some])
        np.testing.assert_array_equal(rows[1:4], words[1:4])
        assert rows.nbytes == kept.nbytes  # some rows do not widen all
        np.testing.assert_array_equal(rows.words, words)
        np.testing.assert_array_equal(rows.bytes, expected)
        assert rows.nbytes == kept.nbytes + (0 if kept is not expected else words.nbytes)
        assert rows.stored.nbytes == expected.nbytes
        assert rows.words.flags.carray
    np.testing.assert_array_equal(CodeRows(CodeRows(words, bits).stored, bits).words, words)


def test_whole_words_are_stored_without_a_copy() -> None:
    words = np.arange(6, dtype=np.uint64).reshape(3, 2)
    assert np.shares_memory(CodeRows(words, 128).stored, words)
    assert CodeRows(words[:, :1], 20).stored.dtype == np.uint8


@pytest.mark.parametrize(
    ("kept", "bits"),
    [
        (np.full((2, 3), 16, dtype=np.uint8), 20),
        (np.full((2, 1), 1 << 20, dtype=np.uint64), 20),
        (np.full((2, 1), 2, dtype=np.uint8), 1),
        (np.array([[0], [1 << 63]], dtype=np.uint64), 63),
    ],
)
def test_bits_behind_the_last_are_refused(kept: np.ndarray, bits: int) -> None:
    with pytest.raises(DataError, match=f"the item codes have bits behind the last of {bits}"):
        CodeRows(kept, bits, "item codes")


@pytest.mark.parametrize(
    ("shape", "kind"), [((2, 8), "u1"), ((2, 2), "u8"), ((2, 3), "i1"), ((2, 1), "u4"), (3, "u1")]
)
def test_other_types_and_widths_are_refused(shape: Any, kind: str) -> None:
    with pytest.raises(DataError, match="but 20 bits need uint64"):
        CodeRows(np.zeros(shape, dtype=kind), 20)


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


def test_zeros_are_no_offsets() -> None:
    assert len(as_offsets(np.zeros(4, dtype=np.int64), 4)) == len(as_offsets(None, 4)) == 0
    assert as_offsets(np.array([0, 15]), 2).tolist() == [0, 15]
    first = np.array([3, 1], dtype=np.uint8)
    assert joined_offsets((first, 2), (None, 2)).tolist() == [3, 1, 0, 0]
    assert joined_offsets((first[:0], 2), ([0, 2], 2)).tolist() == [0, 0, 0, 2]
    assert len(joined_offsets((None, 2), ([0, 0], 2))) == 0
