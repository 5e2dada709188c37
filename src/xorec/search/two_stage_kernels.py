"""The kernels of two stages: candidates of several sources merged, and their final order."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.bits import prefetch
from xorec.core.kernels import kernel
from xorec.representations.neighbours import Postings
from xorec.representations.neighbours_kernels import (
    Scratch,
    add_postings,
    clean,
    slot_of,
    sum_of,
    word_of,
)
from xorec.representations.ranking_vectors import product
from xorec.search.filters import Filters
from xorec.search.postings import best_sums, hide
from xorec.search.top_k import POSITION, TieRanks, put_first, score_key, score_of, select


class ItemSources(NamedTuple):
    """What a user's own items bring.

    postings, histories: `Postings` and (indptr, items, values) of the queries. best: how many of
    the best by weight. table (m, per_item): the nearest of each item. neighbours: how many of
    these.
    """

    postings: Any
    histories: Any
    best: int
    table: npt.NDArray[np.int32]
    neighbours: int


class Found(NamedTuple):
    """items (B, s): counts (B,) of them, zeros behind. sums (B, s): their sums of item weights."""

    items: npt.NDArray[np.int32]
    counts: npt.NDArray[np.int64]
    sums: npt.NDArray[np.float32]


class SecondStage(NamedTuple):
    """What puts candidates in order: sum of item weights + blend x (vector . row + bias).

    vectors (B, d): of the queries. rows (m d,), scales (m,): of items, see `ranking_vectors`; bias
    (m,), or none. weighed: whether there are item weights; else the score is that by vectors.
    """

    vectors: npt.NDArray[np.float32]
    rows: npt.NDArray[Any]
    scales: npt.NDArray[np.float32]
    bias: npt.NDArray[np.float32]
    blend: np.float32
    weighed: bool


@kernel
def collect(
    near: Any, sources: Any, filters: Any, ties: Any, scratch: Any, part: Any, found: Any
) -> None:
    """The candidates of the queries part[0] to part[1], each once.

    near: (items (B, n), counts (B,)), all of which are taken. sources: `ItemSources`; filters:
    `Filters`, the mask by tie rank; ties: `TieRanks`; scratch: `Scratch`, clean; found: `Found`.
    """
    for b in range(part[0], part[1]):
        into = (found.items[b], found.sums[b])
        found.counts[b] = collect_one(b, near, sources, filters, ties, scratch, into)


@kernel
def search_both(
    near: Any,
    sources: Any,
    filters: Any,
    ties: Any,
    scratch: Any,
    second: Any,
    part: Any,
    hits: Any,
) -> None:
    """Both stages at once: `collect`, the scores by `SecondStage`, and the best of them.

    hits: (items (B, k), scores (B, k), counts (B,)), zeros. The other arguments are plain tuples of
    the fields of what `collect` takes: to hand over named ones takes twice the time.
    """
    sources, filters = ItemSources(Postings(*sources[0]), *sources[1:]), Filters(*filters)
    ties, scratch, second = TieRanks(*ties), Scratch(*scratch), SecondStage(*second)
    most = near[0].shape[1] + sources.best + sources.neighbours
    items, sums = np.empty(most, dtype=np.int32), np.empty(most, dtype=np.float32)
    keys = np.empty(most, dtype=np.uint64)
    for b in range(part[0], part[1]):
        count = collect_one(b, near, sources, filters, ties, scratch, (items, sums))
        fetch_rows(items[:count], second)
        add_scores(second, b, items[:count], sums)
        for at in range(count):
            keys[at] = score_key(sums[at]) | np.uint64(at)
        kept = first_keys(keys, count, hits[0].shape[1], items, ties.tie_rank)
        for at in range(kept):
            hits[0][b, at] = ties.item_at[keys[at] & POSITION]
            hits[1][b, at] = score_of(keys[at])
        hits[2][b] = kept


@kernel
def fetch_rows(items: Any, second: Any) -> None:
    """Ask for what `add_scores` reads of some items."""
    size = second.vectors.shape[1]
    for at in range(len(items)):
        first = np.int64(items[at]) * size
        for place in range(first, first + size, 64 // second.rows.itemsize):
            prefetch(second.rows, place)
        prefetch(second.rows, first + size - 1)
        if len(second.scales):
            prefetch(second.scales, items[at])
        if len(second.bias):
            prefetch(second.bias, items[at])


@kernel
def add_scores(second: Any, b: int, items: Any, sums: Any) -> None:
    """Make scores of the sums of item weights of some items; to the bit those of `TwoStage`."""
    vectors, rows, scales, bias, blend, weighed = second
    vector = vectors[b]
    for at in range(len(items)):
        item = np.uint64(items[at])
        exact = product(vector, rows, item)
        if len(scales):
            exact *= np.float64(scales[item])
        score = np.float32(exact)
        if len(bias):
            score += bias[item]
        sums[at] = sums[at] + blend * score if weighed else score


@kernel
def collect_one(
    b: int, near: Any, sources: Any, filters: Any, ties: Any, scratch: Any, into: Any
) -> Any:
    """The candidates of query b into (items, sums), zeros behind; returns how many there are."""
    (starts, rows, values), (items, sums) = sources.histories, into
    mask = filters.allow_mask
    excluded = filters.indices[filters.indptr[b] : filters.indptr[b + 1]]
    count = near[1][b]
    items[:count] = near[0][b, :count]
    history = rows[starts[b] : starts[b + 1]]
    counted = values[starts[b] : starts[b + 1]] if len(values) else values
    if sources.neighbours:
        hidden = (excluded, filters.denied, mask)
        count = add_neighbours(history, sources, hidden, ties, scratch.ranks, items, count)
    sums[:] = 0
    size = add_postings(sources.postings, (history, counted), scratch)
    if size:
        for at in range(count):
            sums[at] = sum_of(scratch, items[at])
        for out in (excluded, filters.denied, items[:count]):
            hide(scratch, out)
        best = best_sums(scratch, size, sources.best, ties.tie_rank, mask)
        behind = count + len(best[0])
        items[count:behind], sums[count:behind] = best[0], best[1]
        count = behind
        clean(scratch, size)
    items[count:] = 0
    return count


@kernel
def add_neighbours(
    history: Any, sources: Any, hidden: Any, ties: Any, ranks: Any, items: Any, count: int
) -> int:
    """The nearest of the items of a history, from its end, behind the items[:count] that are taken.

    hidden: (excluded, denied, mask by tie rank). ranks: zeros; bits are set there for a while.
    """
    excluded, denied, mask = hidden
    for rows in (excluded, denied, items[:count]):
        set_flags(ranks, rows, True)
    last = count + sources.neighbours
    for back in range(1, len(history) + 1):
        nearest = sources.table[np.int64(history[len(history) - back])]
        for at in range(len(nearest)):
            if count == last:
                break
            j = nearest[at]
            allowed = len(mask) == 0 or mask[ties.tie_rank[j]] != 0
            if allowed and slot_of(ranks, j) < 0:
                items[count] = j
                set_flags(ranks, items[count : count + 1], True)
                count += 1
    for rows in (excluded, denied, items[:count]):
        set_flags(ranks, rows, False)
    return count


@kernel
def set_flags(ranks: Any, rows: Any, flag: bool) -> None:
    """Set or clear the bits of items."""
    for at in range(len(rows)):
        j = np.uint64(rows[at])
        bit = np.uint64(1) << (j & np.uint64(63))
        word = word_of(j)
        ranks[word] = ranks[word] | bit if flag else ranks[word] & ~bit


@kernel
def best_of(scores: Any, found: Any, tie_rank: Any, begin: int, end: int, nearest: Any) -> None:
    """The keys of the first of each list of candidates by score, then tie rank: `Nearest`.

    scores (B, s): of found.items. A list that is shorter than asked for is whole.
    """
    keys = np.empty(found.items.shape[1], dtype=np.uint64)
    for b in range(begin, end):
        count = found.counts[b]
        for at in range(count):
            keys[at] = score_key(scores[b, at]) | np.uint64(tie_rank[found.items[b, at]])
        kept = put_first(keys, count, nearest.keys.shape[1])
        nearest.keys[b, :kept] = keys[:kept]
        nearest.counts[b] = kept


@kernel
def first_keys(keys: Any, count: int, k: int, items: Any, tie_rank: Any) -> int:
    """Put the first k of keys[:count] before the others, in order, with tie ranks.

    The lower half of a key is the place of its item among `items`; of those that are put first, it
    becomes the item's tie rank, which is looked up for no others. Returns how many these are.
    """
    kept = min(k, count)
    if kept == 0:
        return 0
    select(keys, count, kept)
    last = keys[0]
    for at in range(1, kept):
        last = max(last, keys[at])
    last |= POSITION
    reaching = 0
    for at in range(count):
        key = keys[at]
        if key <= last:
            rank = np.uint64(tie_rank[np.uint64(items[key & POSITION])])
            keys[reaching] = (key & ~POSITION) | rank
            reaching += 1
    keys[:reaching].sort()
    return kept
