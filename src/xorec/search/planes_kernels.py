"""The linear scan, bit-sliced: 2,048 items at a time, 256 of them in one machine instruction.

A run of 64 x RUN items is stored as planes: plane f holds bit f of every item. The distances of
all of them to a query are counted side by side, in planes too: seven planes go through four full
adders into a number of three bits, which is added to the counters (Harley and Seal's tree). Then
one comparison of the counters with the k-th distance so far tells which items to look at; soon
there are none. Items stand in tie order, so the first that come are the first in rank.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.bits import prefetch
from xorec.kernels import inlined, kernel

RUN = 32
"""Words in a plane of a run."""
ITEMS = 64 * RUN
_1, _2, _3, _4, _5, _6, _7 = (np.uint64(plane * RUN) for plane in range(1, 8))
"""From a word of a plane to that of another. Arrays are flat, and places in them unsigned: only
then does the compiler work on four words at a time, and without counting references."""
LOW = 8
"""Counter planes that a chunk of up to CHUNK bits fills."""
CHUNK = 252


@kernel
def transpose(block: Any) -> None:
    """Turn a 64 x 64 block of bits, in place: bit j of word i becomes bit i of word j."""
    width = 32
    mask = np.uint64(0x00000000FFFFFFFF)
    while width:
        shift = np.uint64(width)
        for first in range(0, 64, 2 * width):
            for word in range(first, first + width):
                swap = ((block[word] >> shift) ^ block[word + width]) & mask
                block[word + width] ^= swap
                block[word] ^= swap << shift
        width >>= 1
        mask ^= mask << np.uint64(width)


@kernel
def slice_runs(codes: Any, rows: Any, bits: int, begin: int, end: int, planes: Any) -> None:
    """Write the runs begin .. end - 1 of planes (runs, bits, RUN) from codes (m, W) in `rows`."""
    block = np.empty(64, dtype=np.uint64)
    for run in range(begin, end):
        for word in range(RUN):
            first = run * ITEMS + 64 * word
            for w in range(codes.shape[1]):
                for item in range(64):
                    place = first + item
                    block[item] = codes[rows[place], w] if place < len(rows) else np.uint64(0)
                transpose(block)
                for f in range(64 * w, min(bits, 64 * w + 64)):
                    planes[run, f, word] = block[f - 64 * w]


@inlined
def add_words(
    a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any, w: Any, counters: Any
) -> None:
    """Add seven words, one of each plane, to word w of LOW counters."""
    t = a ^ b
    ones, two_a = t ^ c, (a & b) | (t & c)
    t = ones ^ d
    two_b, ones = (ones & d) | (t & e), t ^ e
    t = ones ^ f
    two_c, ones = (ones & f) | (t & g), t ^ g
    t = two_a ^ two_b
    twos, fours = t ^ two_c, (two_a & two_b) | (t & two_c)
    old = counters[w]
    counters[w] = old ^ ones
    carry = old & ones
    old = counters[w + _1]
    t = old ^ twos
    counters[w + _1] = t ^ carry
    carry = (old & twos) | (t & carry)
    old = counters[w + _2]
    t = old ^ fours
    counters[w + _2] = t ^ carry
    carry = (old & fours) | (t & carry)
    old = counters[w + _3]
    counters[w + _3] = old ^ carry
    carry &= old
    old = counters[w + _4]
    counters[w + _4] = old ^ carry
    carry &= old
    old = counters[w + _5]
    counters[w + _5] = old ^ carry
    carry &= old
    old = counters[w + _6]
    counters[w + _6] = old ^ carry
    counters[w + _7] ^= old & carry


@kernel
def add_seven(
    planes: Any,
    begin: Any,
    fa: Any,
    fb: Any,
    fc: Any,
    fd: Any,
    fe: Any,
    ff: Any,
    fg: Any,
    counters: Any,
) -> None:
    """Add the seven planes from `begin` on, each XORed with its word fa .. fg, to LOW counters."""
    for word in range(RUN):
        w = np.uint64(word)
        p = begin + w
        add_words(
            planes[p] ^ fa,
            planes[p + _1] ^ fb,
            planes[p + _2] ^ fc,
            planes[p + _3] ^ fd,
            planes[p + _4] ^ fe,
            planes[p + _5] ^ ff,
            planes[p + _6] ^ fg,
            w,
            counters,
        )


@kernel
def add_one(planes: Any, begin: Any, flip: Any, counters: Any) -> None:
    """Add the plane at `begin` to LOW counters."""
    for word in range(RUN):
        w = np.uint64(word)
        carry = planes[begin + w] ^ flip
        old = counters[w]
        counters[w] = old ^ carry
        carry &= old
        old = counters[w + _1]
        counters[w + _1] = old ^ carry
        carry &= old
        old = counters[w + _2]
        counters[w + _2] = old ^ carry
        carry &= old
        old = counters[w + _3]
        counters[w + _3] = old ^ carry
        carry &= old
        old = counters[w + _4]
        counters[w + _4] = old ^ carry
        carry &= old
        old = counters[w + _5]
        counters[w + _5] = old ^ carry
        carry &= old
        old = counters[w + _6]
        counters[w + _6] = old ^ carry
        counters[w + _7] ^= old & carry


@kernel
def count_chunk(
    planes: Any, begin: Any, ahead: int, flips: Any, first: int, last: int, counters: Any
) -> None:
    """The planes first .. last - 1, at most CHUNK, of the run at `begin`, into LOW counters.

    ahead: how far behind them the next words are that memory should bring, 0 for none. (Asking for
    what is behind the last run does no harm.)
    """
    for place in range(LOW * RUN):
        counters[place] = np.uint64(0)
    f = first
    while f + 7 <= last:
        for line in range(f * RUN, (f + 7) * RUN if ahead else 0, 8):
            prefetch(planes, begin + np.uint64(ahead + line))
        add_seven(
            planes,
            begin + np.uint64(f * RUN),
            flips[f],
            flips[f + 1],
            flips[f + 2],
            flips[f + 3],
            flips[f + 4],
            flips[f + 5],
            flips[f + 6],
            counters,
        )
        f += 7
    while f < last:
        add_one(planes, begin + np.uint64(f * RUN), flips[f], counters)
        f += 1


@kernel
def count_run(
    planes: Any, begin: Any, ahead: int, flips: Any, bits: int, low: Any, total: Any, carry: Any
) -> None:
    """The distances of the items of the run at `begin`, in planes, into `total` (levels RUN,).

    low (LOW RUN,), carry (RUN,): scratch.
    """
    if bits <= CHUNK:
        count_chunk(planes, begin, ahead, flips, 0, bits, total)
        return
    for place in range(len(total)):
        total[place] = np.uint64(0)
    for first in range(0, bits, CHUNK):
        count_chunk(planes, begin, ahead, flips, first, min(bits, first + CHUNK), low)
        add_counters(total, low, carry)


@kernel
def add_counters(total: Any, low: Any, carry: Any) -> None:
    """total += low, both numbers in planes. carry (RUN,): scratch."""
    for word in range(RUN):
        carry[word] = np.uint64(0)
    for begin in range(0, len(total), RUN):
        add_level(total, low, np.uint64(begin), begin < len(low), carry)


@kernel
def add_level(total: Any, low: Any, begin: Any, has_low: bool, carry: Any) -> None:
    """One level of `add_counters`."""
    mask = np.uint64(0) - np.uint64(has_low)
    source = begin if has_low else np.uint64(0)
    for word in range(RUN):
        w = np.uint64(word)
        old, more = total[begin + w], low[source + w] & mask
        t = old ^ more
        total[begin + w] = t ^ carry[w]
        carry[w] = (old & more) | (t & carry[w])


@kernel
def any_below(counters: Any, bound: int, found: Any) -> Any:
    """Whether the count of any item is less than `bound`; found (RUN,): which are."""
    if len(counters) > LOW * RUN:
        some = np.uint64(0)
        for word in range(RUN):
            found[word] = below(counters, word, bound)
            some |= found[word]
        return some != np.uint64(0)
    return any_below_low(
        counters,
        found,
        whole(bound, 0),
        whole(bound, 1),
        whole(bound, 2),
        whole(bound, 3),
        whole(bound, 4),
        whole(bound, 5),
        whole(bound, 6),
        whole(bound, 7),
    )


@kernel
def whole(number: int, bit: int) -> Any:
    """One bit of a number as a word of ones or zeros."""
    return np.uint64(0) - np.uint64((number >> bit) & 1)


@kernel
def any_below_low(
    counters: Any,
    found: Any,
    b0: Any,
    b1: Any,
    b2: Any,
    b3: Any,
    b4: Any,
    b5: Any,
    b6: Any,
    b7: Any,
) -> Any:
    """`any_below` of LOW counters; b0 .. b7: the bits of the bound, each as a whole word."""
    some = np.uint64(0)
    for word in range(RUN):
        w = np.uint64(word)
        less = ~counters[w] & b0
        one = ~counters[w + _1]
        less = (one & less) | (b1 & (one | less))
        one = ~counters[w + _2]
        less = (one & less) | (b2 & (one | less))
        one = ~counters[w + _3]
        less = (one & less) | (b3 & (one | less))
        one = ~counters[w + _4]
        less = (one & less) | (b4 & (one | less))
        one = ~counters[w + _5]
        less = (one & less) | (b5 & (one | less))
        one = ~counters[w + _6]
        less = (one & less) | (b6 & (one | less))
        one = ~counters[w + _7]
        less = (one & less) | (b7 & (one | less))
        found[w] = less
        some |= less
    return some != np.uint64(0)


@kernel
def below(counters: Any, word: int, bound: int) -> Any:
    """The items of one word whose count is less than `bound`."""
    found, rest = np.uint64(0), bound
    for place in range(word, len(counters), RUN):
        one = ~counters[place]
        found = (one | found) if rest & 1 else (one & found)
        rest >>= 1
    return found


@kernel
def count_at(counters: Any, word: int, bit: Any) -> Any:
    """The count of one item."""
    count, weight = np.int64(0), 1
    for place in range(word, len(counters), RUN):
        count += weight * np.int64((counters[place] >> bit) & np.uint64(1))
        weight += weight
    return count


@kernel
def spread(query: Any, bits: int, flips: Any) -> None:
    """Every bit of a query as a word of ones or zeros; flips: (bits,)."""
    for f in range(bits):
        flips[f] = np.uint64(0) - ((query[f >> 6] >> np.uint64(f & 63)) & np.uint64(1))
