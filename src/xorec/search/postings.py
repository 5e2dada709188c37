"""PostingIndex: exact top-k of sums of item weights, along the lists of the user's own items.

The kernels choose among the sums that `neighbours_kernels.add_postings` has left in a scratch. What
the lists do not touch has a score of zero: it is never looked at, but where a list would not be
full without it, and then in tie order.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.bits import prefetch
from xorec.core.kernels import is_loaded, kernel
from xorec.core.threads import ThreadPool
from xorec.data.tie_rank import TieRank
from xorec.representations.histories import Histories
from xorec.representations.neighbours import Neighbours
from xorec.representations.neighbours_kernels import (
    LINE,
    add_postings,
    clean,
    item_at,
    slot_of,
    sum_of,
)
from xorec.search.filters import ALLOW_ALL, Choice, Filters, ItemChoice, check_tie_rank
from xorec.search.hits import LONG_LIST, Hits, empty_nearest, no_hits
from xorec.search.index import Index
from xorec.search.top_k import (
    bisect_bound,
    contains,
    insert_sorted,
    inverse,
    score_hits,
    score_key,
    select,
    top_k_row,
)

_INFINITY = np.int32(0x7F800000)
"""The bits of infinity: those of what is above are no number."""
_ONE, _ZERO = np.uint64(1), np.int32(0)


@kernel
def hide(scratch: Any, rows: Any) -> None:
    """Let items have no sum, so that they are not among the best."""
    for at in range(len(rows)):
        slot = slot_of(scratch.ranks, rows[at])
        if slot >= 0:
            scratch.sums[np.uint64(slot)] = 0


@kernel
def best_sums(scratch: Any, found: int, best: int, tie_rank: Any, mask: Any) -> Any:
    """(items, sums) of the `best` items by sums above zero, ties by the rule, in any order.

    found: how many sums there are. mask: by tie rank, zero hides; empty: all may be shown. Only of
    items that tie for the last places, or where there is a mask, is the tie rank looked at: each
    is a line of memory.
    """
    wanted = 0 if best == 0 else found
    bits = scratch.sums.view(np.int32)
    slots = best_slots(bits, wanted, best if len(mask) == 0 else found)
    items, word = np.empty(len(slots), dtype=np.int32), 0
    for at in range(len(slots)):
        items[at], word = item_at(scratch.ranks, np.int64(slots[at]), word)
    count = len(slots)
    if len(mask):
        count = keep_allowed(slots, items, tie_rank, mask)
    if count > best:
        count = keep_largest(bits, slots[:count], items, best, tie_rank)
    sums = np.empty(count, dtype=np.float32)
    for at in range(count):
        sums[at] = scratch.sums[np.uint64(slots[at])]
    return items[:count], sums


@kernel
def best_slots(bits: Any, found: int, need: int) -> Any:
    """Where sums (their bits) above zero are, ascending: the `need` largest, and few more.

    A bound that so many of the sums reach; or of the largest of each line, where there are many
    lines: as many lines as reach a bound have a sum each that does.
    """
    width = LINE if found > LINE * need else 1
    maxima = np.empty((found + width - 1) // width, dtype=np.int32)
    if width == 1:
        maxima[:] = bits[:found]
    else:
        line_maxima(bits, maxima)
    least = bound_for(maxima, need, need >> 3)
    slots, count = np.empty(found + 1, dtype=np.int32), np.uint64(0)
    for line in range(np.uint64(len(maxima))):
        if maxima[line] >= least:
            for slot in range(line * np.uint64(width), (line + _ONE) * np.uint64(width)):
                slots[count] = slot
                count += np.uint64(
                    np.int32(bits[slot] >= least) & np.int32(bits[slot] <= _INFINITY)
                )
    return slots[: np.int64(count)]


@kernel
def bound_for(values: Any, need: int, spare: int) -> Any:
    """The bits of a bound above zero that few of these reach, or all above zero: `bisect_bound`."""
    high: Any = np.int64(1)
    for at in range(np.uint64(len(values))):
        high = max(high, np.int64(values[at]) + 1)
    if high > np.int64(_INFINITY) + 1:  # no number: it may stand before others in its line
        return np.int32(1)
    return np.int32(bisect_bound(values, need, spare, np.int64(1), high))


@kernel
def line_maxima(bits: Any, maxima: Any) -> None:
    """The largest of each line of sums (their bits), or zero."""
    for line in range(np.uint64(len(maxima))):
        first, largest = line * np.uint64(LINE), np.int32(0)
        for place in range(np.uint64(LINE)):
            value = bits[first + place]
            largest = value if value > largest else largest
        maxima[line] = largest


@kernel
def keep_allowed(slots: Any, items: Any, tie_rank: Any, mask: Any) -> int:
    """Drop the items that the mask hides, in place; returns how many are left."""
    for at in range(len(slots)):
        prefetch(tie_rank, items[at])
    count = 0
    for at in range(len(slots)):
        if mask[np.uint64(tie_rank[np.uint64(items[at])])]:
            slots[count], items[count] = slots[at], items[at]
            count += 1
    return count


@kernel
def keep_largest(bits: Any, slots: Any, items: Any, best: int, tie_rank: Any) -> int:
    """Put the `best` of more items by their sums first, ties by the rule; returns `best`."""
    values = np.empty(len(slots), dtype=np.int32)
    for at in range(len(slots)):
        values[at] = bits[np.uint64(slots[at])]
    least = bound_for(values, best, 0)
    ties, tied, count = np.empty(len(slots), dtype=np.int32), 0, 0
    for at in range(len(slots)):
        ties[tied] = at
        tied += values[at] == least
    room = best
    for at in range(len(slots)):
        room -= values[at] > least
    if room < tied:
        first_of_ties(ties[:tied], items, room, tie_rank)
    for at in range(room, tied):
        values[ties[at]] = _ZERO
    for at in range(len(slots)):
        if values[at] >= least:
            slots[count], items[count] = slots[at], items[at]
            count += 1
    return count


@kernel
def first_of_ties(ties: Any, items: Any, room: int, tie_rank: Any) -> None:
    """Put those of `ties`, places of items, first whose tie rank is among the `room` least."""
    keys = np.empty(len(ties), dtype=np.uint64)
    for at in range(len(ties)):
        prefetch(tie_rank, items[ties[at]])
    for at in range(len(ties)):
        rank = np.uint64(tie_rank[np.uint64(items[ties[at]])])
        keys[at] = rank << np.uint64(32) | np.uint64(ties[at])
    select(keys, len(keys), room)
    for at in range(len(ties)):
        ties[at] = keys[at] & np.uint64(0xFFFFFFFF)


@kernel
def search_postings(
    postings: Any, histories: Any, choice: Any, filters: Any, nearest: Any, scratch: Any, part: Any
) -> None:
    """The best items of the queries part[0]..part[1] into `nearest`.

    histories: (indptr, items, values). choice: (tie_rank (m,), rows, mask): the rows that may be
    shown in tie order, and whether the item of each tie rank may (none: all may). scratch:
    `Scratch`, clean.
    """
    starts, items, values = histories
    for b in range(part[0], part[1]):
        here = slice(starts[b], starts[b + 1])
        history = (items[here], values[here] if len(values) else values)
        found = add_postings(postings, history, scratch)
        excluded = filters.indices[filters.indptr[b] : filters.indptr[b + 1]]
        hide(scratch, excluded)
        hide(scratch, filters.denied)
        best = nearest.keys[b]
        count = keep_above(scratch, found, choice, best)
        if count < len(best):
            count = keep_zeros(scratch, choice, (excluded, filters.denied), best, count)
        if count < len(best):
            count = keep_below(scratch, found, choice, best, count)
        nearest.counts[b] = count
        clean(scratch, found)


@kernel
def keep_above(scratch: Any, found: int, choice: Any, best: Any) -> int:
    """The items with sums above zero into the list; returns how many there are.

    Of all that have sums, or of the rows of the choice where they are fewer.
    """
    tie_rank, rows, mask = choice
    if len(mask) and len(rows) <= found:
        count = 0
        for position in range(len(rows)):
            value = sum_of(scratch, rows[position])
            if value > 0:
                key = score_key(value) | np.uint64(tie_rank[rows[position]])
                count = insert_sorted(best, count, key)
        return count
    items, sums = best_sums(scratch, found, len(best), tie_rank, mask)
    for at in range(len(items)):
        best[at] = score_key(sums[at]) | np.uint64(tie_rank[np.uint64(items[at])])
    best[: len(items)].sort()
    return len(items)


@kernel
def keep_zeros(scratch: Any, choice: Any, hidden: Any, best: Any, count: int) -> int:
    """Items whose sums are zero behind them, in tie order, until the list is full.

    hidden: (excluded, denied), whose sums are zero in any case.
    """
    tie_rank, rows, _ = choice
    zero = score_key(np.float32(0))
    for position in range(len(rows)):
        row = rows[position]
        if sum_of(scratch, row) == 0 and not (contains(hidden[0], row) or contains(hidden[1], row)):
            best[count] = zero | np.uint64(tie_rank[row])
            count += 1
            if count == len(best):
                break
    return count


@kernel
def keep_below(scratch: Any, found: int, choice: Any, best: Any, count: int) -> int:
    """Items whose sums are below zero, or no numbers, last."""
    tie_rank, _, mask = choice
    word = 0
    for slot in range(found):
        value = scratch.sums[slot]
        if not value >= 0:
            row, word = item_at(scratch.ranks, slot, word)
            rank = tie_rank[row]
            if len(mask) == 0 or mask[rank]:
                count = insert_sorted(best, count, score_key(value) | np.uint64(rank))
    return count


class PostingIndex(Index):
    """Finds by adding up lists of weights (`Neighbours`); all filters act inside. Never changes."""

    def __init__(self, representation: Neighbours, tie_rank: TieRank) -> None:
        self.representation = representation
        self.tie_rank = check_tie_rank(tie_rank, representation.n_items)
        self.all = ItemChoice(ALLOW_ALL, inverse(self.tie_rank))

    @property
    def nbytes(self) -> int:
        return self.representation.item_nbytes + self.tie_rank.nbytes + self.all.rows.nbytes

    def explain(self) -> str:
        count = len(self.representation.postings.items) / max(1, len(self.tie_rank))
        return (
            f"postings: the weights of each own item, {count:.1f} an item; "
            f"{self.representation.score_description}"
        )

    def item_filter(self, items: npt.NDArray[Any]) -> ItemChoice:
        """Rows in tie order: what has no score comes in this order."""
        mask = super().item_filter(items).allow_mask
        return ItemChoice(mask, self.all.rows[np.flatnonzero(mask)])

    def _ready(self, queries: Any) -> Histories:
        return self.representation.histories(queries)

    def _best(
        self, queries: Histories, k: int, filters: Filters, choice: Choice, pool: ThreadPool
    ) -> Hits:
        if k > LONG_LIST:
            return self._rank_all(queries, k, filters, choice, pool)
        chosen, learned = choice or self.all, self.representation
        nearest = empty_nearest(len(queries), k)
        known = (
            learned.kernel_postings,
            (queries.indptr, queries.indices, queries.data),
            (self.tie_rank, chosen.rows, chosen.allow_mask),
            filters,
            nearest,
        )

        def work(begin: int, end: int) -> None:
            with learned.scratches.one() as scratch:
                search_postings(*known, scratch, (begin, end))

        pool.map_ranges(len(queries), work)
        return score_hits(nearest, self.all.rows)

    def _first(self, query: Any, k: int, filters: Filters, choice: Any, pool: ThreadPool) -> Hits:
        search = self._best if is_loaded(search_postings) else self._rank_all
        return search(query, k, filters, choice, pool)

    def _rank_all(
        self, queries: Histories, k: int, filters: Filters, choice: Choice, pool: ThreadPool
    ) -> Hits:
        """By all scores, in NumPy: without kernels, and for a k too large for a sorted list."""
        hits = no_hits(len(queries), k)
        hidden = np.zeros(len(self.tie_rank), dtype=np.bool_)
        hidden[filters.denied] = True
        if choice is not None:
            hidden[self.all.rows[choice.allow_mask == 0]] = True

        def work(b: int) -> None:
            out = hidden.copy()
            out[filters.of(b)] = True
            scores = self.representation.score_one(queries[b : b + 1])
            hits.put(b, *top_k_row(scores, k, self.tie_rank, np.flatnonzero(out)))

        pool.map(len(queries), work)
        return hits
