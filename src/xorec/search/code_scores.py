"""ComposedIndex and LookUpIndex: exact top-k of scores that are added up from columns of bytes."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from xorec.core.errors import DataError
from xorec.core.kernels import kernel
from xorec.data.tie_rank import TieRank
from xorec.representations.base import Scores
from xorec.representations.composed import BLOCK, composed_scores, score_block, scratch_for
from xorec.representations.look_up import BLOCK as LOOK_UP_BLOCK
from xorec.representations.look_up import LANES, interleave, look_up, look_up_block, look_up_lanes
from xorec.search.block_index import BlockIndex, Part, bound_of, keep_block, keep_one
from xorec.search.filters import Filters
from xorec.search.hits import Nearest, Numbers

if TYPE_CHECKING:
    from xorec.representations.codebooks import Codebooks
    from xorec.representations.codes import Codes
    from xorec.representations.composed import ComposedCodes


@kernel
def scan_composed(
    items: Any, queries: Any, which: Any, filters: Any, scratch: Any, nearest: Any
) -> None:
    """The best items of the queries `which` into `nearest`.

    items: (columns (G P, n), weights (G, n), bits of a group, rows (n,)), in tie order. queries:
    (words (B, G P), etas (B, G)). scratch: see `scratch_for`. `which` should hold few queries: a
    block stays in the fast cache while they all pass over it.
    """
    (columns, weights, size, rows), (words, etas), (keys, counts) = items, queries, nearest
    scores = np.empty(BLOCK, dtype=np.float32)
    for at in range(len(which)):
        counts[which[at]] = 0
    for begin in range(0, len(rows), BLOCK):
        end = min(len(rows), begin + BLOCK)
        block = scores[: end - begin]
        for at in range(len(which)):
            b = which[at]
            score_block(columns, weights, size, words[b], etas[b], begin, scratch, block)
            excluded = filters.indices[filters.indptr[b] : filters.indptr[b + 1]]
            checks = (rows, excluded, filters.denied)
            counts[b] = keep_block(block, begin, checks, keys[b], counts[b])


class ComposedIndex(BlockIndex):
    """The columns are the bytes of the groups and the items' weights."""

    def __init__(self, codes: ComposedCodes, tie_rank: TieRank) -> None:
        super().__init__(codes, codes.item_columns, tie_rank)

    def _scan(
        self, part: Part, queries: Any, filters: Filters, nearest: Nearest
    ) -> Callable[[Numbers], object]:
        (columns, weights), size = part.columns, self.codes.group_bits
        items, ready = (columns, weights, size, part.rows), self.codes.ready(queries)

        def scan(which: Numbers) -> None:
            scan_composed(items, ready, which, filters, scratch_for(size), nearest)

        return scan

    def _score(self, part: Part, queries: Any) -> Scores:
        columns, weights = part.columns
        ready = self.codes.ready(queries)
        return composed_scores(columns, weights, self.codes.group_bits, *ready)


_CHUNK = 8
"""Items that are looked at together, for all queries."""


@kernel
def scan_look_up(
    columns: Any, rows: Any, tables: Any, which: Any, filters: Any, nearest: Any
) -> None:
    """The best items of the queries `which` into `nearest`.

    columns (S, n): the items in tie order; rows (n,): their rows. tables (len(which), S, 256).
    """
    for first in range(0, len(which), LANES):
        some, few = which[first : first + LANES], tables[first : first + LANES]
        if len(some) == 1:
            b = some[0]
            excluded = filters.indices[filters.indptr[b] : filters.indptr[b + 1]]
            checks = (rows, excluded, filters.denied)
            nearest.counts[b] = scan_one(columns, few[0], checks, nearest.keys[b])
        else:
            scan_lanes(columns, rows, few, some, filters, nearest)


@kernel
def scan_one(columns: Any, tables: Any, checks: Any, best: Any) -> int:
    """The best items for tables (S, 256) into `best`; returns how many there are.

    checks: see `block_index.keep_one`.
    """
    sums, items, count = np.empty(LOOK_UP_BLOCK, dtype=np.float32), columns.shape[1], 0
    for begin in range(0, items, LOOK_UP_BLOCK):
        end = min(items, begin + LOOK_UP_BLOCK)
        block = sums[: end - begin]
        look_up_block(columns, tables, begin, end, block)
        count = keep_block(block, begin, checks, best, count)
    return count


@kernel
def scan_lanes(
    columns: Any, rows: Any, tables: Any, which: Any, filters: Any, nearest: Any
) -> None:
    """`scan_look_up` for up to LANES queries."""
    keys, counts = nearest
    lanes = np.empty((columns.shape[0], 256 * LANES), dtype=np.float32)
    sums = np.empty(LOOK_UP_BLOCK * LANES, dtype=np.float32)
    bounds = np.full(_CHUNK * LANES, np.inf, dtype=np.float32)
    interleave(tables, lanes)
    for q in range(len(which)):
        counts[which[q]] = 0
        bounds[q::LANES] = -np.inf
    for begin in range(0, len(rows), LOOK_UP_BLOCK):
        n = min(LOOK_UP_BLOCK, len(rows) - begin)
        look_up_lanes(columns, lanes, begin, begin + n, sums)
        for first in range(0, n, _CHUNK):
            last = min(n, first + _CHUNK)
            if not any_above_its(sums, first * LANES, last * LANES, bounds):
                continue
            for at in range(first * LANES, last * LANES):
                q = at % LANES
                if sums[at] > bounds[q]:
                    b = which[q]
                    excluded = filters.indices[filters.indptr[b] : filters.indptr[b + 1]]
                    checks, position = (rows, excluded, filters.denied), begin + at // LANES
                    counts[b] = keep_one(sums[at], position, checks, keys[b], counts[b])
                    bounds[q::LANES] = bound_of(keys[b], counts[b])


@kernel
def any_above_its(sums: Any, begin: Any, end: Any, bounds: Any) -> Any:
    """Whether any of sums[begin:end] is more than the bound in its own place."""
    above, start = np.int32(0), np.uint64(begin)
    for i in range(np.uint64(end - begin)):
        above |= np.int32(sums[start + i] > bounds[i])
    return above != 0


class LookUpIndex(BlockIndex):
    """A score is the sum over s of tables(query)[s, columns[s, item]]; queries are vectors.

    columns (S, n): the items' bytes; tables (B, S, 256): of queries.
    """

    def __init__(self, codes: Codes | Codebooks, tie_rank: TieRank) -> None:
        super().__init__(codes, (codes.columns,), tie_rank)

    def _ready(self, queries: Any) -> Any:
        vectors = np.ascontiguousarray(np.atleast_2d(queries), dtype=np.float32)
        if vectors.shape[1] != self.codes.query_length:
            raise DataError(
                f"a query has {vectors.shape[1]} numbers but {self.codes.query_length} are needed."
            )
        if not np.isfinite(vectors).all():
            raise DataError("the queries have NaN or infinity among them.")
        return vectors

    def _scan(
        self, part: Part, queries: Any, filters: Filters, nearest: Nearest
    ) -> Callable[[Numbers], object]:
        def scan(which: Numbers) -> None:
            tables = self.codes.tables(queries[which])
            scan_look_up(part.columns[0], part.rows, tables, which, filters, nearest)

        return scan

    def _score(self, part: Part, queries: Any) -> Scores:
        return look_up(part.columns[0], self.codes.tables(queries))
