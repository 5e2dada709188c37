"""The Hamming index by each of its ways, and what is its own business."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.support.nearest import check_nearest, low_rank
from xorec.core.errors import DataError, OptionError
from xorec.search.hamming.index import HammingIndex
from xorec.search.hamming.mih import MultiIndexHashing
from xorec.search.hamming.mih_probe import probe, probe_one
from xorec.search.hamming.mih_tables import bytes_for, rings_of, substrings
from xorec.search.hamming.segment import scan_cost
from xorec.testing.indexes import CodeIndexTests, best, make_codes, often, same

Words = npt.NDArray[np.uint64]
Ranks = npt.NDArray[np.int32]


class TestAuto(CodeIndexTests):
    def make(self, items: Words, bits: int, tie_rank: Ranks) -> HammingIndex:
        return HammingIndex(items, bits, tie_rank, threads=1)


class TestScan(CodeIndexTests):
    def make(self, items: Words, bits: int, tie_rank: Ranks) -> HammingIndex:
        return HammingIndex(items, bits, tie_rank, method="scan", threads=2)

    @often
    @given(seed=st.integers(0, 2**32), bits=st.sampled_from([20, 64, 100]))
    def test_all_codes_xored_with_one(self, seed: int, bits: int) -> None:
        rng = np.random.default_rng(seed)
        codes, queries = make_codes(rng, 500, bits, "clusters"), make_codes(rng, 4, bits, "spread")
        tie_rank, one = rng.permutation(500).astype(np.int32), make_codes(rng, 1, bits, "spread")
        before = self.make(codes, bits, tie_rank).search(queries, 15)
        same(self.make(codes ^ one, bits, tie_rank).search(queries ^ one, 15), before)


class TestMasked(CodeIndexTests):
    def make(self, items: Words, bits: int, tie_rank: Ranks) -> HammingIndex:
        return HammingIndex(items, bits, tie_rank, distance="masked", threads=2)

    def costs(self, items: Words, query: Words, bits: int) -> Any:
        return np.bitwise_count(query & ~items).sum(axis=1).astype(np.int64)


class TestTables(CodeIndexTests):
    def make(self, items: Words, bits: int, tie_rank: Ranks) -> HammingIndex:
        return HammingIndex(items, bits, tie_rank, method="mih", threads=2)


class TestTablesThatMayNotSwitch(CodeIndexTests):
    """Small data hardly ever costs more by tables than by a scan, so the switch is put off."""

    variant = True

    @pytest.fixture(autouse=True)
    def _never(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("xorec.search.hamming.mih.scan_cost", lambda items, bits: 1e12)

    def make(self, items: Words, bits: int, tie_rank: Ranks) -> HammingIndex:
        return HammingIndex(items, bits, tie_rank, method="mih", threads=1)


def test_the_chooser_takes_tables_where_they_pay_and_says_so() -> None:
    codes = low_rank(np.random.default_rng(0), 120_000, 64)
    index = HammingIndex(codes, 64)
    assert isinstance(index.catalogue.segments[0].strategies[0], MultiIndexHashing)
    assert "tables: least expected (scan" in index.explain()
    assert "bytes an item" in index.explain()
    few = HammingIndex(codes[:1000], 64)
    assert few.explain().startswith("scan: there are few items")
    uniform = make_codes(np.random.default_rng(0), 120_000, 256, "spread")
    assert HammingIndex(uniform, 256).explain().startswith("scan: least expected")


def test_a_hopeless_query_is_scanned() -> None:
    """Far from everything: its rings would be endless."""
    codes = low_rank(np.random.default_rng(0), 120_000, 64)
    index = HammingIndex(codes, 64, method="mih")
    far = np.stack([~codes[5], codes[5]])
    tie_rank = np.arange(len(codes), dtype=np.int32)
    hits = index.search(far, 10)
    check_nearest(hits, codes, far, tie_rank, 10)


def test_a_query_that_is_scanned_is_probed_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """One by one or in a batch: what the tables give up goes to the scan, never to tables again."""
    probed: list[int] = []

    def spy(kernel: Any, which: int) -> Any:
        def counting(*arguments: Any) -> Any:
            probed.append(len(arguments[which]))
            return kernel(*arguments)

        return counting

    monkeypatch.setattr("xorec.search.hamming.mih.probe", spy(probe, 3))
    monkeypatch.setattr("xorec.search.hamming.mih.probe_one", spy(probe_one, 3))
    rng = np.random.default_rng(0)
    codes, queries = make_codes(rng, 20_000, 64, "spread"), make_codes(rng, 20, 64, "spread")
    tie_rank = rng.permutation(len(codes)).astype(np.int32)
    index = HammingIndex(codes, 64, tie_rank, method="mih")
    scanned = HammingIndex(codes, 64, tie_rank, method="scan").search(queries, 10)
    monkeypatch.setattr(index.catalogue.segments[0].strategies[0], "budget", 1_000.0)
    one_by_one = [index.search(queries[b : b + 1], 10) for b in range(len(queries))]
    assert sum(probed) == len(queries)
    assert [hits.items[0].tolist() for hits in one_by_one] == scanned.items.tolist()
    probed.clear()
    same(index.search(queries, 10), scanned)
    assert sum(probed) == len(queries)


def test_memory_is_bounded_by_the_option() -> None:
    codes = low_rank(np.random.default_rng(0), 120_000, 64)
    free = HammingIndex(codes, 64)
    added = free.nbytes - HammingIndex(codes, 64, method="scan").nbytes
    chosen = free.catalogue.segments[0].strategies[0]
    assert isinstance(chosen, MultiIndexHashing)
    assert added == chosen.nbytes <= bytes_for(64, len(chosen.tables.widths), len(codes))
    tight = HammingIndex(codes, 64, memory=1.0)
    assert "no table fits into 1 bytes an item" in tight.explain()
    same(tight.search(codes[:5], 10), free.search(codes[:5], 10))


def test_the_plan_counts_and_does_not_time() -> None:
    codes = low_rank(np.random.default_rng(0), 120_000, 64)
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
        check_nearest(hits, codes, queries, tie_rank, 10)


def test_the_same_planes_serve_both_distances() -> None:
    rng = np.random.default_rng(0)
    codes, queries = make_codes(rng, 3000, 64, "spread"), make_codes(rng, 5, 64, "spread")
    rank = rng.permutation(3000).astype(np.int32)
    plain = HammingIndex(codes, 64, rank, method="mih").remove(np.array([4, 9]))
    masked = HammingIndex(codes, 64, rank, distance="masked").remove(np.array([4, 9]))
    same(plain.by("masked").search(queries, 30), masked.search(queries, 30))
    same(masked.by("hamming").search(queries, 30), plain.search(queries, 30))
    planes = [one.catalogue.segments[0].segment.planes.words for one in (plain, plain.by("masked"))]
    assert planes[0] is planes[1]
    assert plain.by("hamming") is plain
    assert masked.explain().startswith("scan: masks hide bits")


def test_many_bits_of_which_few_are_set() -> None:
    """Counters wide enough for all bits, planes of only some."""
    rng = np.random.default_rng(0)
    codes, rank = make_codes(rng, 300, 1024, "clusters"), rng.permutation(300).astype(np.int32)
    index = HammingIndex(codes, 1024, rank, distance="masked")
    for words in (1, 4, 16):
        query = make_codes(rng, 1, 1024, "spread")
        query[:, words:] = 0
        rows, _ = best(np.bitwise_count(query & ~codes).sum(axis=1), rank, 10, set())
        assert index.search(query, 10).items[0].tolist() == rows


def test_bad_input_is_refused() -> None:
    codes = make_codes(np.random.default_rng(0), 10, 20, "spread")
    index = HammingIndex(codes, 20)
    with pytest.raises(OptionError, match="distance is 'jaccard'"):
        HammingIndex(codes, 20, distance="jaccard")  # type: ignore[arg-type]
    with pytest.raises(OptionError, match="masked codes have no tables"):
        HammingIndex(codes, 20, distance="masked", method="mih")
    with pytest.raises(DataError, match="20 bits need uint64"):
        HammingIndex(codes.astype(np.int64), 20)
    with pytest.raises(DataError, match="bits behind the last"):
        HammingIndex(~codes, 20)
    with pytest.raises(DataError, match="not a permutation"):
        HammingIndex(codes, 20, np.zeros(10, dtype=np.int32))
    with pytest.raises(DataError, match=r"queries are uint64 of shape \(1, 2\)"):
        index.search(np.zeros((1, 2), dtype=np.uint64), 3)
    with pytest.raises(DataError, match="distance is -1"):
        index.within(codes, -1)
    with pytest.raises(DataError, match="build the index again"):
        index.remove(np.array([1])).tensors()


def test_a_method_that_is_not_there_is_named() -> None:
    codes = np.zeros((3, 1), dtype=np.uint64)
    with pytest.raises(OptionError, match=r"method is 'faiss': give \"auto\" or one of .*\"scan\""):
        HammingIndex(codes, 64, method="faiss")
