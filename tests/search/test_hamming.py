"""The Hamming index by each of its ways, and what is its own business."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from xorec.errors import DataError, OptionError
from xorec.search.hamming import HammingIndex
from xorec.search.plan import scan_cost
from xorec.search.tables import bytes_for, rings_of, substrings
from xorec.testing.indexes import IndexTests, make_codes, nearest, same

Words = npt.NDArray[np.uint64]
Ranks = npt.NDArray[np.int32]


class TestAuto(IndexTests):
    def make(self, codes: Words, bits: int, tie_rank: Ranks) -> HammingIndex:
        return HammingIndex(codes, bits, tie_rank, threads=1)


class TestScan(IndexTests):
    def make(self, codes: Words, bits: int, tie_rank: Ranks) -> HammingIndex:
        return HammingIndex(codes, bits, tie_rank, method="scan", threads=2)


class TestTables(IndexTests):
    def make(self, codes: Words, bits: int, tie_rank: Ranks) -> HammingIndex:
        return HammingIndex(codes, bits, tie_rank, method="mih", threads=2)


class TestTablesThatMayNotSwitch(IndexTests):
    """Small data hardly ever costs more by tables than by a scan, so the switch is put off."""

    @pytest.fixture(autouse=True)
    def _never(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("xorec.search.plan.scan_cost", lambda items, bits: 1e12)

    def make(self, codes: Words, bits: int, tie_rank: Ranks) -> HammingIndex:
        return HammingIndex(codes, bits, tie_rank, method="mih", threads=1)


def low_rank(items: int, bits: int, seed: int = 0) -> Any:
    from xorec.bits import pack_signs

    rng = np.random.default_rng(seed)
    return pack_signs(rng.standard_normal((items, 8)) @ rng.standard_normal((8, bits)))


def test_the_chooser_takes_tables_where_they_pay_and_says_so() -> None:
    codes = low_rank(120_000, 64)
    index = HammingIndex(codes, 64)
    assert index.segments[0].tables is not None
    assert "tables: least expected (scan" in index.explain()
    assert "bytes an item" in index.explain()
    few = HammingIndex(codes[:1000], 64)
    assert few.explain().startswith("scan: there are few items")
    uniform = make_codes(np.random.default_rng(0), 120_000, 256, "spread")
    assert HammingIndex(uniform, 256).explain().startswith("scan: least expected")


def test_a_hopeless_query_is_scanned() -> None:
    """Far from everything: its rings would be endless."""
    codes = low_rank(120_000, 64)
    index = HammingIndex(codes, 64, method="mih")
    far = np.stack([~codes[5], codes[5]])
    tie_rank = np.arange(len(codes), dtype=np.int32)
    hits = index.search(far, 10)
    for b in range(2):
        rows, distances = nearest(codes, far[b], tie_rank, 10, set())
        assert hits.items[b].tolist() == rows
        assert hits.distances is not None
        assert hits.distances[b].tolist() == distances


def test_memory_is_bounded_by_the_option() -> None:
    codes = low_rank(120_000, 64)
    free = HammingIndex(codes, 64)
    added = free.nbytes - HammingIndex(codes, 64, method="scan").nbytes
    tables = free.segments[0].tables
    assert tables is not None
    assert added == tables.nbytes <= bytes_for(64, len(tables), len(codes))
    tight = HammingIndex(codes, 64, memory=1.0)
    assert "no table fits into 1 bytes an item" in tight.explain()
    same(tight.search(codes[:5], 10), free.search(codes[:5], 10))


def test_the_plan_counts_and_does_not_time() -> None:
    codes = low_rank(120_000, 64)
    assert HammingIndex(codes, 64).explain() == HammingIndex(codes, 64, threads=1).explain()
    assert scan_cost(2_000_000, 64) == 2 * scan_cost(1_000_000, 64)


@pytest.mark.parametrize(("bits", "tables"), [(64, 3), (20, 1), (100, 7), (1024, 40)])
def test_substrings_cover_all_bits_and_rings_hold_each_mask_once(bits: int, tables: int) -> None:
    begins, widths = substrings(bits, tables)
    assert begins.tolist() == [0, *np.cumsum(widths)[:-1].tolist()]
    assert widths.sum() == bits
    rings, masks = rings_of(widths)
    assert len(set(masks.tolist())) == len(masks)
    for radius, row in enumerate(rings.tolist()):
        for width, size in zip(widths.tolist(), row[:-1], strict=True):
            part = masks[row[-1] : row[-1] + size]
            assert (np.bitwise_count(part) == radius).all()
            assert not size or part.max() < 1 << width


def test_a_thousand_bits() -> None:
    rng = np.random.default_rng(0)
    codes, queries = make_codes(rng, 300, 1024, "clusters"), make_codes(rng, 3, 1024, "clusters")
    tie_rank = rng.permutation(300).astype(np.int32)
    for method in ("scan", "mih"):
        hits = HammingIndex(codes, 1024, tie_rank, method=method).search(queries, 10)
        for b in range(3):
            rows, _ = nearest(codes, queries[b], tie_rank, 10, set())
            assert hits.items[b].tolist() == rows


def test_bad_input_is_refused() -> None:
    codes = make_codes(np.random.default_rng(0), 10, 20, "spread")
    index = HammingIndex(codes, 20)
    with pytest.raises(DataError, match="20 bits need uint64"):
        HammingIndex(codes.astype(np.int64), 20)
    with pytest.raises(DataError, match="bits behind the last"):
        HammingIndex(~codes, 20)
    with pytest.raises(DataError, match="not a permutation"):
        HammingIndex(codes, 20, np.zeros(10, dtype=np.int32))
    with pytest.raises(DataError, match=r"queries are uint64 of shape \(1, 2\)"):
        index.search(np.zeros((1, 2), dtype=np.uint64), 3)
    with pytest.raises(DataError, match="row 10 but rows go from 0 to 9"):
        index.search(codes, 3, deny=np.array([10]))
    with pytest.raises(DataError, match="3 lists but there are 10 queries"):
        index.search(codes, 3, exclude=(np.zeros(4, dtype=np.int64), np.zeros(0, dtype=np.int32)))
    with pytest.raises(OptionError, match="k is 0"):
        index.search(codes, 0)
    with pytest.raises(DataError, match="distance is -1"):
        index.within(codes, -1)
    with pytest.raises(DataError, match="build the index again"):
        index.remove(np.array([1])).tensors()


def test_no_query_no_hit() -> None:
    codes = make_codes(np.random.default_rng(0), 10, 20, "spread")
    hits = HammingIndex(codes, 20).search(codes[:0], 3)
    assert hits.items.shape == (0, 3)
