"""Kernels: finding letters in many short texts, eight bytes at a time, without Python's lock."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.bits import trailing_zeros
from xorec.core.kernels import inlined, kernel

Bytes = npt.NDArray[np.uint8]
Rows = npt.NDArray[np.int32]

SEP = 0xFF
"""Stands before and behind every text: no UTF-8 has it."""
_ONES = np.uint64(0x0101010101010101)
_HIGH = np.uint64(0x8080808080808080)
_AT_ONCE = 8
"""Words that are looked at together."""
_SURPLUS = 200_000
"""Further texts with the letters inside a word that are passed over in search of a word that begins
with them: what is that common ("-" where every id has one) would take long and say little."""


class Packed(NamedTuple):
    """2 n texts of n entries: text 2 e is the id of entry e, text 2 e + 1 its name or nothing.

    data: SEP id SEP name SEP id SEP ...; words: the same memory. Text t lies at data[starts[t]:
    starts[t + 1] - 1], heads[t] are its first eight bytes. skip (n,): entries that count no longer.
    Eight SEP stand before the first text, and more than that behind the last.
    """

    data: Bytes
    words: npt.NDArray[np.uint64]
    starts: npt.NDArray[np.int64]
    heads: npt.NDArray[np.uint64]
    skip: npt.NDArray[np.bool_]


class Wanted(NamedTuple):
    """Letters to find: pattern (m,), and the place of its pair of bytes that texts have least."""

    pattern: Bytes
    anchor: int


@inlined
def _matches(words: Any, w: Any, first: Any, second: Any, both: Any) -> Any:
    """High bits of the bytes of word w where the pair stands; the lowest is never wrong."""
    word = words[w]
    following = (word >> np.uint64(8)) | (words[w + np.uint64(1)] << np.uint64(56))
    differ = (word ^ first) | ((following ^ second) & both)
    return (differ - _ONES) & ~differ & _HIGH


@kernel
def next_block(words: Any, w: Any, end: Any, first: Any, second: Any, both: Any) -> Any:
    """The first of the blocks of eight words from w on where the pair stands; `end` or more: none.

    Alone, so that the machine looks at whole vectors of words.
    """
    while w < end:
        some = np.uint64(0)
        for more in range(_AT_ONCE):
            some |= _matches(words, w + np.uint64(more), first, second, both)
        if some:
            break
        w += np.uint64(_AT_ONCE)
    return w


@kernel
def collect_begins(packed: Any, pattern: Bytes, begins: Rows) -> int:
    """The first entries, as many as `begins` takes, with a text that begins with the pattern.

    How many there are.
    """
    head, mask = np.uint64(0), np.uint64(0)
    for at in range(min(8, len(pattern))):
        head |= np.uint64(pattern[at]) << np.uint64(8 * at)
        mask |= np.uint64(0xFF) << np.uint64(8 * at)
    count = 0
    for text in range(len(packed.heads)):
        if packed.heads[text] & mask != head:
            continue
        entry = text >> 1
        if packed.skip[entry] or (count and begins[count - 1] == entry):
            continue
        if len(pattern) > 8:  # from the end: many beginnings are alike
            rest, place = len(pattern) - 1, packed.starts[text]
            if place + rest >= packed.starts[text + 1]:
                continue
            while rest >= 8 and packed.data[place + rest] == pattern[rest]:
                rest -= 1
            if rest >= 8:
                continue
        begins[count] = entry
        count += 1
        if count == len(begins):
            break
    return count


@kernel
def collect_inside(
    packed: Any, wanted: Any, of_words: Any, words: Rows, others: Rows
) -> tuple[int, int]:
    """The first entries with the letters at the beginning of a word, and those inside one.

    Entries that begin with the letters are passed over. of_words (256,): bytes that belong to a
    word. Ends when `words` is full; `others` has as many places. How many of each.
    """
    pattern, anchor = wanted.pattern, wanted.anchor
    size = len(pattern)
    first = np.uint64(pattern[anchor]) * _ONES
    second = np.uint64(pattern[min(anchor + 1, size - 1)]) * _ONES
    both = np.uint64(0) if size == 1 else ~np.uint64(0)
    n_words, n_others, surplus, text, last, best = 0, 0, 0, 0, -1, 0
    stop = packed.starts[-1]
    w, end = np.uint64(1), np.uint64((stop + 7) >> 3)
    while n_words < len(words) and surplus < _SURPLUS:
        w = next_block(packed.words, w, end, first, second, both)
        if w >= end:
            break
        for more in range(_AT_ONCE):
            here = w + np.uint64(more)
            found = _matches(packed.words, here, first, second, both)
            while found:
                byte = (here << np.uint64(3)) + (trailing_zeros(found) >> np.uint64(3))
                place = np.int64(byte) - anchor
                found &= found - np.uint64(1)
                if place < 8 or place + size > stop:
                    continue
                if packed.data[place + size - 1] != pattern[size - 1]:
                    continue
                same = 0
                while same < size and packed.data[place + same] == pattern[same]:
                    same += 1
                if same < size:
                    continue
                before = packed.data[place - 1]
                kind = 3 if before == SEP else 1 if of_words[before] else 2
                if kind == 1 and n_others == len(others):
                    surplus += 1
                    continue
                while packed.starts[text + 1] <= place:
                    text += 1
                entry = text >> 1
                if entry != last:
                    if best == 2 and n_words < len(words):
                        words[n_words] = last
                        n_words += 1
                    elif best == 1 and n_others < len(others):
                        others[n_others] = last
                        n_others += 1
                    last, best = entry, 3 if packed.skip[entry] else 0
                best = max(best, kind)
        w += np.uint64(_AT_ONCE)
    if best == 2 and n_words < len(words):
        words[n_words] = last
        n_words += 1
    elif best == 1 and n_others < len(others):
        others[n_others] = last
        n_others += 1
    return n_words, n_others


@kernel
def count_pairs(data: Bytes, counts: Any) -> None:
    """How often each pair of bytes stands in `data`: counts (65536,)."""
    for at in range(len(data) - 1):
        counts[(np.int64(data[at]) << 8) | np.int64(data[at + 1])] += 1


class Strings(NamedTuple):
    """Strings as `Text` has them: string i is data[offsets[i]:offsets[i + 1]]."""

    data: Bytes
    offsets: npt.NDArray[np.int64]


@kernel
def rows_beyond_ascii(strings: Any, rows: Rows) -> int:
    """The strings that are not all ASCII, ascending, into `rows` (n,); how many."""
    count = 0
    for row in range(len(strings.offsets) - 1):
        for at in range(strings.offsets[row], strings.offsets[row + 1]):
            if strings.data[at] >= 0x80:
                rows[count] = row
                count += 1
                break
    return count


@kernel
def replace_rows(strings: Any, rows: Rows, others: Any, made: Any) -> None:
    """Fill `made`, whose offsets are there, with `strings`; at `rows` stand `others` instead."""
    done = 0
    for row in range(len(strings.offsets) - 1):
        to = made.offsets[row]
        if done < len(rows) and rows[done] == row:
            for at in range(others.offsets[done], others.offsets[done + 1]):
                made.data[to] = others.data[at]
                to += 1
            done += 1
        else:
            for at in range(strings.offsets[row], strings.offsets[row + 1]):
                made.data[to] = strings.data[at]
                to += 1


@kernel
def pack(order: Any, ids: Any, names: Any, packed: Any) -> None:
    """Fill `packed`: ids and names in the order of rows `order`, capital letters made small."""
    data, to = packed.data, 8
    data[:8] = SEP
    for entry in range(len(order)):
        row = order[entry]
        for which in range(2):
            text = 2 * entry + which
            strings = names if which else ids
            begin, end = strings.offsets[row], strings.offsets[row + 1]
            packed.starts[text] = to
            head = np.uint64(0)
            for at in range(begin, end):
                byte = strings.data[at]
                if 65 <= byte <= 90:
                    byte += np.uint8(32)
                data[to + at - begin] = byte
            to += end - begin
            data[to] = SEP
            to += 1
            for at in range(8):
                byte = data[min(packed.starts[text] + at, to - 1)]
                head |= np.uint64(byte) << np.uint64(8 * at)
            packed.heads[text] = head
    packed.starts[2 * len(order)] = to
    data[to:] = SEP
