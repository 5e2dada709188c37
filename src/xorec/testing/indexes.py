"""IndexTests: what every index must do, against an oracle that says the rule in Python.

CodeIndexTests: what every index of codes must do besides.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from xorec.core.bits import pack_signs, unpack_signs
from xorec.core.errors import DataError, OptionError
from xorec.search.hamming.index import HammingIndex
from xorec.search.hits import Hits
from xorec.search.index import Index

Lists = list[list[int]]
often = settings(
    deadline=None,
    max_examples=min(20, settings().max_examples),
    suppress_health_check=[HealthCheck.differing_executors],
)
"""One test for several classes: that is what a kit is for."""


Costs = npt.NDArray[Any]
Ranks = npt.NDArray[np.int32]
Words = npt.NDArray[np.uint64]


def best(costs: Costs, tie_rank: Ranks, k: int, hidden: set[int]) -> tuple[list[int], list[Any]]:
    """(rows, costs) of the k items of least cost: then by tie rank, without the hidden."""
    values = costs.tolist()
    shown = [row for row in range(len(values)) if row not in hidden]
    rows = sorted(shown, key=lambda row: (values[row], tie_rank[row]))[:k]
    return rows, [values[row] for row in rows]


def hamming(codes: Words, query: Words) -> Costs:
    """The bits in which each code differs from the query."""
    distances: Costs = np.bitwise_count(codes ^ query).sum(axis=1).astype(np.int64)
    return distances


def as_lists(lists: Lists) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int32]]:
    """(indptr, indices), each list ascending."""
    indptr = np.cumsum([0, *map(len, lists)], dtype=np.int64)
    rows = [row for one in lists for row in sorted(one)]
    return indptr, np.array(rows, dtype=np.int32)


def mixed_up(rng: np.random.Generator, rows: npt.NDArray[np.integer]) -> npt.NDArray[np.integer]:
    """The rows in any order, some of them twice: as people give them."""
    return rng.permutation(np.concatenate([rows, rows[: len(rows) // 2 + 1]]))


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
    """Derive, and say what items and queries are, how the index is made, and what an item costs.

    Items are uint64 codes unless said otherwise.
    """

    def items(self, rng: np.random.Generator, n: int, bits: int, kind: str) -> Any:
        """n items, of one of KINDS."""
        return make_codes(rng, n, bits, kind)

    def queries(self, rng: np.random.Generator, n: int, bits: int, items: Any) -> Any:
        """n queries, the last one like the first item."""
        return np.concatenate([make_codes(rng, n - 1, bits, "spread"), items[:1]])

    def one(self, queries: Any, b: int) -> Any:
        """Query b, alone."""
        return queries[b]

    def take(self, items: Any, rows: npt.NDArray[np.integer]) -> Any:
        """The items at these rows."""
        return items[rows]

    def drawn(
        self, seed: int, n: int, bits: int, kind: str = "clusters", queries: int = 4
    ) -> tuple[np.random.Generator, Any, Any, Ranks]:
        """(random numbers that follow, items, queries, tie rank)."""
        rng = np.random.default_rng(seed)
        items = self.items(rng, n, bits, kind)
        return rng, items, self.queries(rng, queries, bits, items), rng.permutation(n).astype("i4")

    def make(self, items: Any, bits: int, tie_rank: Ranks) -> Index:
        """The index under test."""
        raise NotImplementedError

    def costs(self, items: Any, query: Any, bits: int) -> Costs:
        """The distance of every item from a query, or minus its score: what ascends in a list."""
        raise NotImplementedError

    @pytest.mark.parametrize("bits", [8, 20, 64, 128, 130, 256])
    @often
    @given(data=st.data())
    def test_equals_the_oracle(self, bits: int, data: st.DataObject) -> None:
        rng = np.random.default_rng(data.draw(st.integers(0, 2**32), label="seed"))
        n = data.draw(st.sampled_from([1, 2, 7, 63, 64, 65, 300, 2047, 2049]), label="items")
        k = data.draw(st.sampled_from([1, 3, 10, 100, 1500, 3000]), label="k")
        items = self.items(rng, n, bits, data.draw(st.sampled_from(KINDS), label="kind"))
        tie_rank = rng.permutation(n).astype(np.int32)
        queries = self.queries(rng, 4, bits, items)
        share = data.draw(st.sampled_from([0.0, 0.05, 0.5, 1.0]), label="seen")
        seen: Lists = [np.flatnonzero(rng.random(n) < share).tolist() for _ in range(4)]
        rows = np.flatnonzero(rng.random(n) < data.draw(st.sampled_from([0.0, 0.1, 0.9])))
        deny = mixed_up(rng, rows)
        index = self.make(items, bits, tie_rank)
        hits = index.search(queries, k, exclude=as_lists(seen), deny=deny)
        case = items, queries, bits, tie_rank
        self._check(hits, case, k, [{*own, *deny.tolist()} for own in seen])

    @pytest.mark.parametrize("bits", [8, 64, 130])
    @often
    @given(data=st.data())
    def test_allow(self, bits: int, data: st.DataObject) -> None:
        rng = np.random.default_rng(data.draw(st.integers(0, 2**32), label="seed"))
        n, k = data.draw(st.sampled_from([(5, 10), (400, 10), (2100, 10), (2100, 1200)]))
        items = self.items(rng, n, bits, data.draw(st.sampled_from(KINDS), label="kind"))
        tie_rank = rng.permutation(n).astype(np.int32)
        queries = self.queries(rng, 3, bits, items)
        share = data.draw(st.sampled_from([0.0, 0.01, 0.3, 0.9, 1.0]), label="allowed")
        seen: Lists = [np.flatnonzero(rng.random(n) < 0.1).tolist() for _ in range(3)]
        index, exclude = self.make(items, bits, tie_rank), as_lists(seen)
        allowed, case = rng.random(n) < share, (items, queries, bits, tie_rank)
        deny = mixed_up(rng, np.flatnonzero(rng.random(n) < 0.2))
        never = [{*own, *deny.tolist()} for own in seen]
        rows = mixed_up(rng, np.flatnonzero(allowed))
        choices = allowed, rows, index.item_filter(allowed), index.item_filter(rows)
        hidden = [own | set(np.flatnonzero(~allowed).tolist()) for own in never]
        for choice in choices:
            hits = index.search(queries, k, exclude=exclude, allow=choice, deny=deny)
            self._check(hits, case, k, hidden)
        own: Lists = [np.flatnonzero(rng.random(n) < share).tolist() for _ in range(3)]
        hits = index.search(queries, k, exclude=exclude, allow=as_lists(own), deny=deny)
        hidden = [a | (set(range(n)) - set(b)) for a, b in zip(never, own, strict=True)]
        self._check(hits, case, k, hidden)

    @pytest.mark.parametrize("bits", [20, 64, 130])
    def test_one_by_one_in_batches_and_on_threads(self, bits: int) -> None:
        _, items, queries, tie_rank = self.drawn(bits, 3000, bits, queries=90)
        index = self.make(items, bits, tie_rank)
        whole = index.search(queries, 20)
        for threads in (2, 3):
            same(index.search(queries, 20, threads=threads), whole)
        for b in range(90):
            one = index.search(self.one(queries, b), 20)
            np.testing.assert_array_equal(one.items[0], whole.items[b])
            np.testing.assert_array_equal(one.scores[0], whole.scores[b])

    @pytest.mark.parametrize("bits", [20, 64, 130])
    def test_filters_of_one_query_and_of_many(self, bits: int) -> None:
        rng, items, queries, tie_rank = self.drawn(bits, 600, bits, queries=12)
        index = self.make(items, bits, tie_rank)
        seen: Lists = [np.flatnonzero(rng.random(600) < 0.3).tolist() for _ in range(12)]
        denied = mixed_up(rng, rng.choice(600, size=60, replace=False))
        for rows in (denied, denied[:1], None):
            hidden = set() if rows is None else set(rows.tolist())
            hits = index.search(queries, 20, exclude=as_lists(seen), deny=rows)
            case = items, queries, bits, tie_rank
            self._check(hits, case, 20, [{*own, *hidden} for own in seen])
            for b in range(12):
                case = items, queries[b : b + 1], bits, tie_rank
                for own in (seen[b], []):
                    lists = as_lists([own]) if own else None
                    hits = index.search(queries[b : b + 1], 20, exclude=lists, deny=rows)
                    self._check(hits, case, 20, [{*own, *hidden}])

    @often
    @given(seed=st.integers(0, 2**32), bits=st.sampled_from([20, 64, 100]))
    def test_permuted_items(self, seed: int, bits: int) -> None:
        rng, items, queries, tie_rank = self.drawn(seed, 500, bits)
        rows = rng.permutation(500)
        before = self.make(items, bits, tie_rank).search(queries, 15)
        after = self.make(self.take(items, rows), bits, tie_rank[rows]).search(queries, 15)
        np.testing.assert_array_equal(rows[after.items], before.items)

    def test_bad_filters_are_refused(self) -> None:
        rng = np.random.default_rng(0)
        items = self.items(rng, 10, 20, "spread")
        queries = self.queries(rng, 3, 20, items)
        index = self.make(items, 20, np.arange(10, dtype=np.int32))
        with pytest.raises(DataError, match="deny has the row 10 but rows go from 0 to 9"):
            index.search(queries, 3, deny=np.array([10]))
        with pytest.raises(DataError, match="allow has the row -1"):
            index.search(queries, 3, allow=np.array([-1]))
        with pytest.raises(DataError, match=r"mask has shape \(9,\) but there are 10 items"):
            index.search(queries, 3, allow=np.ones(9, dtype=np.bool_))
        with pytest.raises(DataError, match="exclude has 2 lists but there are 3 queries"):
            index.search(queries, 3, exclude=as_lists([[1], [2]]))
        with pytest.raises(OptionError, match="k is 0"):
            index.search(queries, 0)
        assert index.search(queries[:0], 3).items.shape == (0, 3)

    def _check(self, hits: Hits, case: Any, k: int, hidden: list[set[int]]) -> None:
        """case: (items, queries, bits, tie_rank)."""
        items, queries, bits, tie_rank = case
        for b in range(len(queries)):
            rows, costs = best(self.costs(items, queries[b], bits), tie_rank, k, hidden[b])
            count = int(hits.counts[b])
            assert hits.items[b, :count].tolist() == rows
            found = -hits.scores if hits.distances is None else hits.distances
            assert found[b, :count].tolist() == costs
            if hits.distances is not None:
                shares = 1 - np.array(costs) / bits
                np.testing.assert_allclose(hits.scores[b, :count], shares, atol=1e-6)


class CodeIndexTests(IndexTests):
    """Derive, and say how the index is made; the costs are Hamming distances unless said."""

    def make(self, items: Words, bits: int, tie_rank: Ranks) -> HammingIndex:
        raise NotImplementedError

    def costs(self, items: Words, query: Words, bits: int) -> Costs:
        return hamming(items, query)

    def add(self, index: HammingIndex, items: Words, tie_rank: Ranks) -> HammingIndex:
        """The index with these items too."""
        return index.add(items, tie_rank)

    def open(self, kept: Any, items: Words, tie_rank: Ranks, index: HammingIndex) -> HammingIndex:
        """The index whose tensors a file has kept."""
        return HammingIndex.from_tensors(kept, items, index.bits, tie_rank, index.distance)

    @often
    @given(seed=st.integers(0, 2**32), bits=st.sampled_from([20, 64, 100]))
    def test_permuted_bits(self, seed: int, bits: int) -> None:
        rng, codes, queries, tie_rank = self.drawn(seed, 500, bits)
        before = self.make(codes, bits, tie_rank).search(queries, 15)
        order = rng.permutation(bits)
        mixed = [pack_signs(unpack_signs(words, bits)[:, order]) for words in (codes, queries)]
        same(self.make(mixed[0], bits, tie_rank).search(mixed[1], 15), before)

    @pytest.mark.parametrize("bits", [8, 64, 130])
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
            rows, far = best(self.costs(codes, query, bits), tie_rank, 700, set(own))
            expected = [(row, d) for row, d in zip(rows, far, strict=True) if d <= radius]
            assert list(zip(items.tolist(), distances.tolist(), strict=True)) == expected

    @pytest.mark.parametrize("bits", [1, 8, 30, 31, 64, 130, 254, 255])
    def test_the_opposite_code_is_found_too(self, bits: int) -> None:
        rng = np.random.default_rng(bits)
        codes = make_codes(rng, 70, bits, "equal")
        codes[1::2] = make_codes(rng, 35, bits, "spread")
        opposite = pack_signs(-unpack_signs(codes[:1], bits))
        queries = np.concatenate([opposite, codes[:1], pack_signs(np.ones((1, bits)))])
        tie_rank = rng.permutation(70).astype(np.int32)
        index, case = self.make(codes, bits, tie_rank), (codes, queries, bits, tie_rank)
        for k in (5, 70):
            self._check(index.search(queries, k), case, k, [set()] * 3)
        assert [len(rows) for rows, _ in index.within(queries, bits)] == [70] * 3

    @pytest.mark.parametrize("bits", [20, 64, 130])
    def test_added_and_removed_items(self, bits: int) -> None:
        """Adding and removing gives what building from all the rest gives."""
        rng, codes, queries, tie_rank = self.drawn(bits, 2500, bits, queries=5)
        first = np.argsort(np.argsort(tie_rank[:2300])).astype(np.int32)
        second = np.argsort(np.argsort(tie_rank[:2400])).astype(np.int32)
        index = self.add(self.make(codes[:2300], bits, first), codes[2300:2400], second)
        index = self.add(index, codes[2400:], tie_rank)
        case = codes, queries, bits, tie_rank
        gone = rng.choice(2500, size=700, replace=False)
        for one, hidden in ((index, set()), (index.remove(gone), set(gone.tolist()))):
            assert len(one) == 2500 - len(hidden)
            hits = one.search(queries, 30)
            self._check(hits, case, 30, [hidden] * len(queries))
            long = one.search(queries, 2400)
            self._check(long, case, 2400, [hidden] * len(queries))
            found = one.within(queries[0], bits // 2)
            rows, far = best(self.costs(codes, queries[0], bits), tie_rank, 2500, hidden)
            assert found.items.tolist() == [
                r for r, d in zip(rows, far, strict=True) if d <= bits // 2
            ]
            self._check_filters(one, case, hidden, rng)
        twice = index.remove(gone[:300]).remove(gone[300:])
        same(twice.search(queries, 30), index.remove(gone).search(queries, 30))
        allowed = np.arange(0, 2500, 3)
        hits = twice.search(queries, 30, allow=allowed)
        hidden = set(gone.tolist()) | (set(range(2500)) - set(allowed.tolist()))
        self._check(hits, case, 30, [hidden] * len(queries))

    def _check_filters(
        self, index: HammingIndex, case: Any, hidden: set[int], rng: np.random.Generator
    ) -> None:
        """What each query may not show, what none may, and what each may, beside the hidden."""
        codes, queries, bits, tie_rank = case
        n = len(codes)
        seen: Lists = [np.flatnonzero(rng.random(n) < 0.3).tolist() for _ in queries]
        deny = mixed_up(rng, rng.choice(n, size=n // 5, replace=False))
        out = [hidden | {*own, *deny.tolist()} for own in seen]
        self._check(index.search(queries, 30, exclude=as_lists(seen), deny=deny), case, 30, out)
        for b in range(len(queries)):
            alone = codes, queries[b : b + 1], bits, tie_rank
            hits = index.search(queries[b : b + 1], 30, exclude=as_lists(seen[b : b + 1]))
            self._check(hits, alone, 30, [hidden | set(seen[b])])
        hits = index.search(queries, 30, allow=as_lists(seen))
        self._check(hits, case, 30, [hidden | (set(range(n)) - set(own)) for own in seen])
        found = index.within(queries, bits // 2, exclude=as_lists(seen))
        for own, query, (rows, _) in zip(seen, queries, found, strict=True):
            expected, far = best(self.costs(codes, query, bits), tie_rank, n, hidden | set(own))
            near = [row for row, d in zip(expected, far, strict=True) if d <= bits // 2]
            assert rows.tolist() == near

    @pytest.mark.parametrize("in_order", [True, False])
    def test_what_was_removed_stays_removed_when_others_come(self, in_order: bool) -> None:
        """Whether or not the new ranks keep the order of the old items."""
        rng = np.random.default_rng(4)
        codes, queries = make_codes(rng, 900, 64, "duplicates"), make_codes(rng, 4, 64, "spread")
        codes[850:], queries[0] = codes[850], codes[850]  # more ties among the new than a list has
        tie_rank = rng.permutation(900).astype(np.int32)
        first = np.argsort(np.argsort(tie_rank[:800])) if in_order else rng.permutation(800)
        gone = rng.choice(800, size=200, replace=False)
        index = self.make(codes[:800], 64, first.astype(np.int32)).remove(gone)
        index = self.add(index, codes[800:], tie_rank)
        hidden, case = set(gone.tolist()), (codes, queries, 64, tie_rank)
        for k in (5, 700):
            self._check(index.search(queries, k), case, k, [hidden] * 4)
        self._check_filters(index, case, hidden, rng)

    def test_kept_in_a_file(self) -> None:
        _, codes, queries, tie_rank = self.drawn(3, 2100, 64, queries=5)
        index = self.make(codes, 64, tie_rank)
        kept = {name: array.copy() for name, array in index.tensors().items()}
        for array in kept.values():
            array.flags.writeable = False
        again = self.open(kept, codes, tie_rank, index)
        same(again.search(queries, 12), index.search(queries, 12))


def popcount_offsets(codes: Words, bits: int, most: int) -> npt.NDArray[np.uint8]:
    """Offsets that codes have by themselves: few large, many equal; so items may be permuted."""
    ones = np.bitwise_count(codes).sum(axis=1).astype(np.int64)
    return np.asarray(np.clip(ones - bits // 2, 0, most), dtype=np.uint8)


class OffsetIndexTests(CodeIndexTests):
    """CodeIndexTests of items with offsets, up to `most`; derive, and say the method."""

    method = "auto"
    most = 7

    def make(self, items: Words, bits: int, tie_rank: Ranks) -> HammingIndex:
        offsets = popcount_offsets(items, bits, self.most)
        how: Any = {"offsets": offsets, "method": self.method, "threads": 2}
        return HammingIndex(items, bits, tie_rank, **how)

    def costs(self, items: Words, query: Words, bits: int) -> Costs:
        return hamming(items, query) - popcount_offsets(items, bits, self.most)

    def add(self, index: HammingIndex, items: Words, tie_rank: Ranks) -> HammingIndex:
        offsets = popcount_offsets(items, index.bits, self.most)
        return index.add(items, tie_rank, offsets=offsets)

    def open(self, kept: Any, items: Words, tie_rank: Ranks, index: HammingIndex) -> HammingIndex:
        offsets = popcount_offsets(items, index.bits, self.most)
        return HammingIndex.from_tensors(kept, items, index.bits, tie_rank, offsets=offsets)


def same(one: Hits, other: Hits) -> None:
    """Equal in items, scores, distances, order and counts."""
    np.testing.assert_array_equal(one.counts, other.counts)
    np.testing.assert_array_equal(one.items, other.items)
    np.testing.assert_array_equal(one.scores, other.scores)
    np.testing.assert_array_equal(one.distances, other.distances)
