"""HammingIndex: the exact nearest codes under the tie rule, filters inside the search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import as_contiguous, whole_numbers
from xorec.core.bits import CodeRows, Words, as_offsets, joined_offsets
from xorec.core.errors import DataError, OptionError
from xorec.core.progress import logged
from xorec.core.threads import ThreadPool, available_threads
from xorec.data.tie_rank import TieRank
from xorec.representations.codes import distances, hamming_scores
from xorec.search.filters import (
    Choice,
    Filters,
    ItemChoice,
    check_rows,
    check_tie_rank,
    make_filters,
)
from xorec.search.hamming.catalogue import Catalogue, SingleQuery, Within, within
from xorec.search.hamming.list_kernels import unpack
from xorec.search.hamming.segment import (
    Distance,
    Segment,
    TieOrder,
    check_segment,
    is_masked,
    planes_over,
)
from xorec.search.hamming.strategies import SAMPLE_QUERIES, SearchedSegment, Wish
from xorec.search.hits import FIRST_QUERIES, Exclude, Hits, Nearest, no_hits
from xorec.search.index import Index, SavedIndex
from xorec.search.top_k import inverse

if TYPE_CHECKING:
    from xorec.representations.codes import Codes


class HammingIndex(Index):
    """Exact top-k of codes by XOR and popcount; never changes, so threads may share it.

    codes (m, W): uint64 words of `bits` bits by row, see `core.bits`. tie_rank (m,): the order of
    items at equal distance, see `data.tie_rank`; None for the order of the rows. distance: the bits
    that differ, or ("masked") those that the query has and the item lacks. method: "auto" chooses
    between a linear scan and multi-index hashing; masked codes are always scanned. memory: bytes an
    item that the tables of the latter may take. sample: queries like those to come, for the choice.
    offsets (m,): 0 to 15, taken off an item's distance to every query, so that items are ranked by
    distance less offset; hits have that as their distance. threads: to build it; None for all
    cores.

    >>> import numpy as np
    >>> from xorec.core.bits import pack_signs
    >>> codes = pack_signs(np.array([[1, 1, 1, 1], [1, 1, 1, -1], [-1, -1, 1, 1]]))
    >>> index = HammingIndex(codes, bits=4)
    >>> hits = index.search(codes[:1], k=2)
    >>> hits.items, hits.distances
    (array([[0, 1]], dtype=int32), array([[0, 1]], dtype=int32))
    >>> index.explain()
    'scan: there are few items; 442.7 bytes an item'
    >>> index.distance, index.most, index.tie_rank.tolist(), index.nbytes
    ('hamming', 0, [0, 1, 2], 1328)
    """

    def __init__(
        self,
        codes: CodeRows | Words,
        bits: int,
        tie_rank: TieRank | None = None,
        *,
        distance: Distance = "hamming",
        offsets: npt.ArrayLike | None = None,
        method: str = "auto",
        memory: float | None = None,
        sample: Words | None = None,
        threads: int | None = None,
    ) -> None:
        masked = is_masked(distance)
        if masked and method == "mih":
            raise OptionError('masked codes have no tables: take method "scan" or "auto".')
        if masked and offsets is not None:
            raise OptionError("masked codes have no offsets: leave them out.")
        rows = CodeRows.of(codes, bits)
        added = as_offsets(offsets, len(rows))
        codes, tie_rank = rows.words, check_tie_rank(tie_rank, len(rows))
        item_at = inverse(tie_rank)
        with ThreadPool(threads or available_threads()) as pool:
            how: dict[str, Any] = {"positions": tie_rank, "masked": masked, "offsets": added}
            main = Segment.build(codes, bits, item_at, pool, **how)
            segments = (SearchedSegment.build(main, codes, Wish(method, memory, sample), pool),)
        removed = np.zeros(len(rows), dtype=np.bool_)
        self._set(Catalogue(rows, tie_rank, item_at, removed, lambda: segments, masked, added), 0)

    def _set(self, catalogue: Catalogue, first_queries: int) -> HammingIndex:
        self.catalogue, self.tie_rank = catalogue, catalogue.tie_rank
        self.bits, self.most = catalogue.rows.bits, catalogue.most
        """Of a code; the largest offset of an item."""
        self.distance: Distance = "masked" if catalogue.masked else "hamming"
        """What items are ranked by."""
        self._first_queries = first_queries
        return self

    @classmethod
    def _over(cls, catalogue: Catalogue, first_queries: int = 0) -> HammingIndex:
        """first_queries: so many single queries are answered before the segments are needed."""
        return cls.__new__(cls)._set(catalogue, first_queries)

    @classmethod
    def of(
        cls,
        codes: Codes,
        tie_rank: TieRank,
        saved: SavedIndex | None = None,
        threads: int | None = None,
    ) -> HammingIndex:
        """The index of a representation: see `search.index.index_of`.

        Planes and tables are built by the first batch, or after FIRST_QUERIES single queries,
        which plain NumPy answers sooner: to build takes kernels, to have kernels takes numba, and
        after an install the compiler. What a file has kept is checked now.

        >>> import xorec
        >>> coded = xorec.Signs(bits=16).fit([("ann", "tea"), ("ann", "milk"), ("bob", "tea")])
        >>> learned = coded.representation_
        >>> index = HammingIndex.of(learned, np.array([1, 0], dtype=np.int32))
        >>> hits = index.search(learned.queries(np.array([0])), k=1)
        >>> len(index), index.catalogue.is_built()
        (2, False)
        """
        distance: Distance = "masked" if codes.kind == "masked-codes" else "hamming"
        rows, bits = codes.item_rows, codes.bits
        how: dict[str, Any] = {"offsets": codes.item_offsets, "threads": threads}
        if saved is not None:
            how |= {"distance": distance, "checked": saved.checked}
            kept = cls.from_tensors(saved.tensors, rows, bits, tie_rank, **how)
            return cls._over(kept.catalogue, FIRST_QUERIES)

        def build() -> tuple[SearchedSegment, ...]:
            sample = codes.user_rows[:: max(1, codes.n_users // SAMPLE_QUERIES)]
            with logged("build", items=len(rows)):
                made = HammingIndex(rows, bits, tie_rank, distance=distance, sample=sample, **how)
            return made.catalogue.segments

        rank, removed = check_tie_rank(tie_rank, len(rows)), np.zeros(len(rows), dtype=np.bool_)
        offsets, masked = as_offsets(codes.item_offsets, len(rows)), is_masked(distance)
        catalogue = Catalogue(rows, rank, inverse(rank), removed, build, masked, offsets)
        return cls._over(catalogue, FIRST_QUERIES)

    def __len__(self) -> int:
        return len(self.catalogue) - int(self.catalogue.removed.sum())

    def __repr__(self) -> str:
        return f"HammingIndex({len(self):,} items x {self.bits} bits, {self.explain()})"

    def by(self, distance: Distance) -> HammingIndex:
        """The same items by another distance, scanned on the same planes.

        >>> import numpy as np
        >>> index = HammingIndex(np.array([[0b00], [0b01], [0b11]], dtype=np.uint64), bits=2)
        >>> query = np.array([[0b10]], dtype=np.uint64)
        >>> index.search(query, k=3).distances, index.by("masked").search(query, k=3).distances
        (array([[1, 1, 2]], dtype=int32), array([[0, 1, 1]], dtype=int32))
        """
        masked = is_masked(distance)
        if masked == self.catalogue.masked:
            return self

        def build() -> tuple[SearchedSegment, ...]:
            return tuple(
                SearchedSegment.scanned(one.segment.by(masked), "the planes are shared")
                for one in self.catalogue.segments
            )

        same = replace(self.catalogue, build=build, masked=masked)
        return self._over(same, 0 if self.catalogue.is_built() else FIRST_QUERIES)

    @property
    def nbytes(self) -> int:
        added = sum(one.nbytes for one in self.catalogue.segments)
        items = self.catalogue.rows.nbytes + self.catalogue.offsets.nbytes
        return items + self.tie_rank.nbytes + added

    def explain(self) -> str:
        main, *others = self.catalogue.segments
        text = main.explain()
        if others:
            added = sum(len(one.segment) for one in others)
            text += f"; {added:,} added items are scanned"
        return f"{text}; {self.nbytes / max(1, len(self.catalogue)):.1f} bytes an item"

    def _search_alone(self, query: Any, k: Any, exclude: Exclude | None) -> Hits | None:
        if self._first_queries or self.single is None:
            return None
        return self.single.search(query, k, exclude)

    def _ready(self, queries: Words) -> Words:
        return CodeRows(np.atleast_2d(queries), self.bits, "queries").words

    def _best(
        self, queries: Words, k: int, filters: Filters, choice: Choice, pool: ThreadPool
    ) -> Hits:
        every = self.catalogue
        filters = filters._replace(allow_mask=every.allow_mask)
        if choice is None:
            return self._hits(every.nearest(queries, k, filters, pool))
        return self._hits(every.nearest_of(choice, queries, k, filters, pool))

    def _among_lists(
        self, queries: Words, k: int, filters: Filters, allow: Exclude, pool: ThreadPool
    ) -> Hits:
        return self._hits(self.catalogue.nearest_of_lists(allow, queries, k, filters, pool))

    def _first(
        self, query: Words, k: int, filters: Filters, choice: Choice, pool: ThreadPool
    ) -> Hits:
        """One query, by the distances of all items in plain NumPy."""
        every, rank = self.catalogue, self.tie_rank
        found = distances(query[0], every.rows.words, masked=every.masked)
        if every.most:  # whole numbers from 0 on again
            found += every.most - every.offsets
        farthest = self.bits + every.most
        hidden = np.concatenate([filters.of(0), filters.denied])
        found[hidden[(hidden >= 0) & (hidden < len(every))]] = farthest + 1
        found[every.removed if choice is None else choice.allow_mask[rank] == 0] = farthest + 1
        ends = np.cumsum(np.bincount(found, minlength=farthest + 2)[: farthest + 1])
        count = min(k, int(ends[-1]))
        near = np.flatnonzero(found <= np.searchsorted(ends, count))
        best = near[np.lexsort((rank[near], found[near]))[:count]]
        hits = no_hits(1, k, distances=True)
        assert hits.distances is not None
        hits.distances[0, :count] = found[best] - every.most
        hits.put(0, best, hamming_scores(hits.distances[0, :count], self.bits))
        return hits

    def within(
        self, queries: Words, distance: int, *, exclude: Exclude | None = None, threads: int = 1
    ) -> Within:
        """All items at most `distance` away from each query, nearest first, offsets taken off.

        >>> import numpy as np
        >>> index = HammingIndex(np.array([[0b00], [0b01], [0b11]], dtype=np.uint64), bits=2)
        >>> index.within(np.array([[0b11]], dtype=np.uint64), distance=1).items
        array([2, 1], dtype=int32)
        """
        least = -self.catalogue.most
        if distance < least:
            raise DataError(
                f"the distance is {distance}: give a number from {least} to {self.bits}."
            )
        queries = CodeRows(np.atleast_2d(queries), self.bits, "queries").words
        every, radius = self.catalogue, min(distance, self.bits)
        filters = make_filters(len(queries), exclude, None, len(every), every.allow_mask)
        with ThreadPool(min(threads, max(1, len(queries)))) as pool:
            return within(every, queries, radius, filters, pool)

    def item_filter(self, items: npt.NDArray[Any]) -> ItemChoice:
        """Make ready a choice of items (rows, or one bool for each row) for many searches.

        >>> import numpy as np
        >>> index = HammingIndex(np.array([[0b00], [0b01], [0b11]], dtype=np.uint64), bits=2)
        >>> in_stock = index.item_filter(np.array([False, True, True]))
        >>> index.search(np.array([[0b00]], dtype=np.uint64), k=3, allow=in_stock).counts
        array([2])
        """
        return self.catalogue.item_filter(items)

    def add(
        self,
        codes: Words,
        tie_rank: TieRank,
        *,
        offsets: npt.ArrayLike | None = None,
        threads: int | None = None,
    ) -> HammingIndex:
        """An index that has these items too, as the rows behind the last.

        offsets: of the new ones; None for 0 each. tie_rank: of all items, old and new. Where it
        keeps the order of the old ones, nothing is built again: the new items stand in a segment of
        their own that is scanned, until they are a twentieth of all. Else, or then, everything is.

        >>> import numpy as np
        >>> index = HammingIndex(np.array([[0b00], [0b01]], dtype=np.uint64), bits=2)
        >>> new = np.array([[0b11]], dtype=np.uint64)
        >>> index.add(new, tie_rank=np.arange(3, dtype=np.int32)).search(new, k=1).items
        array([[2]], dtype=int32)
        """
        before, fresh = self.catalogue, CodeRows(codes, self.bits).words
        codes = np.concatenate([before.rows.words, fresh])
        rank = check_tie_rank(tie_rank, len(codes))
        removed = np.concatenate([before.removed, np.zeros(len(fresh), dtype=np.bool_)])
        main = before.segments[0]
        new = np.arange(len(main.segment), len(codes))
        many = len(new) > max(2_048, len(codes) // 20)
        added = joined_offsets((before.offsets, len(before)), (offsets, len(fresh)))
        other = added.max(initial=0) != before.most  # lags are those of the largest
        if many or other or (np.diff(rank[main.segment.order.rows]) < 0).any():
            how: Any = {"distance": self.distance, "offsets": added if len(added) else None}
            grown = HammingIndex(codes, self.bits, rank, **how, threads=threads)
            return self._over(replace(grown.catalogue, removed=removed))
        rows = new[np.argsort(rank[new])].astype(np.int32)
        with ThreadPool(1) as pool:
            how = {"masked": before.masked, "offsets": added}
            tail = Segment.build(codes, self.bits, rows, pool, **how)
        segments, every = (main, SearchedSegment.scanned(tail, "added")), CodeRows(codes, self.bits)
        order = (rank, inverse(rank), removed)
        return self._over(Catalogue(every, *order, lambda: segments, before.masked, added))

    def remove(self, rows: npt.NDArray[np.integer]) -> HammingIndex:
        """An index that never shows these rows. The other rows keep their numbers.

        >>> import numpy as np
        >>> codes = np.array([[0b00], [0b01], [0b11]], dtype=np.uint64)
        >>> HammingIndex(codes, bits=2).remove(np.array([0])).search(codes[:1], k=2).items
        array([[1, 2]], dtype=int32)
        """
        removed = self.catalogue.removed.copy()
        removed[check_rows(rows, len(removed), "remove")] = True
        same: Any = {"build": lambda: self.catalogue.segments}
        return self._over(replace(self.catalogue, removed=removed, **same))

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """What a file keeps beside codes and tie ranks; not of one with added or removed items.

        >>> import numpy as np
        >>> codes, rank = np.array([[0b00], [0b01]], dtype=np.uint64), np.arange(2, dtype=np.int32)
        >>> kept = HammingIndex(codes, 2, rank).tensors()
        >>> HammingIndex.from_tensors(kept, codes, 2, rank).search(codes[1:], k=1).items
        array([[1]], dtype=int32)
        """
        if len(self.catalogue.segments) > 1 or self.catalogue.removed.any():
            raise DataError("items were added or removed: build the index again to keep it.")
        return self.catalogue.segments[0].tensors()

    @classmethod
    def from_tensors(
        cls,
        tensors: Mapping[str, npt.NDArray[Any]],
        codes: CodeRows | Words,
        bits: int,
        tie_rank: TieRank,
        distance: Distance = "hamming",
        *,
        offsets: npt.ArrayLike | None = None,
        checked: bool = False,
        threads: int | None = None,
    ) -> HammingIndex:
        """The inverse of `tensors`; the arrays may be memory-mapped.

        checked: their values were looked at before. threads: to look at them; None for all cores.

        >>> import numpy as np
        >>> codes, rank = np.array([[0b00], [0b01]], dtype=np.uint64), np.arange(2, dtype=np.int32)
        >>> kept = HammingIndex(codes, 2, rank).tensors()
        >>> len(HammingIndex.from_tensors(kept, codes, 2, rank))
        2
        """
        items, masked = CodeRows.of(codes, bits), is_masked(distance)
        rank = as_contiguous(whole_numbers(tie_rank, "tie_rank").astype(np.int32, copy=False))
        if len(rank) != len(items):
            raise DataError(f"there are {len(rank)} tie ranks but {len(items)} items.")
        added = as_offsets(offsets, len(items))
        saved = {name: as_contiguous(array) for name, array in tensors.items()}
        with ThreadPool(threads or available_threads()) as every:
            pool = None if checked else every
            check_segment(saved, bits, rank, added, pool)
            order = TieOrder(saved["rows"], rank, 0)
            segment = Segment(order, planes_over(saved["planes"], bits, masked, added), added)
            main = SearchedSegment.from_tensors(segment, saved, pool)
        removed = np.zeros(len(items), dtype=np.bool_)
        catalogue = Catalogue(items, rank, order.rows, removed, lambda: (main,), masked, added)
        return cls._over(catalogue)

    @cached_property
    def single(self) -> SingleQuery | None:
        """The short way for one query; None where there are several segments.

        >>> import numpy as np
        >>> codes = np.array([[0b00], [0b01]], dtype=np.uint64)
        >>> HammingIndex(codes, bits=2).single.search(codes[:1], 1, None).items
        array([[0]], dtype=int32)
        """
        if len(self.catalogue.segments) > 1:
            return None
        strategy = self.catalogue.segments[0].strategies[0]
        return SingleQuery(strategy, self.catalogue.allow_mask)

    def _hits(self, nearest: Nearest) -> Hits:
        """Keys whose lower half is a tie rank, as hits."""
        shape = nearest.keys.shape
        items, distances = np.empty(shape, np.int32), np.empty(shape, np.int32)
        scores = np.empty(shape, np.float32)
        at, most = self.catalogue.item_at, self.catalogue.most
        unpack(nearest, at, self.bits, most, (items, scores, distances))
        return Hits(items, scores, nearest.counts, distances)
