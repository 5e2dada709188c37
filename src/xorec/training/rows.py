"""Tables of rows that a step reads, and the new rows that it returns for the caller to write.

A table is a named tuple of arrays with one row for each user or item; kernels take it whole. Two
fields may be one array (vectors that others see as they are): they stay one here.

Kinds of rows. SPHERE: of unit length. BALL: of at most unit length. FREE: any. SIGNS: codes. Of a
row behind a code, others see sign(row) / sqrt(d), or with `softness` > 0 a value between the row
and its code: for an entry v, with e = v sqrt(d) / softness clipped to [-1, 1],

    (e + hardness (drawn - e)) / sqrt(d),    drawn = +1 with the chance (1 + e) / 2, else -1

whose mean is e / sqrt(d) for every `hardness`: at 0 the row itself, clipped; at 1 drawn bits.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import empty_apart
from xorec.core.bits import prefetch
from xorec.core.kernels import fast_kernel, inlined, kernel
from xorec.core.rng import draw, stream

SPHERE, BALL, FREE, SIGNS = 0, 1, 2, 3
_TINY = np.float32(1e-8)
_LARGE = 1 << 18
"""A table of more numbers (1 MiB) does not stay in a core's own cache: rows are prefetched."""
_AHEAD = 8
"""How many rows ahead are prefetched when rows are copied."""
_CLIP = np.float32(2)
"""Rows behind codes stay within 2 / sqrt(d), so that every bit can still be turned."""
_SIXTEEN, _MIDDLE = np.uint64(65535), np.float32(1 - 1 / 65536)


@inlined
def adagrad_step(
    rows: Any, row: Any, gradient: Any, square: Any, grad_sq_sum: Any, rate: Any
) -> None:
    """row -= rate gradient / sqrt(sum of the squared gradients); square: |gradient|^2."""
    grad_sq_sum[row] += square
    length = rate / np.sqrt(grad_sq_sum[row] + _TINY)
    for f in range(rows.shape[1]):
        rows[row, f] -= length * gradient[f]


@inlined
def project(rows: Any, snapshot: Any, row: Any, kind: Any) -> None:
    """Bring a row that moved back to the sphere or the ball; others see it as it is."""
    size = rows.shape[1]
    factor = np.float32(1)
    if kind != FREE:
        total = np.float32(0)
        for f in range(size):
            total += rows[row, f] * rows[row, f]
        if total > np.float32(1) or (kind == SPHERE and total > np.float32(0)):
            factor = np.float32(1) / np.sqrt(total)
    for f in range(size):
        value = rows[row, f] * factor
        rows[row, f] = value
        snapshot[row, f] = value


@inlined
def draw_code(
    rows: Any, codes: Any, row: Any, softness: Any, hardness: Any, key: Any, position: Any
) -> None:
    """Clip a row behind a code, and draw what others see, from `position` of a stream on.

    Each number of the stream has four uniforms of 16 bits.
    """
    size, one = rows.shape[1], np.float32(1)
    unit = one / np.sqrt(np.float32(size))
    most = max(_CLIP, softness) * unit
    for f in range(0, size, 4):
        number = draw(key, position + f) if softness > np.float32(0) else np.uint64(0)
        for g in range(f, min(f + 4, size)):
            value = min(max(rows[row, g], -most), most)
            rows[row, g] = value
            if softness > np.float32(0):
                mean = min(max(value / (softness * unit), -one), one)
                uniform = np.float32(number & _SIXTEEN) / np.float32(32768) - _MIDDLE
                number = number >> np.uint64(16)
                drawn = one if uniform < mean else -one
                codes[row, g] = unit * (mean + hardness * (drawn - mean))
            else:
                codes[row, g] = unit if value >= np.float32(0) else -unit


@fast_kernel
def draw_codes(
    rows: Any, codes: Any, softness: Any, hardness: Any, seed: Any, epoch: Any, begin: int, end: int
) -> None:
    """`draw_code` of the rows begin .. end - 1, from the start of their streams."""
    for row in range(begin, end):
        draw_code(rows, codes, row, softness, hardness, stream(seed, epoch, row), 0)


@fast_kernel
def project_rows(rows: Any, kind: Any) -> None:
    """`project` of all these rows."""
    for row in range(len(rows)):
        project(rows, rows, row, kind)


@inlined
def prefetch_row(table: Any, size: Any, row: Any) -> None:
    """Prefetch a row of a flat table of rows of `size` numbers."""
    for f in range(0, size, 16):
        prefetch(table, np.int64(row) * size + f)


@inlined
def prefetch_next(table: Any, size: Any, positives: Any, negatives: Any, pair: Any) -> None:
    """Prefetch the items of the next pair. table: the items' rows of `size` numbers, flat.

    For a large table it halves the time of a pass; for a small one it would cost a tenth.
    """
    if len(table) > _LARGE and pair + 1 < len(positives):
        for k in range(-1, negatives.shape[1]):
            row = positives[pair + 1] if k < 0 else negatives[pair + 1, k]
            if row >= 0:
                prefetch_row(table, size, row)


@kernel
def gather(table: Any, ids: Any, rows: Any) -> None:
    """rows = table[ids], with rows prefetched."""
    size = table.shape[1]
    flat = table.ravel()
    for at in range(len(ids)):
        if at + _AHEAD < len(ids):
            prefetch_row(flat, size, ids[at + _AHEAD])
        row = ids[at]
        for f in range(size):
            rows[at, f] = table[row, f]


@kernel
def scatter(table: Any, ids: Any, rows: Any) -> None:
    """table[ids] = rows."""
    size = table.shape[1]
    flat = table.ravel()
    for at in range(len(ids)):
        if at + _AHEAD < len(ids):
            prefetch_row(flat, size, ids[at + _AHEAD])
        row = ids[at]
        for f in range(size):
            table[row, f] = rows[at, f]


@kernel
def renumber(
    triplets: Any, part: Any, parts: Any, slots: Any, ids: Any, count: Any, local: Any
) -> Any:
    """Number the items of a part, v & (parts - 1) == part, in the order in which they come.

    slots (m,): the number of each item, or -1; ids: the items by number, `count` so far. local: the
    triplets by these numbers, -1 for items of other parts, users numbered in their order. Returns
    the new count.
    """
    mask, negatives, user = parts - 1, triplets.negatives, -1
    for pair in range(len(triplets.users)):
        if pair == 0 or triplets.users[pair] != triplets.users[pair - 1]:
            user += 1
        local.users[pair] = user
        for k in range(-1, negatives.shape[1]):
            item = triplets.positives[pair] if k < 0 else negatives[pair, k]
            slot = -1
            if item >= 0 and item & mask == part:
                slot = slots[item]
                if slot < 0:
                    slot = count
                    slots[item] = slot
                    ids[slot] = item
                    count += 1
            if k < 0:
                local.positives[pair] = slot
            else:
                local.negatives[pair, k] = slot
    return count


Array = npt.NDArray[Any]
Ids = npt.NDArray[np.integer]
T = TypeVar("T", bound=tuple[Any, ...])


class Rows(NamedTuple):
    """Rows that move by Adagrad: vectors (n, d); snapshot (n, d): what others see of them;
    grad_sq_sum (n,): the sum of each row's squared gradients."""

    vectors: Array
    snapshot: Array
    grad_sq_sum: Array

    @classmethod
    def of(cls, vectors: Array, grad_sq_sum: Array) -> Rows:
        """Vectors that the others see as they are."""
        return cls(vectors, vectors, grad_sq_sum)

    @classmethod
    def fixed(cls, vectors: Array) -> Rows:
        """Vectors that do not move."""
        return cls.of(np.ascontiguousarray(vectors), np.zeros(0, vectors.dtype))


class Gradients(NamedTuple):
    """Sums of gradients (n, d), and the count of each row (n,)."""

    sums: Array
    counts: Array


def empty_rows(table: T, count: int) -> T:
    """Room for `count` rows of the table."""
    return _each(table, lambda array: empty_apart((count, *array.shape[1:]), array.dtype))


def zero_rows(table: T, count: int) -> T:
    """`count` rows of zeros."""
    rows = empty_rows(table, count)
    for array in rows:
        array[...] = 0
    return rows


def take_rows(table: T, ids: Ids) -> T:
    """A copy of the rows `ids`."""
    rows = empty_rows(table, len(ids))
    for array, taken in _pairs(table, rows):
        gather(array, ids, taken)
    return rows


def write_rows(table: tuple[Array, ...], ids: Ids, rows: tuple[Array, ...]) -> None:
    """table[ids] = rows."""
    for array, new in _pairs(table, rows):
        scatter(array, ids, new)


def hold_rows(
    table: tuple[Array, ...], ids: Ids, rows: tuple[Array, ...], moving: npt.NDArray[np.bool_]
) -> None:
    """Restore, in the new rows of `ids`, the table's rows that may not move."""
    still = ~moving[ids]
    for array, new in _pairs(table, rows):
        new[still] = array[ids[still]]


def _each(table: T, make: Callable[[Array], Array]) -> T:
    """Make an array for each of the table; fields that are one array stay one."""
    made: dict[int, Array] = {}
    for array in table:
        if id(array) not in made:
            made[id(array)] = make(array)
    return type(table)(*(made[id(array)] for array in table))


def _pairs(table: tuple[Array, ...], rows: tuple[Array, ...]) -> Iterable[tuple[Array, Array]]:
    """Each array of the table once, as a matrix, with the one that belongs to it."""
    both = {id(array): (array, row) for array, row in zip(table, rows, strict=True)}
    return [
        (array, row) if array.ndim == 2 else (array[:, None], row[:, None])
        for array, row in both.values()
    ]
