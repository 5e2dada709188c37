"""The registry of strategies: what is chosen, and a new one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from xorec.core.bits import Words
from xorec.core.threads import ThreadPool
from xorec.search.filters import Filters, no_filters
from xorec.search.hamming import strategies
from xorec.search.hamming.index import HammingIndex
from xorec.search.hamming.lut import SevenBitTables
from xorec.search.hamming.mih import MultiIndexHashing
from xorec.search.hamming.scan import LinearScan
from xorec.search.hamming.segment import Segment
from xorec.search.hamming.strategy import Option, Sample
from xorec.search.hits import Nearest
from xorec.testing.indexes import make_codes, same


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


class Patient(LinearScan):
    """A scan that says it costs nothing, and takes one query at a time."""

    name = "patient"
    asked = 0

    @classmethod
    def options(cls, segment: Segment, sample: Sample) -> list[Option]:
        return [Option(cls.name, cls.name, 0.0)]

    def cost(self, queries: int, k: int) -> float:
        return -1.0

    def nearest(self, queries: Words, k: int, filters: Filters, pool: ThreadPool) -> Nearest:
        type(self).asked += len(queries)
        return super().nearest(queries, k, filters, pool)


def test_a_new_strategy_is_its_class_and_one_line(monkeypatch: pytest.MonkeyPatch) -> None:
    registry: Any = (*strategies.STRATEGIES, Patient)
    monkeypatch.setattr(strategies, "STRATEGIES", registry)
    codes = make_codes(np.random.default_rng(0), 20_000, 64, "spread")
    index = HammingIndex(codes, 64)
    assert names(index) == ["patient"]
    assert index.explain().startswith("patient: least expected (scan")
    found = index.search(codes[:7], 5)
    assert Patient.asked == 7
    same(found, HammingIndex(codes, 64, method="scan").search(codes[:7], 5))


def test_look_up_tables_leave_what_they_cannot_do_to_the_scan() -> None:
    codes = make_codes(np.random.default_rng(0), 3000, 20, "spread")
    scan, lut = HammingIndex(codes, 20).catalogue.segments[0].strategies
    assert isinstance(lut, SevenBitTables)
    none: Any = no_filters(1)
    keys = [one.within(codes[0], 4, none, 0) for one in (scan, lut)]
    np.testing.assert_array_equal(keys[0], keys[1])
