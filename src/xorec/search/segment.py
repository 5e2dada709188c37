"""A segment: some items of an index in tie order, as planes and, where they pay, tables."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from xorec.bits import Words
from xorec.search import plan as planning
from xorec.search.filters import Filters, Rows
from xorec.search.plan import Method, Option, Plan
from xorec.search.planes_kernels import ITEMS, RUN, slice_runs
from xorec.search.scan_kernels import scan
from xorec.search.tables import Tables
from xorec.search.tables_kernels import probe
from xorec.threads import Team

Counts = npt.NDArray[np.int64]
LONG_LIST = 1_024
"""Longer answers are ranked by counting, not by insertion."""
_FIRST = np.zeros(1, dtype=np.int64)
_NO_ROWS = np.zeros(0, dtype=np.int32)
TOGETHER = 32
"""Queries that pass over a run of planes while it is in the cache."""


@dataclass(frozen=True, eq=False)
class Segment:
    """rows (n,): the item's row at each place, in tie order. place_of: the place of each row, where
    these are the first of all; else empty. planes (runs bits RUN,): flat. masked: only the set bits
    of a query count."""

    rows: Rows
    place_of: Rows
    bits: int
    planes: Words
    tables: Tables | None
    plan: Plan
    masked: bool = False

    @classmethod
    def build(
        cls,
        codes: Words,
        bits: int,
        rows: Rows,
        team: Team,
        *,
        method: Method = "auto",
        memory: float | None = None,
        sample: Words | None = None,
        place_of: Rows = _NO_ROWS,
        masked: bool = False,
    ) -> Segment:
        """Of the items codes[rows]; `sample`: queries like those to come, for the choice."""
        planes = _slice(codes, bits, rows, team)
        few = planning.no_need_to_plan(len(rows), bits)
        if masked or (method == "auto" and few):
            why = "masks hide bits that tables go by" if masked else "there are few items"
            plan = Plan(Option(0, planning.scan_cost(len(rows), bits)), why)
        else:
            plan = _plan(codes, bits, rows, planes, method, memory, sample)
        tables = None
        if plan.chosen.tables:
            tables = Tables.build(codes, rows, bits, plan.chosen.tables, team)
        return cls(rows, place_of, bits, planes, tables, plan, masked)

    @property
    def nbytes(self) -> int:
        """Bytes of planes, rows and tables."""
        own = self.planes.nbytes + self.rows.nbytes
        return own + (0 if self.tables is None else self.tables.nbytes)

    def nearest(
        self, queries: Words, k: int, filters: Filters, team: Team
    ) -> tuple[Words, npt.NDArray[np.int64]]:
        """(keys (B, k), counts): keys are distance above place, see `nearest_kernels`."""
        keys = np.empty((len(queries), k), dtype=np.uint64)
        counts = np.zeros(len(queries), dtype=np.int64)
        which = _FIRST if len(queries) == 1 else np.arange(len(queries))
        if self.tables is not None:
            finished = np.zeros(len(queries), dtype=np.bool_)
            share(team, which, 64, partial(self._probe, queries, filters, keys, counts, finished))
            which = which[~finished]
        if len(which):
            share(team, which, TOGETHER, partial(self._scan, queries, filters, keys, counts))
        return keys, counts

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
        self, queries: Words, filters: Filters, keys: Words, counts: Counts, which: Counts
    ) -> None:
        scan(
            self.planes,
            self.bits,
            self.masked or None,
            self.rows,
            queries,
            which,
            filters.shown,
            filters.indptr,
            filters.indices,
            filters.denied,
            keys,
            counts,
        )


def share(
    team: Team,
    which: Counts,
    size: int,
    work: Callable[[Counts], object],
) -> None:
    """work(part) for consecutive parts of `which`, at most `size` long, as even as can be."""
    if len(which) <= 1:
        if len(which):
            work(which)
        return
    pieces = max(-(-len(which) // size), min(len(which), team.threads))
    parts = np.array_split(which, pieces)
    team.each(len(parts), lambda at: work(parts[at]))


def _slice(codes: Words, bits: int, rows: Rows, team: Team) -> Words:
    runs = -(-len(rows) // ITEMS)
    planes = np.empty((runs, bits, RUN), dtype=np.uint64)
    team.over(runs, lambda begin, end: slice_runs(codes, rows, bits, begin, end, planes))
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
    nothing = np.zeros(0, dtype=np.int32)
    indptr = np.zeros(len(queries) + 1, dtype=np.int64)
    which = np.arange(len(queries))
    shown = np.zeros(0, dtype=np.uint8)
    scan(planes, bits, None, rows, queries, which, shown, indptr, nothing, nothing, keys, counts)
    kth = (keys[:, k - 1] >> np.uint64(32)).astype(np.int64)
    items = codes if len(rows) == len(codes) else np.ascontiguousarray(codes[rows])
    return planning.choose(items, bits, queries, kth, method=method, memory=memory)
