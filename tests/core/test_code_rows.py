from __future__ import annotations

import numpy as np
import pytest

from xorec.core.bits import pack_signs
from xorec.core.code_rows import CodeRows
from xorec.core.errors import DataError


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
        assert rows.nbytes == kept.nbytes
        np.testing.assert_array_equal(rows.words, words)
        np.testing.assert_array_equal(rows.bytes, expected)
        np.testing.assert_array_equal(rows[some], words[some])
        np.testing.assert_array_equal(rows[1:4], words[1:4])
        assert rows.nbytes == kept.nbytes + (0 if kept is not expected else words.nbytes)
        assert rows.stored.nbytes == expected.nbytes
        assert rows.words.flags.carray
    np.testing.assert_array_equal(CodeRows(CodeRows(words, bits).stored, bits).words, words)


def test_whole_words_are_stored_without_a_copy() -> None:
    words = np.arange(6, dtype=np.uint64).reshape(3, 2)
    assert np.shares_memory(CodeRows(words, 128).stored, words)
    assert CodeRows(words[:, :1], 20).stored.dtype == np.uint8


def test_some_rows_do_not_widen_all() -> None:
    rows = CodeRows(np.ones((5, 3), dtype=np.uint8), 20)
    assert (rows.nbytes, CodeRows(rows[:], 20).nbytes) == (15, 40)
    assert rows[np.array([1])].tolist() == [[1 + (1 << 8) + (1 << 16)]]
    assert "words" not in vars(rows)


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
    "kept",
    [
        np.zeros((2, 8), dtype=np.uint8),
        np.zeros((2, 2), dtype=np.uint64),
        np.zeros((2, 3), dtype=np.int8),
        np.zeros((2, 1), dtype=np.uint32),
        np.zeros(3, dtype=np.uint8),
        np.zeros((2, 2), dtype=np.uint8),
    ],
)
def test_other_types_and_widths_are_refused(kept: np.ndarray) -> None:
    with pytest.raises(DataError, match="but 20 bits need uint64"):
        CodeRows(kept, 20)
