"""What a file has kept of an index is checked; what an index itself has written passes."""

from __future__ import annotations

import numpy as np
import pytest

from xorec.core.errors import DataError
from xorec.search.hamming.index import HammingIndex
from xorec.search.hamming.mih import check_tables


@pytest.mark.parametrize("bits", [61, 67])
def test_tables_of_unequal_width_pass(bits: int) -> None:
    """A narrower table has fewer buckets than the room that all tables have."""
    rng = np.random.default_rng(bits)
    words = rng.integers(0, 2**64, (3000, -(-bits // 64)), dtype=np.uint64)
    words[:, -1] >>= np.uint64(-bits % 64)
    rank = rng.permutation(3000).astype(np.int32)
    index = HammingIndex(words, bits, rank, method="mih", threads=1)
    assert bits % len(index.tensors()["places"])
    again = HammingIndex.from_tensors(index.tensors(), words, bits, rank, threads=2)
    np.testing.assert_array_equal(
        again.search(words[:9], 5).items, index.search(words[:9], 5).items
    )


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize(("name", "value"), [("rows", 5), ("rows", -1), ("places", 10**9)])
def test_values_out_of_place_are_refused(name: str, value: int, threads: int) -> None:
    codes = np.random.default_rng(0).integers(0, 2**64, (500, 1), dtype=np.uint64)
    index = HammingIndex(codes, 64, method="mih", threads=1)
    kept = {key: array.copy() for key, array in index.tensors().items()}
    kept[name].reshape(-1)[400] = value
    with pytest.raises(DataError, match=f"index.{name}"):
        HammingIndex.from_tensors(kept, codes, 64, index.tie_rank, threads=threads)
    again = HammingIndex.from_tensors(index.tensors(), codes, 64, index.tie_rank, checked=True)
    np.testing.assert_array_equal(
        again.search(codes[:3], 2).items, index.search(codes[:3], 2).items
    )


@pytest.mark.parametrize(("bits", "each"), [(20, 4), (32, 4), (33, 8)])
def test_tables_copy_short_codes_into_short_words(bits: int, each: int) -> None:
    """Files of before have 64 bits for all: these are searched too. Shorter than needed is not."""
    rng = np.random.default_rng(bits)
    codes = rng.integers(0, 2**bits, (3000, 1), dtype=np.uint64)
    index = HammingIndex(codes, bits, method="mih", threads=1)
    kept = index.tensors()
    assert kept["copies"].nbytes == each * 3000 * len(kept["places"])
    before = {**kept, "copies": kept["copies"].astype(np.uint64)}
    again = HammingIndex.from_tensors(before, codes, bits, index.tie_rank)
    for one in (again, HammingIndex.from_tensors(kept, codes, bits, index.tie_rank)):
        found = one.search(codes[:20], 9)
        np.testing.assert_array_equal(found.items, index.search(codes[:20], 9).items)
        far = np.bitwise_count(codes[:20, None, 0] ^ codes[None, :, 0])
        np.testing.assert_array_equal(found.distances, np.sort(far, axis=1)[:, :9])
    if bits == 33:
        short = {**kept, "copies": kept["copies"].astype(np.uint32)}
        with pytest.raises(
            DataError, match=r"index\.copies has words that 33 bits do not fit into"
        ):
            check_tables(short, index.catalogue.segments[0].segment, None)
