from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from xorec.core.errors import DataError
from xorec.recommender import storage
from xorec.representations import representation_class
from xorec.representations.codes import Codes, MaskedCodes

BITS = [1, 8, 20, 64, 100, 256]


def bits_of(bits: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return rng.random((9, bits)) < 0.5, rng.random((31, bits)) < 0.5


@pytest.mark.parametrize("bits", BITS)
def test_scores_are_one_less_the_share_of_the_users_bits_that_the_item_lacks(bits: int) -> None:
    users, items = bits_of(bits)
    codes = MaskedCodes.from_bits(users, items)
    lacking = (users[:, None, :] & ~items[None]).sum(axis=2)
    scores = codes.scores(np.arange(9))
    np.testing.assert_allclose(scores, 1 - lacking / bits, atol=1e-6)
    assert len(np.unique(scores)) == len(np.unique(lacking))  # equal distances, equal floats
    queries = codes.queries(np.arange(9))
    agreed = [[codes.bits_agreed(query, item) for item in range(31)] for query in queries]
    np.testing.assert_array_equal(bits - np.array(agreed), lacking)


def test_bits_may_be_numbers() -> None:
    users, items = bits_of(20)
    as_numbers = MaskedCodes.from_bits(users.astype(int), items.astype(np.float32))
    rows = np.arange(9)
    expected = MaskedCodes.from_bits(users, items).scores(rows)
    np.testing.assert_array_equal(as_numbers.scores(rows), expected)


def test_items_and_users_among_themselves_are_plain_codes() -> None:
    users, items = bits_of(20)
    codes = MaskedCodes.from_bits(users, items)
    differ = (items[:, None, :] != items[None]).mean(axis=2)
    assert type(codes.among_items()) is Codes
    np.testing.assert_allclose(codes.similar(np.arange(31)), 1 - differ, atol=1e-6)
    assert codes.among_users().n_items == 9


def test_model_file_round_trip(tmp_path: Path) -> None:
    before = MaskedCodes.from_bits(*bits_of(20))
    storage.write(tmp_path / "x", before.tensors(), {"model": "x", "representation": "x"})
    after = representation_class("masked-codes").from_tensors(storage.read(tmp_path / "x")[0])
    assert type(after) is MaskedCodes
    rows = np.arange(9)
    np.testing.assert_array_equal(after.scores(rows), before.scores(rows))
    assert after.metadata() == before.metadata()
    assert after.nbytes == 3 * (9 + 31) + 8


def test_a_float_mask_is_refused() -> None:
    codes = MaskedCodes.from_bits(*bits_of(20))
    with pytest.raises(DataError, match="made of bits"):
        MaskedCodes(codes.user_codes, codes.item_codes, 20, np.zeros((9, 20), dtype=np.float32))
