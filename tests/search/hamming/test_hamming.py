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
from xorec.search.filters import no_filters
from xorec.search.hamming.index import HammingIndex
from xorec.search.hamming.lut import SevenBitTables
from xorec.search.hamming.mih import MultiIndexHashing
from xorec.search.hamming.mih_probe import probe, probe_one
from xorec.search.hamming.mih_tables import bytes_for
from xorec.search.hamming.scan import LinearScan
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


def names(index: HammingIndex) -> list[str]:
    return [one.name for one in index.catalogue.segments[0].strategies]


def test_who_competes_for_a_batch() -> None:
    short = make_codes(np.random.default_rng(0), 3000, 20, "spread")
    long = make_codes(np.random.default_rng(0), 3000, 64, "spread")
    assert names(HammingIndex(short, 20)) == ["scan", "lut"]
    assert names(HammingIndex(short, 20, method="scan")) == ["scan", "lut"]
    assert names(HammingIndex(short, 20, method="mih")) == ["mih"]
    assert names(HammingIndex(short, 20, distance="masked")) == ["scan"]
    assert names(HammingIndex(long, 64)) == ["scan"]
    built = HammingIndex(short, 20, method="mih")
    again = HammingIndex.from_tensors(built.tensors(), short, 20, built.tie_rank)
    assert names(again) == ["mih", "lut"]
    assert set(built.tensors()) == {
        "rows", "planes", "firsts", "starts", "full", "before", "places", "copies"
    }  # fmt: skip


def test_tables_never_cost_more_than_the_scan_they_give_up_to() -> None:
    codes = make_codes(np.random.default_rng(0), 3000, 20, "spread")
    (mih,) = HammingIndex(codes, 20, method="mih").catalogue.segments[0].strategies
    assert isinstance(mih, MultiIndexHashing)
    for k in (1, 10, 1000):
        assert mih.cost(100, k) <= LinearScan(mih.segment).cost(100, k)


def test_look_up_tables_leave_what_they_cannot_do_to_the_scan() -> None:
    codes = make_codes(np.random.default_rng(0), 3000, 20, "spread")
    scan, lut = HammingIndex(codes, 20).catalogue.segments[0].strategies
    assert isinstance(lut, SevenBitTables)
    none: Any = no_filters(1)
    keys = [one.within(codes[0], 4, none, 0) for one in (scan, lut)]
    np.testing.assert_array_equal(keys[0], keys[1])


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
    assert HammingIndex(codes, 64, threads=1).explain() == index.explain()  # counted, not timed


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


def test_a_thousand_bits() -> None:
    rng = np.random.default_rng(0)
    codes, queries = make_codes(rng, 300, 1024, "clusters"), make_codes(rng, 3, 1024, "clusters")
    tie_rank = rng.permutation(300).astype(np.int32)
    for method in ("scan", "mih"):
        hits = HammingIndex(codes, 1024, tie_rank, method=method).search(queries, 10)
        check_nearest(hits, codes, queries, tie_rank, 10)
    masked = HammingIndex(codes, 1024, tie_rank, distance="masked")
    for words in (16, 4, 1):  # of the bits only few are set
        queries[0, words:] = 0
        rows, _ = best(np.bitwise_count(queries[0] & ~codes).sum(axis=1), tie_rank, 10, set())
        assert masked.search(queries, 10).items[0].tolist() == rows


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


untyped: Any = HammingIndex


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda codes: untyped(codes, 20, distance="l2"), "distance is 'l2'"),
        (lambda codes: untyped(codes, 20, distance="masked", method="mih"), "have no tables"),
        (lambda codes: untyped(codes, 20, method="l2"), '\'l2\': give "auto" or .*"scan"'),
        (lambda codes: untyped(codes.astype(np.int64), 20), "20 bits need uint64"),
        (lambda codes: untyped(~codes, 20), "bits behind the last"),
        (lambda codes: untyped(codes, 20, [0] * 10), "not a permutation"),
        (lambda codes: untyped(codes, 20).search([[1, 2]], 3), r"shape \(1, 2\)"),
        (lambda codes: untyped(codes, 20).within(codes, -1), "distance is -1"),
        (lambda codes: untyped(codes, 20).remove([1]).tensors(), "build the index again"),
    ],
)
def test_bad_input_is_refused(call: Any, message: str) -> None:
    with pytest.raises((DataError, OptionError), match=message):
        call(make_codes(np.random.default_rng(0), 10, 20, "spread"))
