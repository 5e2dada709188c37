"""IndexTests: what every index of codes must do, against an oracle that says the rule in Python."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from xorec.bits import pack_signs, unpack_signs
from xorec.search.hamming import HammingIndex
from xorec.search.hits import Hits

Lists = list[list[int]]
often = settings(
    deadline=None, max_examples=20, suppress_health_check=[HealthCheck.differing_executors]
)
"""One test for several classes: that is what a kit is for."""


def nearest(
    codes: npt.NDArray[np.uint64],
    query: npt.NDArray[np.uint64],
    tie_rank: npt.NDArray[np.int32],
    k: int,
    hidden: set[int],
) -> tuple[list[int], list[int]]:
    """(rows, distances): by distance, then tie rank, without the hidden."""
    distances = np.bitwise_count(codes ^ query).sum(axis=1).tolist()
    shown = [row for row in range(len(codes)) if row not in hidden]
    best = sorted(shown, key=lambda row: (distances[row], tie_rank[row]))[:k]
    return best, [distances[row] for row in best]


def as_lists(lists: Lists) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """(indptr, indices), each list ascending."""
    indptr = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    rows = [row for one in lists for row in sorted(one)]
    return indptr, np.array(rows, dtype=np.int32)


def make_codes(rng: np.random.Generator, items: int, bits: int, kind: str) -> Any:
    """Codes (items, W): spread out, in a few clusters, many duplicates, or all equal."""
    if kind == "equal":
        return np.repeat(pack_signs(rng.standard_normal((1, bits))), items, axis=0)
    if kind == "duplicates":
        few = pack_signs(rng.standard_normal((max(1, items // 8), bits)))
        return few[rng.integers(len(few), size=items)]
    if kind == "clusters":
        centres = rng.standard_normal((4, bits))
        near = centres[rng.integers(4, size=items)]
        return pack_signs(near + 0.6 * rng.standard_normal((items, bits)))
    return pack_signs(rng.standard_normal((items, bits)))


KINDS = ("spread", "clusters", "duplicates", "equal")


class IndexTests:
    """Derive, and say how the index is made."""

    def make(
        self, codes: npt.NDArray[np.uint64], bits: int, tie_rank: npt.NDArray[np.int32]
    ) -> HammingIndex:
        """The index under test."""
        raise NotImplementedError

    @pytest.mark.parametrize("bits", [8, 20, 64, 100, 128, 256])
    @often
    @given(data=st.data())
    def test_equals_the_oracle(self, bits: int, data: st.DataObject) -> None:
        rng = np.random.default_rng(data.draw(st.integers(0, 2**32), label="seed"))
        items = data.draw(st.sampled_from([1, 2, 7, 63, 64, 65, 300, 2047, 2049]), label="items")
        k = data.draw(st.sampled_from([1, 3, 10, 100, 1500, 3000]), label="k")
        codes = make_codes(rng, items, bits, data.draw(st.sampled_from(KINDS), label="kind"))
        tie_rank = rng.permutation(items).astype(np.int32)
        queries = np.concatenate([make_codes(rng, 3, bits, "spread"), codes[:1]])
        share = data.draw(st.sampled_from([0.0, 0.05, 0.5, 1.0]), label="seen")
        seen: Lists = [np.flatnonzero(rng.random(items) < share).tolist() for _ in queries]
        deny = np.flatnonzero(rng.random(items) < data.draw(st.sampled_from([0.0, 0.1])))
        index = self.make(codes, bits, tie_rank)
        hits = index.search(queries, k, exclude=as_lists(seen), deny=deny)
        self._check(hits, codes, queries, tie_rank, k, [{*own, *deny.tolist()} for own in seen])

    @pytest.mark.parametrize("bits", [8, 64, 128])
    @often
    @given(data=st.data())
    def test_allow(self, bits: int, data: st.DataObject) -> None:
        rng = np.random.default_rng(data.draw(st.integers(0, 2**32), label="seed"))
        items, k = data.draw(st.sampled_from([5, 400, 2100]), label="items"), 10
        codes = make_codes(rng, items, bits, data.draw(st.sampled_from(KINDS), label="kind"))
        tie_rank = rng.permutation(items).astype(np.int32)
        queries = make_codes(rng, 3, bits, "spread")
        share = data.draw(st.sampled_from([0.0, 0.01, 0.3, 0.9, 1.0]), label="allowed")
        seen: Lists = [np.flatnonzero(rng.random(items) < 0.1).tolist() for _ in queries]
        index, exclude = self.make(codes, bits, tie_rank), as_lists(seen)
        allowed = rng.random(items) < share
        hidden = [{*own, *np.flatnonzero(~allowed).tolist()} for own in seen]
        choices = allowed, np.flatnonzero(allowed), index.only(allowed)
        for choice in choices:
            hits = index.search(queries, k, exclude=exclude, allow=choice)
            self._check(hits, codes, queries, tie_rank, k, hidden)
        own: Lists = [np.flatnonzero(rng.random(items) < share).tolist() for _ in queries]
        hits = index.search(queries, k, exclude=exclude, allow=as_lists(own))
        hidden = [{*a, *(set(range(items)) - set(b))} for a, b in zip(seen, own, strict=True)]
        self._check(hits, codes, queries, tie_rank, k, hidden)

    @pytest.mark.parametrize("bits", [20, 64, 200])
    def test_one_by_one_in_batches_and_on_threads(self, bits: int) -> None:
        rng = np.random.default_rng(bits)
        codes, queries = (
            make_codes(rng, 3000, bits, "clusters"),
            make_codes(rng, 90, bits, "spread"),
        )
        tie_rank = rng.permutation(3000).astype(np.int32)
        index = self.make(codes, bits, tie_rank)
        whole = index.search(queries, 20)
        for threads in (2, 3):
            same(index.search(queries, 20, threads=threads), whole)
        for b in range(len(queries)):
            one = index.search(queries[b], 20)
            np.testing.assert_array_equal(one.items[0], whole.items[b])

    @often
    @given(seed=st.integers(0, 2**32), bits=st.sampled_from([20, 64, 100]))
    def test_masks_permuted_bits_and_permuted_items(self, seed: int, bits: int) -> None:
        """XOR all codes with one mask, or permute bits: same hits. Permute items: same items."""
        rng = np.random.default_rng(seed)
        codes, queries = make_codes(rng, 500, bits, "clusters"), make_codes(rng, 4, bits, "spread")
        tie_rank = rng.permutation(500).astype(np.int32)
        before = self.make(codes, bits, tie_rank).search(queries, 15)
        mask = make_codes(rng, 1, bits, "spread")
        same(self.make(codes ^ mask, bits, tie_rank).search(queries ^ mask, 15), before)
        order = rng.permutation(bits)
        mixed = [pack_signs(unpack_signs(words, bits)[:, order]) for words in (codes, queries)]
        same(self.make(mixed[0], bits, tie_rank).search(mixed[1], 15), before)
        rows = rng.permutation(500)
        after = self.make(codes[rows], bits, tie_rank[rows]).search(queries, 15)
        np.testing.assert_array_equal(rows[after.items], before.items)

    @pytest.mark.parametrize("bits", [16, 64, 130])
    @often
    @given(data=st.data())
    def test_within(self, bits: int, data: st.DataObject) -> None:
        rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
        kind = data.draw(st.sampled_from(KINDS))
        codes, queries = make_codes(rng, 700, bits, kind), make_codes(rng, 3, bits, "spread")
        queries[0] = codes[3]
        tie_rank = rng.permutation(700).astype(np.int32)
        radius = data.draw(st.sampled_from([0, 1, 3, bits // 3, bits // 2, bits, 2 * bits]))
        seen: Lists = [np.flatnonzero(rng.random(700) < 0.1).tolist() for _ in queries]
        found = self.make(codes, bits, tie_rank).within(queries, radius, exclude=as_lists(seen))
        for query, own, (items, distances) in zip(queries, seen, found, strict=True):
            rows, far = nearest(codes, query, tie_rank, 700, set(own))
            expected = [(row, d) for row, d in zip(rows, far, strict=True) if d <= radius]
            assert list(zip(items.tolist(), distances.tolist(), strict=True)) == expected

    @pytest.mark.parametrize("bits", [20, 64, 128])
    def test_added_and_removed_items(self, bits: int) -> None:
        """Adding and removing gives what building from all the rest gives."""
        rng = np.random.default_rng(bits)
        codes, queries = make_codes(rng, 2500, bits, "clusters"), make_codes(rng, 5, bits, "spread")
        tie_rank = rng.permutation(2500).astype(np.int32)
        first = np.argsort(np.argsort(tie_rank[:2300])).astype(np.int32)
        second = np.argsort(np.argsort(tie_rank[:2400])).astype(np.int32)
        index = self.make(codes[:2300], bits, first).add(codes[2300:2400], second)
        index = index.add(codes[2400:], tie_rank)
        gone = rng.choice(2500, size=700, replace=False)
        for one, hidden in ((index, set()), (index.remove(gone), set(gone.tolist()))):
            assert len(one) == 2500 - len(hidden)
            hits = one.search(queries, 30)
            self._check(hits, codes, queries, tie_rank, 30, [hidden] * len(queries))
            long = one.search(queries, 2400)
            self._check(long, codes, queries, tie_rank, 2400, [hidden] * len(queries))
            found = one.within(queries[0], bits // 2)
            rows, far = nearest(codes, queries[0], tie_rank, 2500, hidden)
            assert found.items.tolist() == [
                r for r, d in zip(rows, far, strict=True) if d <= bits // 2
            ]
        twice = index.remove(gone[:300]).remove(gone[300:])
        same(twice.search(queries, 30), index.remove(gone).search(queries, 30))
        allowed = np.arange(0, 2500, 3)
        hits = twice.search(queries, 30, allow=allowed)
        hidden = set(gone.tolist()) | (set(range(2500)) - set(allowed.tolist()))
        self._check(hits, codes, queries, tie_rank, 30, [hidden] * len(queries))

    def test_kept_in_a_file(self) -> None:
        rng = np.random.default_rng(3)
        codes, queries = make_codes(rng, 2100, 64, "clusters"), make_codes(rng, 5, 64, "spread")
        tie_rank = rng.permutation(2100).astype(np.int32)
        index = self.make(codes, 64, tie_rank)
        kept = {name: array.copy() for name, array in index.tensors().items()}
        for array in kept.values():
            array.flags.writeable = False
        again = HammingIndex.from_tensors(kept, codes, 64, tie_rank)
        same(again.search(queries, 12), index.search(queries, 12))

    def _check(
        self,
        hits: Hits,
        codes: npt.NDArray[np.uint64],
        queries: npt.NDArray[np.uint64],
        tie_rank: npt.NDArray[np.int32],
        k: int,
        hidden: list[set[int]],
    ) -> None:
        for b, query in enumerate(queries):
            rows, distances = nearest(codes, query, tie_rank, k, hidden[b])
            count = int(hits.counts[b])
            assert count == len(rows)
            assert hits.items[b, :count].tolist() == rows
            assert hits.distances is not None
            assert hits.distances[b, :count].tolist() == distances


def same(one: Hits, other: Hits) -> None:
    """Equal in items, distances, order and counts."""
    np.testing.assert_array_equal(one.counts, other.counts)
    np.testing.assert_array_equal(one.items, other.items)
    assert one.distances is not None
    assert other.distances is not None
    np.testing.assert_array_equal(one.distances, other.distances)
