"""The kernels of Neighbours: sums of postings.

Every sum is in float32 and in the order of the history: scores of all items, of some and of the
best are equal to the bit. Scratch arrays for sums are kept between searches, clean.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.bits import popcount, prefetch, trailing_zeros
from xorec.core.kernels import kernel

LINE = 16
"""Sums in a group whose largest a search checks first."""
STRIDE = 32
"""Numbers of `Scratch.ranks` that are skipped at once."""


class Scratch(NamedTuple):
    """Arrays for the sums of one history's postings; all zeros when clean.

    ranks (2 (m / 64 + 1) rounded up to STRIDE,): pairs of a word with a bit for each of 64 items,
    and of the number of bits set before it. sums (m rounded up to LINE,): those of the items whose
    bits are set, in their order.
    """

    ranks: npt.NDArray[np.uint64]
    sums: npt.NDArray[np.float32]


class Scratches:
    """A pool of scratches, since making one takes longer than a search.

    A thread takes one and gives it back clean; after an error it is not given back.
    """

    def __init__(self, n_items: int) -> None:
        self._n_items = n_items
        self._free: list[Scratch] = []

    @contextmanager
    def one(self) -> Iterator[Scratch]:
        """A clean scratch, for one thread."""
        scratch = self.take()
        yield scratch
        self.give_back(scratch)

    def take(self) -> Scratch:
        """A clean scratch, to be given back clean."""
        try:
            return self._free.pop()
        except IndexError:
            numbers = 2 * (-(-self._n_items // 64) + 1)
            return Scratch(
                np.zeros(-(-numbers // STRIDE) * STRIDE, dtype=np.uint64),
                np.zeros(-(-self._n_items // LINE) * LINE, dtype=np.float32),
            )

    def give_back(self, scratch: Scratch) -> None:
        """Give back a clean scratch."""
        self._free.append(scratch)


_ONE, _WORD, _IN_WORD = np.uint64(1), np.uint64(6), np.uint64(63)
_CACHE_LINE = 64


@kernel
def number_at(numbers: Any, at: Any) -> Any:
    """numbers[at] as float32; numbers of two bytes are the bits of finite float16."""
    if numbers.itemsize == 2:
        bits = np.uint32(np.uint16(numbers[at]))
        size = np.uint32((bits & np.uint32(0x7FFF)) << np.uint32(13)).view(np.float32)
        size *= np.float32(2.0**112)
        return -size if bits & np.uint32(0x8000) else size
    return np.float32(numbers[at])


@kernel
def counts_for(values: Any, scales: Any, at: Any, item: Any) -> Any:
    """The factor of an item's weights: its weight in the history times the scale of its row."""
    value = values[at] if len(values) else np.float32(1)
    return value * scales[item] if len(scales) else value


@kernel
def add_postings(postings: Any, history: Any, scratch: Any) -> Any:
    """The sums over the items i of a history, in their order, of value_i weight_ij for each j.

    postings: `Postings`. history: (items, values), no values: ones. scratch: `Scratch`, clean.
    Returns the number of items j; their sums come first in `scratch.sums`, in the order of the
    items, so that they stay in a fast cache. The first pass sets a bit for each item, the second
    adds at the number of bits before the item's own.
    """
    if not len(history[0]):
        return 0
    spans, factors = lists_of(postings, history)
    fetch_postings(postings, spans)
    set_bits(postings.items, spans, scratch.ranks)
    found = count_bits(scratch.ranks)
    if found:
        add_at_ranks(postings, spans, factors, scratch)
    return found


@kernel
def lists_of(postings: Any, history: Any) -> Any:
    """(spans (n, 2), factors (n,)): begin and end of each item's postings, and its factor.

    In loops that only read, many cache lines load at once.
    """
    (rows, values), indptr = history, postings.indptr
    spans = np.empty((len(rows), 2), dtype=np.uint64)
    factors = np.empty(len(rows), dtype=np.float32)
    for place in range(len(rows)):
        prefetch(indptr, rows[place])
        if len(postings.scales):
            prefetch(postings.scales, rows[place])
    for place in range(len(rows)):
        i = np.uint64(rows[place])
        spans[place, 0], spans[place, 1] = indptr[i], indptr[i + _ONE]
        factors[place] = counts_for(values, postings.scales, place, i)
    return spans, factors


@kernel
def fetch_postings(postings: Any, spans: Any) -> None:
    """Prefetch all postings of the spans."""
    items, weights = postings.items, postings.weights
    for place in range(len(spans)):
        begin, end = spans[place, 0], spans[place, 1]
        for at in range(begin, end, np.uint64(_CACHE_LINE // items.itemsize)):
            prefetch(items, at)
        for at in range(begin, end, np.uint64(_CACHE_LINE // weights.itemsize)):
            prefetch(weights, at)


@kernel
def set_bits(items: Any, spans: Any, ranks: Any) -> None:
    """Set the bits of all items of the spans."""
    for place in range(len(spans)):
        for at in range(spans[place, 0], spans[place, 1]):
            j = np.uint64(items[at])
            ranks[word_of(j)] |= _ONE << (j & _IN_WORD)


@kernel
def count_bits(ranks: Any) -> Any:
    """Write behind each word the number of bits set before it; returns their total."""
    count = np.uint64(0)
    for word in range(np.uint64(0), np.uint64(len(ranks)), np.uint64(2)):
        ranks[word + _ONE] = count
        count += popcount(ranks[word])
    return np.int64(count)


@kernel
def add_at_ranks(postings: Any, spans: Any, factors: Any, scratch: Any) -> None:
    """Add up the spans, once bits are set and counted."""
    items, weights, (ranks, sums) = postings.items, postings.weights, scratch
    for place in range(len(spans)):
        factor = factors[place]
        for at in range(spans[place, 0], spans[place, 1]):
            j = np.uint64(items[at])
            word = word_of(j)
            before = ranks[word] & ((_ONE << (j & _IN_WORD)) - _ONE)
            sums[ranks[word + _ONE] + popcount(before)] += factor * number_at(weights, at)


@kernel
def word_of(item: Any) -> Any:
    """The offset of an item's word in the ranks (uint64)."""
    return (item >> _WORD) << _ONE


@kernel
def slot_of(ranks: Any, item: Any) -> Any:
    """The offset of an item's sum; -1 where it has none."""
    j = np.uint64(item)
    word, bit = word_of(j), _ONE << (j & _IN_WORD)
    if not ranks[word] & bit:
        return -1
    return np.int64(ranks[word + _ONE] + popcount(ranks[word] & (bit - _ONE)))


@kernel
def sum_of(scratch: Any, item: Any) -> Any:
    """The sum of an item."""
    slot = slot_of(scratch.ranks, item)
    return scratch.sums[np.uint64(slot)] if slot >= 0 else np.float32(0)


@kernel
def item_at(ranks: Any, slot: Any, word: int) -> tuple[Any, int]:
    """(the item whose sum is at `slot`, its word), from an earlier word on, or 0."""
    word -= word % STRIDE
    while word + STRIDE < len(ranks) and np.int64(ranks[word + STRIDE + 1]) <= slot:
        word += STRIDE
    first = word
    for other in range(first + 2, first + STRIDE, 2):  # no branch that is hard to foretell
        word += 2 * (np.int64(ranks[np.uint64(other + 1)]) <= slot)
    bits = ranks[word]
    for _ in range(slot - np.int64(ranks[word + 1])):
        bits &= bits - _ONE
    return 32 * word + np.int64(trailing_zeros(bits)), word


@kernel
def clean(scratch: Any, found: int) -> None:
    """Set to zero what `add_postings` has written."""
    if found:
        scratch.ranks[:] = 0
        scratch.sums[:found] = 0


@kernel
def add_all(postings: Any, histories: Any, out: Any) -> None:
    """out (B, m), zeros at first: the sums of `add_postings` for each history.

    histories: (indptr, items, values).
    """
    indptr, items, weights, scales = postings
    starts, rows, values = histories
    for b in range(len(out)):
        sums = out[b]
        for place in range(starts[b], starts[b + 1]):
            i = np.uint64(rows[place])
            value = counts_for(values, scales, place, i)
            for at in range(np.uint64(indptr[i]), np.uint64(indptr[i + _ONE])):
                sums[np.uint64(items[at])] += value * number_at(weights, at)


@kernel
def score_candidates(
    postings: Any,
    histories: Any,
    candidates: Any,
    counts: Any,
    scores: Any,
    scratch: Any,
    part: Any,
) -> None:
    """scores[b, :counts[b]] = those of the items candidates[b, :counts[b]]; zero behind them.

    part: (begin, end), the queries b. scratch: `Scratch`, clean. Unknown items score zero.
    """
    starts, rows, values = histories
    m = len(postings.indptr) - 1
    for b in range(part[0], part[1]):
        here = slice(starts[b], starts[b + 1])
        history = (rows[here], values[here] if len(values) else values)
        found = add_postings(postings, history, scratch)
        for at in range(candidates.shape[1]):
            item = np.int64(candidates[b, at]) if at < counts[b] else np.int64(-1)
            scores[b, at] = sum_of(scratch, item) if 0 <= item < m else np.float32(0)
        clean(scratch, found)
