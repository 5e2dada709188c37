"""HammingIndex: the exact nearest codes under the tie rule, filters inside the search."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import as_contiguous, positive_int
from xorec.core.bits import Words
from xorec.core.errors import DataError, OptionError
from xorec.core.threads import ThreadPool, available_threads
from xorec.data.tie_rank import TieRank
from xorec.search import filters
from xorec.search.filters import SHOW_ALL, Filters, Rows, Shown
from xorec.search.hamming import checks, lists
from xorec.search.hamming.checks import Distance
from xorec.search.hamming.plan import Method, Option, Plan
from xorec.search.hamming.radius import Within, within
from xorec.search.hamming.segment import LONG_LIST, Segment
from xorec.search.hamming.single import Single
from xorec.search.hamming.tables import Tables
from xorec.search.hits import Exclude, Hits
from xorec.search.nearest_kernels import unpack
from xorec.search.top_k import inverse


@dataclass(frozen=True, eq=False)
class Only:
    """The items that may be shown, made ready once for many searches: `HammingIndex.only`."""

    shown: Shown
    rows: Rows


class HammingIndex:
    """Exact top-k of codes by XOR and popcount; never changes, so threads may share it.

    codes (m, W): uint64 words of `bits` bits by row, see `core.bits`. tie_rank (m,): the order of
    items at equal distance, see `ties.tie_rank`; None for the order of the rows. distance: the bits
    that differ, or ("masked") those that the query has and the item lacks. method: "auto" chooses
    between a linear scan and multi-index hashing; masked codes are always scanned. memory: bytes an
    item that the tables of the latter may take. sample: queries like those to come, for the choice.
    """

    def __init__(
        self,
        codes: Words,
        bits: int,
        tie_rank: TieRank | None = None,
        *,
        distance: Distance = "hamming",
        method: Method = "auto",
        memory: float | None = None,
        sample: Words | None = None,
        threads: int | None = None,
    ) -> None:
        masked = checks.is_masked(distance)
        if masked and method == "mih":
            raise OptionError('masked codes have no tables: take method "scan" or "auto".')
        codes = checks.check_codes(codes, bits)
        tie_rank = checks.check_tie_rank(tie_rank, len(codes))
        item_at = inverse(tie_rank)
        with ThreadPool(threads or available_threads()) as pool:
            choice: dict[str, Any] = {"method": method, "memory": memory, "sample": sample}
            own = (codes, bits, item_at, pool)
            main = Segment.build(*own, place_of=tie_rank, masked=masked, **choice)
        self._set(lists.Items(codes, bits, tie_rank, item_at, masked), (main,))

    def _set(
        self,
        items: lists.Items,
        segments: tuple[Segment, ...],
        removed: npt.NDArray[np.bool_] | None = None,
    ) -> HammingIndex:
        self.items, self.segments = items, segments
        self.removed = np.zeros(len(items.codes), np.bool_) if removed is None else removed
        return self

    def __len__(self) -> int:
        return len(self.items.codes) - int(self.removed.sum())

    def __repr__(self) -> str:
        return f"HammingIndex({len(self):,} items x {self.bits} bits, {self.explain()})"

    @property
    def bits(self) -> int:
        """Bits of a code."""
        return self.items.bits

    @property
    def distance(self) -> Distance:
        """What items are ranked by."""
        return "masked" if self.items.masked else "hamming"

    def by(self, distance: Distance) -> HammingIndex:
        """The same items by another distance, scanned on the same planes."""
        masked = checks.is_masked(distance)
        if masked == self.items.masked:
            return self
        plan = Plan(Option(0, 0.0), "the planes are shared")
        segments = tuple(
            replace(segment, tables=None, plan=plan, masked=masked) for segment in self.segments
        )
        items = replace(self.items, masked=masked)
        return HammingIndex.__new__(HammingIndex)._set(items, segments, self.removed)

    @property
    def nbytes(self) -> int:
        """Bytes of codes, tie ranks and all that the search adds to them."""
        added = sum(segment.nbytes for segment in self.segments)
        return self.items.codes.nbytes + self.items.tie_rank.nbytes + added

    def explain(self) -> str:
        """What is searched by, and why."""
        main = self.segments[0]
        by = f"{len(main.tables)} tables" if main.tables is not None else "scan"
        text = f"{by}: {main.plan.why}"
        if main.plan.others:
            text += f" ({'; '.join(map(str, main.plan.others))})"
        if len(self.segments) > 1:
            added = sum(len(segment.rows) for segment in self.segments[1:])
            text += f"; {added:,} added items are scanned"
        return f"{text}; {self.nbytes / max(1, len(self.items.codes)):.1f} bytes an item"

    def search(
        self,
        queries: Words,
        k: int,
        *,
        exclude: Exclude | None = None,
        allow: npt.NDArray[Any] | Exclude | Only | None = None,
        deny: npt.NDArray[np.integer] | None = None,
        threads: int = 1,
    ) -> Hits:
        """The `k` nearest items of each query (B, W): distance, then tie rank.

        exclude: rows that a query may not show, ascending, as (indptr, indices). deny: rows for no
        query. allow: only these rows (or a bool for each) for all queries, or as (indptr, indices)
        for each its own, or what `only` made ready. The answer is the same for any method, number
        of threads and batch.
        """
        if allow is None and not (deny is not None and len(deny)):
            found = None if self._single is None else self._single.find(queries, k, exclude)
            if found is not None:
                return found
        queries = checks.check_codes(np.atleast_2d(queries), self.bits, "queries")
        items = len(self.items.codes)
        k = min(positive_int(k), items)
        hidden = filters.make_filters(len(queries), exclude, deny, items, self._shown)
        with ThreadPool(min(threads, max(1, len(queries)))) as pool:
            if allow is None:
                keys, counts = self._among(queries, k, hidden, pool)
            elif isinstance(allow, tuple):
                keys, counts = self._of_lists(queries, k, hidden, allow, pool)
            else:
                only = allow if isinstance(allow, Only) else self.only(allow)
                keys, counts = self._of_some(queries, k, hidden, only, pool)
        return self._hits(keys, counts)

    def within(
        self, queries: Words, distance: int, *, exclude: Exclude | None = None, threads: int = 1
    ) -> Within:
        """All items at most `distance` away from each query, nearest first."""
        if distance < 0:
            raise DataError(f"the distance is {distance}: give a number from 0 to {self.bits}.")
        queries = checks.check_codes(np.atleast_2d(queries), self.bits, "queries")
        items = len(self.items.codes)
        hidden = filters.make_filters(len(queries), exclude, None, items, self._shown)
        with ThreadPool(min(threads, max(1, len(queries)))) as pool:
            reach = min(distance, self.bits)
            return within(self.items, self.segments, queries, reach, hidden, pool)

    def only(self, items: npt.NDArray[Any]) -> Only:
        """Make ready a choice of items (rows, or one bool for each row) for many searches."""
        items, total = np.asarray(items), len(self.items.codes)
        if items.dtype == np.bool_:
            if items.shape != (total,):
                raise DataError(f"the mask has shape {items.shape} but there are {total} items.")
            rows = np.flatnonzero(items)
        else:
            rows = np.unique(filters.check_rows(items, total, "allow"))
        rows = rows[~self.removed[rows]]
        shown = np.zeros(total, dtype=np.uint8)
        shown[self.items.tie_rank[rows]] = 1
        return Only(shown, rows.astype(np.int32))

    def add(self, codes: Words, tie_rank: TieRank, *, threads: int | None = None) -> HammingIndex:
        """An index that has these items too, as the rows behind the last.

        tie_rank: of all items, old and new. Where it keeps the order of the old ones, nothing is
        built again: the new items stand in a part of their own that is scanned, until they are a
        twentieth of all. Else, or then, everything is.
        """
        fresh = checks.check_codes(codes, self.bits)
        codes = np.concatenate([self.items.codes, fresh])
        rank = checks.check_tie_rank(tie_rank, len(codes))
        removed = np.concatenate([self.removed, np.zeros(len(fresh), dtype=np.bool_)])
        main = self.segments[0]
        new = np.arange(len(main.rows), len(codes))
        many = len(new) > max(2_048, len(codes) // 20)
        if many or (np.diff(rank[main.rows]) < 0).any():
            how: dict[str, Any] = {"distance": self.distance, "threads": threads}
            grown = HammingIndex(codes, self.bits, rank, **how)
            return grown._set(grown.items, grown.segments, removed)
        masked = self.items.masked
        items = lists.Items(codes, self.bits, rank, inverse(rank), masked)
        rows = new[np.argsort(rank[new])].astype(np.int32)
        with ThreadPool(1) as pool:
            tail = Segment.build(codes, self.bits, rows, pool, method="scan", masked=masked)
        return HammingIndex.__new__(HammingIndex)._set(items, (main, tail), removed)

    def remove(self, rows: npt.NDArray[np.integer]) -> HammingIndex:
        """An index that never shows these rows. The other rows keep their numbers."""
        removed = self.removed.copy()
        removed[filters.check_rows(rows, len(removed), "remove")] = True
        return HammingIndex.__new__(HammingIndex)._set(self.items, self.segments, removed)

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """What a file keeps beside codes and tie ranks; not of one with added or removed items."""
        if len(self.segments) > 1 or self.removed.any():
            raise DataError("items were added or removed: build the index again to keep it.")
        main = self.segments[0]
        tables = {} if main.tables is None else main.tables.tensors()
        return {"rows": main.rows, "planes": main.planes, **tables}

    @classmethod
    def from_tensors(
        cls,
        tensors: Mapping[str, npt.NDArray[Any]],
        codes: Words,
        bits: int,
        tie_rank: TieRank,
        distance: Distance = "hamming",
    ) -> HammingIndex:
        """The inverse of `tensors`; the arrays may be memory-mapped."""
        own = {name: as_contiguous(array) for name, array in tensors.items()}
        tables = Tables.from_tensors(own, bits) if "starts" in own else None
        plan = Plan(Option(0 if tables is None else len(tables), 0.0), "as saved with the model")
        rank, masked = as_contiguous(tie_rank), checks.is_masked(distance)
        main = Segment(own["rows"], rank, bits, own["planes"], tables, plan, masked)
        items = lists.Items(as_contiguous(codes), bits, rank, own["rows"], masked)
        return cls.__new__(cls)._set(items, (main,))

    @cached_property
    def _shown(self) -> Shown:
        """By tie rank; empty where nothing was removed."""
        if not self.removed.any():
            return SHOW_ALL
        shown: Shown = (~self.removed)[self.items.item_at].astype(np.uint8)
        return shown

    @cached_property
    def _single(self) -> Single | None:
        """The short way for one query; None where there are several segments."""
        return Single(self.segments[0], self._shown) if len(self.segments) == 1 else None

    def _among(self, queries: Words, k: int, hidden: Filters, pool: ThreadPool) -> lists.Found:
        """The nearest that hidden.shown (by tie rank) lets through."""
        if k > LONG_LIST:
            return lists.rank_all(self.items, queries, k, hidden, pool)
        if len(self.segments) == 1:
            return self.segments[0].nearest(queries, k, hidden, pool)
        return lists.nearest_of_segments(self.items, self.segments, queries, k, hidden, pool)

    def _of_some(
        self, queries: Words, k: int, hidden: Filters, only: Only, pool: ThreadPool
    ) -> lists.Found:
        """A short choice is a list to go through; a long one hides what the search finds."""
        if not lists.is_short(len(only.rows), len(self.items.codes), self.bits):
            return self._among(queries, k, replace(hidden, shown=only.shown), pool)
        spans = np.tile(np.array([0, len(only.rows)]), (len(queries), 1))
        return lists.nearest_of_lists(self.items, queries, k, hidden, spans, only.rows, pool)

    def _of_lists(
        self, queries: Words, k: int, hidden: Filters, allow: Exclude, pool: ThreadPool
    ) -> lists.Found:
        indptr, rows = filters.check_lists(allow, len(queries), "allow")
        filters.check_rows(rows, len(self.items.codes), "allow")
        if self.removed.any():
            keep = ~self.removed[rows]
            indptr = np.concatenate([[0], np.cumsum(keep)])[indptr]
            rows = rows[keep]
        spans = np.stack([indptr[:-1], indptr[1:]], axis=1)
        return lists.nearest_of_lists(self.items, queries, k, hidden, spans, rows, pool)

    def _hits(self, keys: Words, counts: npt.NDArray[np.int64]) -> Hits:
        """Keys whose lower half is a tie rank, as hits."""
        items, distances = np.empty(keys.shape, np.int32), np.empty(keys.shape, np.int32)
        scores = np.empty(keys.shape, np.float32)
        unpack(keys, counts, self.items.item_at, self.bits, items, scores, distances)
        return Hits(items, scores, counts, distances)
