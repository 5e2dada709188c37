"""MultiIndexHashing: tables by substrings of the code; what costs too much there is scanned.

What so many tables are expected to cost is counted of a sample of queries, not timed, so the choice
is the same on every machine and in every run. Tables of a file are checked before a kernel follows
them.
"""

from __future__ import annotations

from math import comb, exp
from typing import Any, NamedTuple, Self

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import Arrays
from xorec.core.bits import Words, has_bits_behind, popcount, words_for
from xorec.core.errors import DataError
from xorec.core.kernels import kernel
from xorec.core.schema import Schema, Tensor, check_offsets, check_tensors
from xorec.core.threads import ThreadPool
from xorec.search.filters import Filters, Mask, Rows
from xorec.search.hamming.mih_probe import BUCKET, CANDIDATE, PROBE, probe, probe_one, probe_within
from xorec.search.hamming.mih_tables import (
    BLOCK,
    ENTRY,
    WIDEST,
    WIDTH,
    HashTables,
    block_words,
    bytes_for,
    copy_type,
    kept_levels,
    lay_out,
    levels_of,
    positions_by_lag,
    rings_of,
    substring,
    substrings,
)
from xorec.search.hamming.planes import CHUNK_ITEMS, CHUNK_WORDS, LAG_PLANES
from xorec.search.hamming.scan import LinearScan, collect
from xorec.search.hamming.segment import (
    RowFilter,
    Segment,
    has_each_once,
    planes_of_lags,
    scan_cost,
)
from xorec.search.hamming.strategy import FindOne, Hits, Option, Sample, SearchStrategy
from xorec.search.hits import Nearest, Numbers, empty_nearest, map_parts, numbers_of

START = 1_200.0
"""Nanoseconds that a table takes beyond what is counted below, and a scan does not."""
LEVEL = 500.0
"""Nanoseconds that a level takes in tables beyond what is counted below, and scanned does not."""
LEVEL_BUCKET = 23.0
"""Of a bucket of one level among several: it is shorter, and its lines are seldom in the cache."""
SAMPLE_ITEMS = 16_384
MOST_TABLES = 16
"""Unless the code is so long that the longest substrings need more."""


class LevelCost(NamedTuple):
    """What a level costs each query (Q,) of the sample by so many tables; 0 tables: scanned."""

    tables: int
    nanoseconds: npt.NDArray[np.float64]
    probes: float = 0.0
    candidates: float = 0.0

    @property
    def mean(self) -> float:
        """Nanoseconds of a query."""
        return float(self.nanoseconds.mean()) + LEVEL * (self.tables > 0)


def mih_options(strategy: str, segment: Segment, sample: Sample) -> list[Option]:
    """An option for each number of tables of the largest level that is worth a thought and fits.

    The other levels have what is best for them: so many tables, or a scan.
    """
    rows, bits, queries = segment.order.rows, segment.bits, len(sample.queries)
    parts = positions_by_lag(segment.offsets, rows)
    bucket = BUCKET if len(parts) == 1 else LEVEL_BUCKET
    costs = [
        level_costs(np.sort(rows[part]), bits, sample, lag, bucket)
        for lag, part in enumerate(parts)
    ]
    sizes = [len(part) for part in parts]
    largest = int(np.argmax(sizes))
    best = [
        min([scanned(size, bits, queries), *own], key=lambda one: one.mean)
        for size, own in zip(sizes, costs, strict=True)
    ]
    return [
        option_of(strategy, segment, [*best[:largest], one, *best[largest + 1 :]], sizes)
        for one in costs[largest]
    ]


def option_of(strategy: str, segment: Segment, levels: list[LevelCost], sizes: list[int]) -> Option:
    """All levels together; hopeless queries cost a scan too."""
    scan, tables = scan_cost(len(segment), segment.bits), tuple(level.tables for level in levels)
    costs = sum(level.nanoseconds for level in levels) + START * max(tables)
    probes, candidates = (sum(column) for column in list(zip(*levels, strict=True))[2:])
    heads = sum(size for size, count in zip(sizes, tables, strict=True) if not count)
    label = "+".join(str(count) for count in tables if count) + " tables"
    label += f" and {heads} items" * (heads > 0)
    details = f" ({probes:.0f} probes, {candidates:.0f} candidates)"
    return Option(strategy, label, float(np.minimum(costs, 2 * scan).mean()), tables, details)


def possible_tables(bits: int, items: int) -> range:
    """Numbers of tables worth a thought: substrings of about log2(items) bits, and around."""
    ideal = bits / max(4.0, float(np.log2(max(2, items))))
    fewest = max(1, -(-bits // WIDEST), int(ideal * 0.7))
    most = min(bits, MOST_TABLES, int(ideal * 2.0) + 1)
    return range(fewest, max(fewest, most) + 1)


def scanned(items: int, bits: int, queries: int) -> LevelCost:
    """What it costs to scan a level."""
    return LevelCost(0, np.full(queries, scan_cost(items, bits + LAG_PLANES)))


def level_costs(
    rows: npt.NDArray[np.int32], bits: int, sample: Sample, lag: int, bucket: float
) -> list[LevelCost]:
    """What each number of tables for the items at `rows`, all of this lag, would cost."""
    if not len(rows):
        return []
    every = max(1, len(rows) // SAMPLE_ITEMS)
    items = np.ascontiguousarray(sample.codes[rows[::every]])
    return [
        estimate(items, every, bits, sample, tables, (lag, bucket))
        for tables in possible_tables(bits, len(rows))
        if sample.memory is None or bytes_for(bits, tables, len(rows)) <= sample.memory * len(rows)
    ]


def estimate(
    items: Words, every: int, bits: int, sample: Sample, tables: int, level: tuple[int, float]
) -> LevelCost:
    """What a search by `tables` tables costs. items: one of `every` of the level.

    level: (its lag, what a bucket costs).
    """
    lag, bucket = level
    begins, widths = substrings(bits, tables)
    deepest = len(rings_of(widths)[0]) - 1
    costs, probes, candidates = [], [], []
    for query, distance in zip(sample.queries, sample.kth, strict=True):
        radii = np.array([(int(distance) - lag - t) // tables for t in range(tables)])
        tried = sum(
            comb(int(width), s)
            for width, radius in zip(widths, radii, strict=True)
            for s in range(min(int(width), int(radius)) + 1)
        )
        found = every * count_within(items, query, begins, widths, radii)
        buckets = 0.6 * tried * (1 - exp(-found / max(1, tried)))
        cost = PROBE * tried + bucket * buckets + CANDIDATE * len(query) * found
        costs.append(float("inf") if radii.max() > deepest else cost)
        probes.append(tried)
        candidates.append(found)
    return LevelCost(tables, np.array(costs), float(np.mean(probes)), float(np.mean(candidates)))


@kernel
def count_within(items: Any, query: Any, begins: Any, widths: Any, radii: Any) -> int:
    """How often an item is within a table's radius of the query in that table's substring."""
    count = 0
    for t in range(len(begins)):
        key = substring(query, begins[t], widths[t])
        for item in range(len(items)):
            other = substring(items[item], begins[t], widths[t])
            count += np.int64(popcount(np.uint64(key ^ other))) <= radii[t]
    return count


_TABLE, _LISTED = 1_000.0, 150.0
"""Nanoseconds of a query by a table, and of an item of its list, about."""
_PIECE = 64
"""Queries of one call, at most."""
_CAUTION = 4
"""Probes of a radius are taken to cost so many times what they should: a scan is never far off."""


class MultiIndexHashing(SearchStrategy):
    """A query whose rings cost more than a scan goes on to the scan: no table is probed twice."""

    name = "mih"

    def __init__(self, segment: Segment, tables: HashTables) -> None:
        super().__init__(segment)
        self.tables, self.scan = tables, LinearScan(segment)
        self.budget = scan_cost(len(segment), segment.bits)

    @classmethod
    def refusal(cls, segment: Segment) -> str:
        return "masks hide bits that tables go by" if segment.planes.masked else ""

    @classmethod
    def options(cls, segment: Segment, sample: Sample) -> list[Option]:
        return mih_options(cls.name, segment, sample)

    @classmethod
    def build(cls, segment: Segment, option: Option, codes: Words, pool: ThreadPool) -> Self:
        rows, bits = segment.order.rows, segment.bits
        levels = levels_of(segment.offsets, rows, option.sizes)
        return cls(segment, HashTables.build(codes, rows, bits, levels, pool, segment.offsets))

    @classmethod
    def from_tensors(
        cls, segment: Segment, tensors: Arrays, pool: ThreadPool | None
    ) -> Self | None:
        if "starts" not in tensors:
            return None
        check_tables(tensors, segment, pool)
        return cls(segment, HashTables.from_tensors(tensors, segment.bits, segment.most))

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        return self.tables.tensors()

    @property
    def label(self) -> str:
        heads = f" and {len(self.tables.heads)} items" if len(self.tables.heads) else ""
        return "+".join(map(str, self.tables.levels[:, 1])) + " tables" + heads

    def cost(self, queries: int, k: int) -> float:
        """Never more than the scan, to which it gives up."""
        tables = queries * (int(self.tables.levels[:, 1].max()) * (_TABLE + _LISTED * k))
        return min(tables, self.scan.cost(queries, k))

    def nearest(self, queries: Words, k: int, filters: Filters, pool: ThreadPool) -> Nearest:
        nearest, which = empty_nearest(len(queries), k), numbers_of(len(queries))
        finished = np.zeros(len(queries), dtype=np.bool_)
        tables, order, budget = self.tables, self.segment.order, self.budget

        def work(part: Numbers) -> None:
            probe(tables, order, queries, part, filters, budget, nearest, finished)

        map_parts(pool, which, _PIECE, work)
        self.scan.fill(nearest, which[~finished], queries, filters, pool)
        return nearest

    def find_one(self, allow_mask: Mask) -> FindOne:
        arrays = (tuple(self.tables), tuple(self.segment.order), allow_mask)
        bits, budget, scan_instead = self.segment.bits, self.budget, self.scan.find_one(allow_mask)

        def find(query: Words, excluded: Rows, counts: Numbers, hits: Hits) -> None:
            if not probe_one(arrays, bits, budget, query, excluded, counts, hits):
                scan_instead(query, excluded, counts, hits)

        return find

    def within(self, query: Words, radius: int, filters: Filters, b: int) -> Words:
        if (
            len(self.segment.offsets)
            or not _CAUTION * PROBE * probes_within(self.tables, radius) < self.budget
        ):
            return self.scan.within(query, radius, filters, b)
        rows, mask = self.segment.order.rows, filters.allow_mask
        checks = RowFilter(rows, mask, filters.of(b), filters.denied)
        return collect(lambda keys: probe_within(self.tables, query, radius, checks, keys))


def probes_within(tables: HashTables, radius: int) -> float:
    """Buckets to look up for everything within `radius`; infinite beyond the masks kept."""
    total = 0
    for t, width in enumerate(tables.widths):
        ring = (radius - t) // len(tables.widths)
        if ring >= len(tables.rings) and ring > width:
            ring = int(width)
        if ring >= len(tables.rings):
            return float("inf")
        total += sum(comb(int(width), s) for s in range(ring + 1))
    return float(total)


TABLES: Schema = {
    "places": Tensor("int32", ("tables", "items")),
    "copies": Tensor(("uint32", "uint64"), ("tables", "code words")),
    "full": Tensor("uint64", ("tables", "bucket words")),
    "before": Tensor("int32", ("tables", "bucket words")),
    "firsts": Tensor("int64", ("tables+1",), offsets_of="starts"),
    "starts": Tensor("int32", ("starts",), least=0),
}
LEVELS: Schema = {
    "levels": Tensor("int64", ("lags", 2), least=0),
    "places": Tensor("int32", ("entries",)),
    "copies": Tensor(("uint32", "uint64"), ("code words",)),
    "full": Tensor("uint64", ("bucket words",)),
    "before": Tensor("int32", ("bucket words",)),
    "firsts": TABLES["firsts"],
    "starts": TABLES["starts"],
    "heads": Tensor("int32", ("heads",), rows_of="items"),
    "head_planes": Tensor("uint64", ("head words",)),
}
"""The same of the levels of items with offsets, one behind the other."""


def check_tables(tensors: Arrays, segment: Segment, pool: ThreadPool | None) -> None:
    """What a file has kept of tables: kernels follow buckets, starts and places unchecked.

    pool: to look at the values with; None leaves these out.
    """
    check_shapes(tensors, segment)
    if pool is None:
        return
    check_tensors(tensors, LEVELS if len(segment.offsets) else TABLES, {"items": len(segment)})
    members = {0: np.arange(len(segment), dtype=np.int32)}
    if len(segment.offsets):
        members = dict(enumerate(positions_by_lag(segment.offsets, segment.order.rows)))
        check_heads(tensors, segment, members)
    own = [members[lag] for lag, tables, _ in kept_levels(tensors) for _ in range(tables)]
    check_buckets(tensors, segment.bits, own, pool)
    if has_bits_behind(tensors["copies"].reshape(-1, words_for(segment.bits)), segment.bits):
        raise DataError(f"index.copies has bits behind the last of {segment.bits}")


def check_shapes(tensors: Arrays, segment: Segment) -> None:
    """The arrays are as long as the levels and their numbers of tables say."""
    items, bits = len(segment), segment.bits
    schema = LEVELS if len(segment.offsets) else TABLES
    if any(tensors[name].ndim != len(schema[name].shape) for name in schema if name in tensors):
        check_tensors(tensors, schema, {}, values=False)
    known = {"items": items, "lags": segment.most + 1}
    check_tensors(tensors, {name: schema[name] for name in ("levels", "heads") if name in schema},
                  known, values=False)  # fmt: skip
    if "places" not in tensors:
        raise DataError("places is missing")
    levels = kept_levels(tensors)
    for _, tables, size in levels:
        if not 1 <= tables <= bits or -(-bits // tables) > WIDEST or not 0 <= size <= items:
            raise DataError(f"index.places has {tables} tables, which {bits} bits cannot have")
    if not levels:
        raise DataError("index.levels has no tables")
    entries, words = sum(tables * size for _, tables, size in levels), words_for(bits)
    blocks = sum(tables * block_words(bits, tables) for _, tables, _ in levels)
    known["tables"] = sum(tables for _, tables, _ in levels)
    if len(segment.offsets):
        chunks = -(-len(tensors["heads"]) // CHUNK_ITEMS)
        known["head words"] = chunks * (bits + LAG_PLANES) * CHUNK_WORDS
        known |= {"entries": entries, "code words": entries * words, "bucket words": blocks}
    else:
        known |= {"code words": items * words, "bucket words": blocks // known["tables"]}
    check_tensors(tensors, schema, known, values=False)
    if tensors["copies"].itemsize < copy_type(bits).itemsize:
        raise DataError(f"index.copies has words that {bits} bits do not fit into")


def check_heads(tensors: Arrays, segment: Segment, members: dict[int, Rows]) -> None:
    """Each level is as large as its offset says; what has no tables is scanned, lags and all."""
    levels = tensors["levels"]
    for lag, (tables, size) in enumerate(levels.tolist()):
        if size != (len(members[lag]) if tables else 0):
            raise DataError("index.levels are not those of the items' offsets")
    none = np.zeros(0, dtype=np.int32)
    heads = np.concatenate([none, *(members[lag] for lag in members if not levels[lag, 0])])
    if not np.array_equal(tensors["heads"], heads):
        raise DataError("index.heads are not the items of levels without tables")
    planes = tensors["head_planes"].reshape(-1, segment.bits + LAG_PLANES, CHUNK_WORDS)
    lags = planes_of_lags(segment.offsets, segment.order.rows[heads])
    if (planes[:, segment.bits :] != lags).any():
        raise DataError("index.head_planes does not have the items' offsets")


def check_buckets(tensors: Arrays, bits: int, members: list[Rows], pool: ThreadPool) -> None:
    """Each table has each of its members once, and buckets that lead to them."""
    levels = kept_levels(tensors)
    cuts = lay_out(bits, levels)[1]
    room = [block_words(bits, tables) for _, tables, _ in levels for _ in range(tables)]
    full, before, places = (tensors[name].reshape(-1) for name in ("full", "before", "places"))
    ends, right = tensors["firsts"], [False] * len(cuts)
    for t, (row, words) in enumerate(zip(cuts, room, strict=True)):
        block, own = int(row[BLOCK]), -(-(1 << int(row[WIDTH])) // 64)
        counts = np.bitwise_count(full[block : block + words]).astype(np.int64)
        expected = (np.cumsum(counts) - counts)[:own]
        # a narrower table has fewer buckets than there is room for
        if (before[block : block + own] != expected).any() or counts[own:].any():
            raise DataError("index.before does not count the full buckets")
        if ends[t + 1] - ends[t] != counts.sum() + 1:
            raise DataError("index.firsts does not fit the full buckets")
        part = tensors["starts"][ends[t] : ends[t + 1]]
        check_offsets("index.starts", part, len(members[t]))

    def look_at(t: int) -> None:
        entry = int(cuts[t, ENTRY])
        right[t] = has_each_once(places[entry : entry + len(members[t])], members[t])

    pool.map(len(cuts), look_at)
    if not all(right):
        raise DataError("index.places does not have each item once")
