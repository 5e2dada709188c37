"""The kernels of `IdEncoder`: keys -> hashes -> codes, and the proof that no two were mixed up.

A key is two numbers: equal ids, and no others, have equal keys. A number is the second of them,
with 0 before it. The key of a string is Arrow's "view" of it, 16 bytes: the length and, up to 12
bytes, the string itself, zeros after its end; else its first four bytes and the buffer and offset
where all of it lies. So the key of a short string says all about it. Of a long string a kept key
has the place among `long_bytes` as its second number.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.kernels import inlined, kernel

INLINE = 12
"""The longest string that is in its view, in bytes."""

Words = npt.NDArray[np.uint64]
Bytes = npt.NDArray[np.uint8]
Codes = npt.NDArray[np.int32]


class IdKeys(NamedTuple):
    """words (n, 2): the key of each id, the length in the low half of its first number.

    A long string is in `memory` from `starts[low half of the second] + high half` on.
    """

    words: Words
    starts: Words
    memory: Bytes


_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
_ODD = np.uint64(0x9E3779B97F4A7C15)


@inlined
def _size(first: Any) -> Any:
    return first & _LOW


@inlined
def _eight(data: Any, at: Any) -> Any:
    """Eight bytes as a number; the compiler makes one load of it."""
    word = np.uint64(0)
    for place in range(8):
        word |= np.uint64(data[at + np.uint64(place)]) << np.uint64(8 * place)
    return word


@inlined
def _mix(hashed: Any, word: Any) -> Any:
    product = (hashed ^ word) * _ODD
    return product ^ (product >> _HALF)


@inlined
def _place(second: Any, starts: Any) -> Any:
    """Where a long string lies in the memory of its batch."""
    return starts[second & _LOW] + (second >> _HALF)


@inlined
def _same(data: Any, at: Any, other: Any, place: Any, size: Any) -> Any:
    """Whether two long strings of this size are equal."""
    last = size - np.uint64(8)
    done = np.uint64(0)
    while done < last:
        if _eight(data, at + done) != _eight(other, place + done):
            return False
        done += np.uint64(8)
    return _eight(data, at + last) == _eight(other, place + last)


@kernel
def hash_keys(keys: IdKeys, seed: int) -> Any:
    """A hash of each key."""
    words, memory = keys.words, keys.memory
    hashes = np.empty(len(words), dtype=np.uint64)
    for row in range(len(words)):
        first, tail = words[row, 0], words[row, 1]
        hashed = _mix(_ODD + np.uint64(seed), first)
        if _size(first) > INLINE:
            at = _place(tail, keys.starts)
            last = at + _size(first) - np.uint64(8)
            while at < last:
                hashed = _mix(hashed, _eight(memory, at))
                at += np.uint64(8)
            tail = _eight(memory, last)
        # once more, for a product takes the high bits of the tail to its own high bits only
        hashes[row] = _mix(_mix(hashed, tail), np.uint64(0))
    return hashes


@kernel
def look_up(hashes: Words, table: Words, count: int, codes: Codes, first_rows: Codes) -> Any:
    """Fill `codes` with the code of each hash; new hashes get codes from `count` on.

    A line of the table is a hash and its code + 1, side by side in memory; 0 is no code. Returns
    how many were new; their rows are in `first_rows`.
    """
    mask = np.uint64(len(table) - 1)
    fresh = 0
    for row in range(len(hashes)):
        key = hashes[row]
        slot = key & mask
        while table[slot, 1] != 0 and table[slot, 0] != key:
            slot = (slot + np.uint64(1)) & mask
        if table[slot, 1] == 0:
            table[slot, 0] = key
            table[slot, 1] = np.uint64(count + fresh + 1)
            first_rows[fresh] = row
            fresh += 1
        codes[row] = np.int32(table[slot, 1] - np.uint64(1))
    return fresh


@kernel
def move_table(table: Words, bigger: Words) -> None:
    """Put every line into the bigger table."""
    mask = np.uint64(len(bigger) - 1)
    for old in range(len(table)):
        if table[old, 1] != 0:
            slot = table[old, 0] & mask
            while bigger[slot, 1] != 0:
                slot = (slot + np.uint64(1)) & mask
            bigger[slot, 0] = table[old, 0]
            bigger[slot, 1] = table[old, 1]


@kernel
def keep(keys: IdKeys, rows: Codes, kept: Words, long_bytes: Bytes, used: int) -> Any:
    """Fill `kept` with the keys at `rows`, and `long_bytes` after the `used` with long strings.

    Returns how many bytes are in use now.
    """
    end = np.uint64(used)
    for new in range(len(rows)):
        first, second = keys.words[rows[new], 0], keys.words[rows[new], 1]
        if _size(first) > INLINE:
            at = _place(second, keys.starts)
            second = end
            for offset in range(_size(first)):
                long_bytes[end] = keys.memory[at + offset]
                end += np.uint64(1)
        kept[new, 0], kept[new, 1] = first, second
    return end


@kernel
def are_equal(keys: IdKeys, codes: Codes, kept: Words, long_bytes: Bytes) -> Any:
    """Whether every key equals the kept key of its code."""
    words = keys.words
    differ = np.uint64(0)
    for row in range(len(words)):
        first, second, code = words[row, 0], words[row, 1], np.uint64(codes[row])
        differ |= first ^ kept[code, 0]
        if _size(first) <= INLINE:
            differ |= second ^ kept[code, 1]
        elif first != kept[code, 0] or not _same(
            keys.memory, _place(second, keys.starts), long_bytes, kept[code, 1], _size(first)
        ):
            return False
    return differ == 0


@kernel
def count_long_bytes(words: Words, rows: Codes) -> Any:
    """How many bytes the long strings at `rows` have in all."""
    total = np.uint64(0)
    for row in rows:
        if _size(words[row, 0]) > INLINE:
            total += _size(words[row, 0])
    return total


@kernel
def renumber(codes: Codes, rows: Codes) -> None:
    """`codes[:] = rows[codes]`, in place."""
    for at in range(len(codes)):
        codes[at] = rows[codes[at]]
