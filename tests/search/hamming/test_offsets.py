"""Items with offsets: the kit, by every strategy; what files keep; what is refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from xorec.core.bits import pack_signs
from xorec.core.errors import DataError, OptionError
from xorec.search.hamming.index import HammingIndex
from xorec.search.hamming.lut import SevenBitTables
from xorec.search.hamming.mih import MultiIndexHashing
from xorec.search.hamming.segment import planes_of_lags
from xorec.testing.indexes import OffsetIndexTests, make_codes, popcount_offsets, same


class TestScan(OffsetIndexTests):
    method, most = "scan", 15


class TestAuto(OffsetIndexTests):
    most = 1


class TestSevenBitTables(OffsetIndexTests):
    """Of 20 bits the largest offset is 10: distances of up to 30."""

    method = "scan"

    @pytest.fixture(autouse=True)
    def _always(self, monkeypatch: pytest.MonkeyPatch) -> None:
        def cost(self: SevenBitTables, queries: int, k: int) -> float:
            return -1.0 if len(self.segment) and queries else float("inf")

        monkeypatch.setattr(SevenBitTables, "cost", cost)


class TestTables(OffsetIndexTests):
    """Not given up for a scan; items of large offsets are looked at before tables."""

    method = "mih"

    @pytest.fixture(autouse=True)
    def _never(self, monkeypatch: pytest.MonkeyPatch) -> None:
        for module in ("mih", "multi_index.cost"):
            name = f"xorec.search.hamming.{module}.scan_cost"
            monkeypatch.setattr(name, lambda items, bits: 1e12)


def low_rank(rng: np.random.Generator, rows: int, bits: int) -> Any:
    factors = np.random.default_rng(9).standard_normal((8, bits))
    return pack_signs(rng.standard_normal((rows, 8)) @ factors)


@pytest.mark.parametrize("bits", [20, 64, 70])
def test_tables_set_popular_items_apart(bits: int) -> None:
    """Few items of large offsets: these are scanned, and tables end that much earlier."""
    rng = np.random.default_rng(bits)
    codes, queries = low_rank(rng, 60_000, bits), low_rank(rng, 60, bits)
    offsets = np.where(rng.random(60_000) < 0.01, rng.integers(4, 8, 60_000), 0)
    index = HammingIndex(codes, bits, offsets=offsets, method="mih", sample=queries, threads=1)
    strategy = index.catalogue.segments[0].strategies[0]
    assert isinstance(strategy, MultiIndexHashing)
    apart = np.flatnonzero(offsets > 0)
    np.testing.assert_array_equal(np.sort(strategy.tables.heads), apart)
    assert strategy.tables.least_lag == 7
    assert f"and {len(apart)} items" in index.explain()
    hits = index.search(queries, 10)
    same(HammingIndex(codes, bits, offsets=offsets, method="scan").search(queries, 10), hits)
    for b in range(10):
        assert index.search(queries[b : b + 1], 10).items.tolist() == [hits.items[b].tolist()]
    kept = index.tensors()
    for name, wrong in {
        "heads": kept["heads"][::-1],
        "lags": kept["lags"] ^ 1,
        "head_lags": kept["head_lags"] ^ 1,
        "least_lag": kept["least_lag"] - 4,
        "head_copies": kept["head_copies"][:-1],
        "planes": kept["planes"] ^ np.uint64(1),
    }.items():
        with pytest.raises(DataError, match=r"index|head"):
            HammingIndex.from_tensors(
                {**kept, name: np.ascontiguousarray(wrong)}, codes, bits, index.tie_rank,
                offsets=offsets,
            )  # fmt: skip


def test_lags_in_planes_say_the_lag_of_each_position() -> None:
    rng = np.random.default_rng(1)
    offsets = rng.integers(0, 14, 3000).astype(np.uint8)
    rows = rng.permutation(3000).astype(np.int32)
    planes = planes_of_lags(offsets, rows)
    bits = np.unpackbits(planes.view(np.uint8), axis=2, bitorder="little")
    found = (bits.transpose(0, 2, 1).astype(np.int64) @ (1 << np.arange(4))).reshape(-1)
    assert (found[:3000] == 13 - offsets[rows].astype(np.int64)).all()
    assert not found[3000:].any()


def test_an_index_without_offsets_keeps_nothing_of_them() -> None:
    codes = make_codes(np.random.default_rng(0), 3000, 20, "spread")
    plain = HammingIndex(codes, 20, method="mih")
    zeros = HammingIndex(codes, 20, method="mih", offsets=np.zeros(3000, dtype=np.uint8))
    assert zeros.nbytes == plain.nbytes
    assert zeros.tensors().keys() == plain.tensors().keys()
    some = HammingIndex(codes, 20, method="scan", offsets=popcount_offsets(codes, 20, 3))
    alone = HammingIndex(codes, 20, method="scan")
    assert some.nbytes - alone.nbytes == 3000 + 2 * 2048 * 4 // 8  # by row, and in planes


def test_larger_offsets_of_added_items() -> None:
    """Lags are those of the largest offset, so the planes of before are of no use."""
    rng = np.random.default_rng(2)
    codes, queries = make_codes(rng, 900, 64, "clusters"), make_codes(rng, 4, 64, "spread")
    offsets = np.concatenate([rng.integers(0, 3, 800), rng.integers(0, 9, 100)])
    first = HammingIndex(codes[:800], 64, offsets=offsets[:800])
    index = first.add(codes[800:], np.arange(900, dtype=np.int32), offsets=offsets[800:])
    same(index.search(queries, 30), HammingIndex(codes, 64, offsets=offsets).search(queries, 30))
    fewer = first.add(codes[800:], np.arange(900, dtype=np.int32))
    offsets[800:] = 0
    same(fewer.search(queries, 30), HammingIndex(codes, 64, offsets=offsets).search(queries, 30))
    assert len(fewer.catalogue.segments) == 2


def test_within_takes_offsets_off() -> None:
    codes = np.array([[0b1111], [0b0001], [0b0111]], dtype=np.uint64)
    index = HammingIndex(codes, 4, offsets=[4, 0, 2])
    query = np.zeros((1, 1), dtype=np.uint64)
    found = index.within(query, 0)
    assert found.items.tolist() == [0]
    assert index.within(query, 1).distances.tolist() == [0, 1, 1]
    assert index.within(codes[:1], -4).items.tolist() == [0]
    with pytest.raises(DataError, match="the distance is -5: give a number from -4 to 4"):
        index.within(query, -5)
    assert index.search(query, 3).scores.tolist() == [[1.0, 0.75, 0.75]]
    with pytest.raises(OptionError, match="masked codes have no offsets"):
        HammingIndex(codes, 4, distance="masked", offsets=[1, 1, 1])
