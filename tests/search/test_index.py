"""index_of: every kind of representation has its index, built on the threads that are given."""

from __future__ import annotations

import numpy as np
import pytest

from xorec.core.threads import ThreadPool
from xorec.representations.codes import Codes, MaskedCodes
from xorec.representations.vectors import Vectors
from xorec.search.code_scores import LookUpIndex
from xorec.search.hamming.index import HammingIndex
from xorec.search.index import ScoreIndex, index_of
from xorec.testing.indexes import make_codes


def test_each_kind_has_its_index() -> None:
    codes, rank = make_codes(np.random.default_rng(0), 30, 20, "spread"), np.arange(30)
    users = np.random.default_rng(0).standard_normal((4, 20)).astype(np.float32)
    ranks = rank.astype(np.int32)
    assert isinstance(index_of(Codes(codes[:4], codes, 20), ranks), HammingIndex)
    assert isinstance(index_of(MaskedCodes(codes[:4], codes, 20), ranks), HammingIndex)
    assert isinstance(index_of(Codes(codes[:4], codes, 20, users), ranks), LookUpIndex)
    assert isinstance(index_of(Vectors(users, users), ranks[:4]), ScoreIndex)


@pytest.mark.parametrize("threads", [1, 2])
def test_an_index_is_built_on_the_threads_that_are_given(
    threads: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    pools: list[int] = []

    def never() -> int:
        raise AssertionError("the machine was asked")

    class Counted(ThreadPool):
        def __init__(self, threads: int) -> None:
            pools.append(threads)
            super().__init__(threads)

    monkeypatch.setattr("xorec.search.hamming.index.available_threads", never)
    monkeypatch.setattr("xorec.search.hamming.index.ThreadPool", Counted)
    codes = make_codes(np.random.default_rng(0), 20_000, 64, "clusters")
    learned, ranks = Codes(codes[:40], codes, 64), np.arange(20_000, dtype=np.int32)
    assert "least expected" in index_of(learned, ranks, threads=threads).explain()
    assert pools == [threads]
