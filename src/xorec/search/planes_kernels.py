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

from xorec.kernels import kernel

RUN = 32
"""Words in a plane of a run."""
ITEMS = 64 * RUN
LOW = 7
"""Counter planes that a chunk of up to CHUNK bits fills."""
CHUNK = 126


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


@kernel
def add_seven(
    a: Any, b: Any, c: Any, d: Any, e: Any, f: Any, g: Any,
    fa: Any, fb: Any, fc: Any, fd: Any, fe: Any, ff: Any, fg: Any,
    c0: Any, c1: Any, c2: Any, c3: Any, c4: Any, c5: Any, c6: Any,
) -> None:  # fmt: skip
    """Add the planes a .. g, each XORed with its word fa .. fg, to the LOW counters c0 .. c6.

    One argument each, because then the compiler works on four words at a time.
    """
    for w in range(RUN):
        x, y, z = a[w] ^ fa, b[w] ^ fb, c[w] ^ fc
        t = x ^ y
        ones, two_a = t ^ z, (x & y) | (t & z)
        x, y = d[w] ^ fd, e[w] ^ fe
        t = ones ^ x
        two_b, ones = (ones & x) | (t & y), t ^ y
        x, y = f[w] ^ ff, g[w] ^ fg
        t = ones ^ x
        two_c, ones = (ones & x) | (t & y), t ^ y
        t = two_a ^ two_b
        twos, fours = t ^ two_c, (two_a & two_b) | (t & two_c)
        old = c0[w]
        c0[w] = old ^ ones
        carry = old & ones
        old = c1[w]
        t = old ^ twos
        c1[w] = t ^ carry
        carry = (old & twos) | (t & carry)
        old = c2[w]
        t = old ^ fours
        c2[w] = t ^ carry
        carry = (old & fours) | (t & carry)
        old = c3[w]
        c3[w] = old ^ carry
        carry &= old
        old = c4[w]
        c4[w] = old ^ carry
        carry &= old
        old = c5[w]
        c5[w] = old ^ carry
        c6[w] ^= old & carry


@kernel
def add_one(
    plane: Any, flip: Any, c0: Any, c1: Any, c2: Any, c3: Any, c4: Any, c5: Any, c6: Any
) -> None:
    """Add one plane to the LOW counters."""
    for w in range(RUN):
        carry = plane[w] ^ flip
        old = c0[w]
        c0[w] = old ^ carry
        carry &= old
        old = c1[w]
        c1[w] = old ^ carry
        carry &= old
        old = c2[w]
        c2[w] = old ^ carry
        carry &= old
        old = c3[w]
        c3[w] = old ^ carry
        carry &= old
        old = c4[w]
        c4[w] = old ^ carry
        carry &= old
        old = c5[w]
        c5[w] = old ^ carry
        c6[w] ^= old & carry


@kernel
def add_counters(total: Any, low: Any, carry: Any) -> None:
    """total += low, both numbers in planes; carry (RUN,): scratch."""
    for w in range(RUN):
        carry[w] = np.uint64(0)
    for level in range(len(total)):
        old = total[level]
        for w in range(RUN):
            more = low[level, w] if level < LOW else np.uint64(0)
            t = old[w] ^ more
            more = (old[w] & more) | (t & carry[w])
            old[w] = t ^ carry[w]
            carry[w] = more


@kernel
def clear(planes: Any) -> None:
    """All to zero, faster than by a slice."""
    for level in range(planes.shape[0]):
        for w in range(RUN):
            planes[level, w] = np.uint64(0)


@kernel
def count_run(planes: Any, flips: Any, bits: int, low: Any, total: Any, carry: Any) -> None:
    """The distances of a run's items, in planes, into `total`. low (LOW, RUN): scratch."""
    clear(total)
    if bits <= CHUNK:
        count_chunk(planes, flips, 0, bits, total)
        return
    for begin in range(0, bits, CHUNK):
        clear(low)
        count_chunk(planes, flips, begin, min(bits, begin + CHUNK), low)
        add_counters(total, low, carry)


@kernel
def count_chunk(planes: Any, flips: Any, begin: int, end: int, counters: Any) -> None:
    """Add the planes begin .. end - 1, at most CHUNK, to the counters."""
    f = begin
    while f + 7 <= end:
        add_seven(
            planes[f], planes[f + 1], planes[f + 2], planes[f + 3], planes[f + 4], planes[f + 5],
            planes[f + 6], flips[f], flips[f + 1], flips[f + 2], flips[f + 3], flips[f + 4],
            flips[f + 5], flips[f + 6], counters[0], counters[1], counters[2], counters[3],
            counters[4], counters[5], counters[6],
        )  # fmt: skip
        f += 7
    while f < end:
        add_one(
            planes[f], flips[f], counters[0], counters[1], counters[2], counters[3], counters[4],
            counters[5], counters[6],
        )  # fmt: skip
        f += 1


@kernel
def any_below(counters: Any, bound: int, found: Any) -> Any:
    """Whether the count of any item is less than `bound`. found (RUN,): scratch."""
    for w in range(RUN):
        found[w] = np.uint64(0)
    for level in range(len(counters)):
        one = counters[level]
        if (bound >> level) & 1:
            for w in range(RUN):
                found[w] |= ~one[w]
        else:
            for w in range(RUN):
                found[w] &= ~one[w]
    some = np.uint64(0)
    for w in range(RUN):
        some |= found[w]
    return some != np.uint64(0)


@kernel
def below(counters: Any, word: int, bound: int) -> Any:
    """The items of one word whose count is less than `bound`."""
    found = np.uint64(0)
    for level in range(len(counters)):
        one = ~counters[level, word]
        found = (one | found) if (bound >> level) & 1 else (one & found)
    return found


@kernel
def count_at(counters: Any, word: int, bit: Any) -> Any:
    """The count of one item."""
    count = np.int64(0)
    for level in range(len(counters)):
        count |= np.int64((counters[level, word] >> bit) & np.uint64(1)) << level
    return count


@kernel
def spread(query: Any, bits: int, flips: Any) -> None:
    """Every bit of a query as a word of ones or zeros; flips: (bits,)."""
    for f in range(bits):
        flips[f] = np.uint64(0) - ((query[f >> 6] >> np.uint64(f & 63)) & np.uint64(1))
