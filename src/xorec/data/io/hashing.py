"""The kernels under `Coder`: keys -> hashes -> codes, and the proof that no two keys were mixed up.

A key is two numbers as in `views`: a short string, or a number with 0 before it, is all in them.
Of a long string a kept key has the place among the `letters` as its second number.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from numba import uint64

from xorec.core.kernels import inlined, kernel
from xorec.data.io.views import INLINE, Bytes, Words

Codes = npt.NDArray[np.int32]

_HALF, _LOW = np.uint64(32), np.uint64(0xFFFFFFFF)
_ODD = np.uint64(0x9E3779B97F4A7C15)


@inlined
def _size(first: Any) -> Any:
    return first & _LOW


@inlined
def _eight(data: Any, at: Any) -> Any:
    """Eight bytes as a number; the compiler makes one load of it."""
    word = uint64(0)
    for place in range(8):
        word |= uint64(data[at + uint64(place)]) << uint64(8 * place)
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
def _same(data: Any, at: Any, letters: Any, place: Any, size: Any) -> Any:
    """Whether two long strings of this size are equal."""
    last = size - uint64(8)
    done = uint64(0)
    while done < last:
        if _eight(data, at + done) != _eight(letters, place + done):
            return False
        done += uint64(8)
    return _eight(data, at + last) == _eight(letters, place + last)


@kernel
def hash_keys(words: Words, starts: Words, memory: Bytes, seed: int) -> Any:
    """A hash of each key; words, starts, memory: `Views`."""
    hashes = np.empty(len(words), dtype=np.uint64)
    for row in range(len(words)):
        first, tail = words[row, 0], words[row, 1]
        hashed = _mix(_ODD + uint64(seed), first)
        if _size(first) > INLINE:
            at = _place(tail, starts)
            last = at + _size(first) - uint64(8)
            while at < last:
                hashed = _mix(hashed, _eight(memory, at))
                at += uint64(8)
            tail = _eight(memory, last)
        # once more, for a product takes the high bits of the tail to its own high bits only
        hashes[row] = _mix(_mix(hashed, tail), uint64(0))
    return hashes


@kernel
def look_up(hashes: Words, table: Words, count: int, codes: Codes, first_rows: Codes) -> Any:
    """Fill `codes` with the code of each hash; new hashes get codes from `count` on.

    A line of the table is a hash and its code + 1, side by side in memory; 0 is no code. Returns
    how many were new; their rows are in `first_rows`.
    """
    mask = uint64(len(table) - 1)
    fresh = 0
    for row in range(len(hashes)):
        key = hashes[row]
        slot = key & mask
        while table[slot, 1] != 0 and table[slot, 0] != key:
            slot = (slot + uint64(1)) & mask
        if table[slot, 1] == 0:
            table[slot, 0] = key
            table[slot, 1] = uint64(count + fresh + 1)
            first_rows[fresh] = row
            fresh += 1
        codes[row] = np.int32(table[slot, 1] - uint64(1))
    return fresh


@kernel
def move(table: Words, bigger: Words) -> None:
    """Put every line into the bigger table."""
    mask = uint64(len(bigger) - 1)
    for old in range(len(table)):
        if table[old, 1] != 0:
            slot = table[old, 0] & mask
            while bigger[slot, 1] != 0:
                slot = (slot + uint64(1)) & mask
            bigger[slot, 0] = table[old, 0]
            bigger[slot, 1] = table[old, 1]


@kernel
def keep(
    words: Words, starts: Words, memory: Bytes, rows: Codes, keys: Words, letters: Bytes, used: int
) -> Any:
    """Fill `keys` with those at `rows`, and the letters after the `used` ones with long strings.

    Returns how many letters are in use now.
    """
    end = uint64(used)
    for new in range(len(rows)):
        first, second = words[rows[new], 0], words[rows[new], 1]
        if _size(first) > INLINE:
            at = _place(second, starts)
            second = end
            for letter in range(_size(first)):
                letters[end] = memory[at + letter]
                end += uint64(1)
        keys[new, 0], keys[new, 1] = first, second
    return end


@kernel
def are_equal(
    words: Words, starts: Words, memory: Bytes, codes: Codes, keys: Words, letters: Bytes
) -> Any:
    """Whether every key equals the kept key of its code."""
    differ = uint64(0)
    for row in range(len(words)):
        first, second, code = words[row, 0], words[row, 1], uint64(codes[row])
        differ |= first ^ keys[code, 0]
        if _size(first) <= INLINE:
            differ |= second ^ keys[code, 1]
        elif first != keys[code, 0] or not _same(
            memory, _place(second, starts), letters, keys[code, 1], _size(first)
        ):
            return False
    return differ == 0


@kernel
def long_letters(words: Words, rows: Codes) -> Any:
    """How many bytes the long strings at `rows` have in all."""
    total = uint64(0)
    for row in rows:
        if _size(words[row, 0]) > INLINE:
            total += _size(words[row, 0])
    return total
