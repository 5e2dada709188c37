"""A segment: some items of an index in tie order, as planes and, where they pay, tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words
from xorec.core.threads import ThreadPool
from xorec.search.filters import Filters, Rows
from xorec.search.hamming import lut_scan as sevens_scan
from xorec.search.hamming import plan as planning
from xorec.search.hamming.adders import RUN
from xorec.search.hamming.plan import Method, Option, Plan
from xorec.search.hamming.planes_kernels import ITEMS, slice_runs
from xorec.search.hamming.scan_kernels import scan
from xorec.search.hamming.tables import Tables
from xorec.search.hamming.tables_kernels import probe
from xorec.search.top_k import inverse

Counts = npt.NDArray[np.int64]
LONG_LIST = 1_024
"""Longer answers are ranked by counting, not by insertion."""
_FIRST = np.zeros(1, dtype=np.int64)
_NO_ROWS = np.zeros(0, dtype=np.int32)
_PIECE = 512
"""Queries of one call of the scan, at most: a call costs as much as a few of them."""


@dataclass(frozen=True, eq=False)
class Segment:
    """rows (n,): the item's row at each place, in tie order. They are the n rows from `first` on:
    place_of[r - first] is the place of row r. planes (runs bits RUN,): flat. masked: only the set
    bits of a query count."""

    rows: Rows
    place_of: Rows
    bits: int
    planes: Words
    tables: Tables | None
    plan: Plan
    masked: bool = False
    first: int = 0

    @classmethod
    def build(
        cls,
        codes: Words,
        bits: int,
        rows: Rows,
        pool: ThreadPool,
        *,
        method: Method = "auto",
        memory: float | None = None,
        sample: Words | None = None,
        place_of: Rows | None = None,
        masked: bool = False,
    ) -> Segment:
        """Of the items codes[rows]; `sample`: queries like those to come, for the choice.

        rows: all from the least on. place_of: their inverse, where the least is 0.
        """
        first = 0
        if place_of is None:
            first = int(rows.min(initial=len(codes)))
            place_of = inverse((rows - first).astype(np.int32))
        planes = _slice(codes, bits, rows, pool)
        few = planning.no_need_to_plan(len(rows), bits)
        if masked or (method == "auto" and few):
            why = "masks hide bits that tables go by" if masked else "there are few items"
            plan = Plan(Option(0, planning.scan_cost(len(rows), bits)), why)
        else:
            plan = _plan(codes, bits, rows, planes, method, memory, sample)
        tables = None
        if plan.chosen.tables:
            tables = Tables.build(codes, rows, bits, plan.chosen.tables, pool)
        return cls(rows, place_of, bits, planes, tables, plan, masked, first)

    @property
    def nbytes(self) -> int:
        """Bytes of planes, rows and tables."""
        own = self.planes.nbytes + self.rows.nbytes + self.valid.nbytes
        return own + (0 if self.tables is None else self.tables.nbytes)

    @cached_property
    def valid(self) -> Words:
        """A bit for each place of the planes that has an item."""
        return pack_places(np.ones(len(self.rows), dtype=np.bool_))

    def open_places(self, filters: Filters, excluded: Rows = _NO_ROWS) -> Words:
        """A bit for each place that shown and denied (and excluded) rows leave open."""
        if not (len(filters.shown) or len(filters.denied) or len(excluded)):
            return self.valid
        shown = np.ones(len(self.rows), dtype=np.bool_)
        if len(filters.shown):
            shown = filters.shown != 0
        hidden = np.concatenate([filters.denied, excluded]) - self.first
        shown[self.place_of[hidden[(hidden >= 0) & (hidden < len(self.rows))]]] = False
        return pack_places(shown)

    def nearest(
        self, queries: Words, k: int, filters: Filters, pool: ThreadPool
    ) -> tuple[Words, npt.NDArray[np.int64]]:
        """(keys (B, k), counts): keys are distance above place, see `nearest_kernels`."""
        keys = np.empty((len(queries), k), dtype=np.uint64)
        counts = np.zeros(len(queries), dtype=np.int64)
        if self._by_sevens(len(queries), k):
            valid = self.open_places(filters)
            own = (self.planes, self.bits, valid, self.first, self.place_of)
            sevens_scan.scan_all(*own, queries, filters, keys, counts, pool)
            return keys, counts
        which = _FIRST if len(queries) == 1 else np.arange(len(queries))
        if self.tables is not None:
            finished = np.zeros(len(queries), dtype=np.bool_)
            share(pool, which, 64, partial(self._probe, queries, filters, keys, counts, finished))
            which = which[~finished]
        if len(which):
            valid = self.open_places(filters)
            work = partial(self._scan, queries, filters, valid, keys, counts)
            share(pool, which, _PIECE, work)
        return keys, counts

    def _by_sevens(self, queries: int, k: int) -> bool:
        """Whether so many queries go by sevens; not where hash tables are asked for."""
        hashed = 0 if self.tables is None else len(self.tables)
        if self.masked or (hashed and self.plan.why == planning.ASKED):
            return False
        return sevens_scan.pays(len(self.rows), self.bits, k, queries, hashed)

    def _probe(
        self,
        queries: Words,
        filters: Filters,
        keys: Words,
        counts: Counts,
        finished: npt.NDArray[np.bool_],
        which: Counts,
    ) -> None:
        """Search by the tables; what is not finished must be scanned."""
        assert self.tables is not None
        probe(
            self.tables.arrays(),
            self.rows,
            self.place_of,
            queries,
            which,
            filters.shown,
            filters.indptr,
            filters.indices,
            filters.denied,
            planning.scan_cost(len(self.rows), self.bits),
            keys,
            counts,
            finished,
        )

    def _scan(
        self,
        queries: Words,
        filters: Filters,
        valid: Words,
        keys: Words,
        counts: Counts,
        which: Counts,
    ) -> None:
        scan(
            self.planes,
            self.bits,
            self.masked or None,
            valid,
            self.first,
            self.place_of,
            queries,
            which,
            filters.indptr,
            filters.indices,
            keys,
            counts,
        )


def pack_places(shown: npt.NDArray[np.bool_]) -> Words:
    """One bool for each place as the bits of words, zero behind, in whole runs."""
    padded = np.zeros(8 * RUN * -(-len(shown) // ITEMS), dtype=np.uint8)
    packed = np.packbits(shown, bitorder="little")
    padded[: len(packed)] = packed
    return padded.view("<u8").astype(np.uint64, copy=False)


def share(
    pool: ThreadPool,
    which: Counts,
    size: int,
    work: Callable[[Counts], object],
) -> None:
    """work(part) for consecutive parts of `which`, at most `size` long, as even as can be."""
    if len(which) <= 1:
        if len(which):
            work(which)
        return
    pieces = max(-(-len(which) // size), min(len(which), pool.threads))
    parts = np.array_split(which, pieces)
    pool.map(len(parts), lambda at: work(parts[at]))


def _slice(codes: Words, bits: int, rows: Rows, pool: ThreadPool) -> Words:
    runs = -(-len(rows) // ITEMS)
    planes = np.empty((runs, bits, RUN), dtype=np.uint64)
    pool.map_ranges(runs, lambda begin, end: slice_runs(codes, rows, bits, begin, end, planes))
    return planes.reshape(-1)


def _plan(
    codes: Words,
    bits: int,
    rows: Rows,
    planes: Words,
    method: Method,
    memory: float | None,
    sample: Words | None,
) -> Plan:
    """Scan a few queries for their k-th distance, and choose by it."""
    if method == "scan":
        return planning.choose(codes, bits, codes[:0], np.zeros(0, np.int64), method=method,
                               memory=memory)  # fmt: skip
    of = codes if sample is None or not len(sample) else sample
    every = max(1, len(of) // planning.SAMPLE_QUERIES)
    queries = np.ascontiguousarray(of[::every][: planning.SAMPLE_QUERIES])
    k = min(planning.PLANNED_K, len(rows))
    keys = np.empty((len(queries), k), dtype=np.uint64)
    counts = np.zeros(len(queries), dtype=np.int64)
    indptr, which = np.zeros(len(queries) + 1, dtype=np.int64), np.arange(len(queries))
    valid = pack_places(np.ones(len(rows), dtype=np.bool_))
    own = (planes, bits, None, valid, 0, _NO_ROWS)
    scan(*own, queries, which, indptr, _NO_ROWS, keys, counts)
    kth = (keys[:, k - 1] >> np.uint64(32)).astype(np.int64)
    items = codes if len(rows) == len(codes) else np.ascontiguousarray(codes[rows])
    return planning.choose(items, bits, queries, kth, method=method, memory=memory)
