"""Tables of rows that a step reads, and the new rows that it hands back for the caller to write.

A table is a named tuple of arrays with one row for each user or item; kernels take it whole. Two
fields may be one array (vectors that others see as they are): they stay one here.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple, TypeVar

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import empty_apart
from xorec.training.row_kernels import gather, scatter

Array = npt.NDArray[Any]
Ids = npt.NDArray[np.integer]
T = TypeVar("T", bound=tuple[Any, ...])


class Rows(NamedTuple):
    """Rows that move by Adagrad: vectors (n, d); snapshot (n, d): what the others see of them;
    grad_sq_sum (n,): the sum of the squared gradients of each row so far."""

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
    """Sums of gradients (n, d), and how often each row came (n,)."""

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
    """Put back, into the new rows of `ids`, those of the table that may not move."""
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
