"""SearchStrategy: a way to find the nearest codes of a segment. All give the same answer."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import Arrays
from xorec.core.bits import Words
from xorec.core.threads import ThreadPool
from xorec.search.filters import Filters, Mask, Rows, no_filters
from xorec.search.hamming.list_kernels import unpack
from xorec.search.hamming.segment import Segment
from xorec.search.hits import Nearest

Hits = tuple[npt.NDArray[np.int32], npt.NDArray[np.float32], npt.NDArray[np.int32]]
"""(items, scores, distances), each (1, k)."""
FindOne = Callable[[Words, Rows, npt.NDArray[np.int64], Hits], None]
"""(query (1, W), its excluded rows, counts (1,), hits): writes the last two."""


@dataclass(frozen=True)
class Option:
    """What a strategy could be built as, and what a query is then expected to take.

    label: as `explain` has it. sizes: of its arrays, whatever that means to the strategy.
    """

    strategy: str
    label: str
    nanoseconds: float
    sizes: tuple[int, ...] = ()
    details: str = ""

    def __str__(self) -> str:
        return f"{self.label} {self.nanoseconds / 1000:.1f} us{self.details}"


@dataclass(frozen=True, eq=False)
class Sample:
    """What strategies are compared by: all codes (m, W), and queries whose k-th distance is known.

    memory: bytes an item that the arrays of a strategy may take.
    """

    codes: Words
    queries: Words
    kth: npt.NDArray[np.int64]
    memory: float | None


class SearchStrategy(ABC):
    """Derive, and add the class to `strategies.STRATEGIES`.

    A strategy that competes when an index is built has `options` and `build`. One that makes its
    arrays for each batch has `per_batch`, and competes for every batch by its `cost`.
    """

    name: ClassVar[str]
    per_batch: ClassVar[bool] = False

    def __init__(self, segment: Segment) -> None:
        self.segment = segment

    @classmethod
    def refusal(cls, segment: Segment) -> str:
        """Why it cannot search this segment; empty where it can."""
        return ""

    @classmethod
    def options(cls, segment: Segment, sample: Sample) -> list[Option]:
        """What it could be built as; none where nothing fits."""
        return []

    @classmethod
    def build(cls, segment: Segment, option: Option, codes: Words, pool: ThreadPool) -> Self:
        """The strategy as `option` says. codes (m, W): by row."""
        return cls(segment)

    @classmethod
    def from_tensors(
        cls, segment: Segment, tensors: Arrays, pool: ThreadPool | None
    ) -> Self | None:
        """The inverse of `tensors`; None where these have nothing of this strategy.

        They come from a file: refuse, with a DataError, what would lead a kernel astray. pool: to
        look at their values with; None: these were looked at before.
        """
        return None

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """What a file keeps of it beside the segment."""
        return {}

    @property
    def nbytes(self) -> int:
        """Bytes of what it adds to the segment."""
        return sum(int(array.nbytes) for array in self.tensors().values())

    @property
    def label(self) -> str:
        """What `explain` calls it."""
        return self.name

    @abstractmethod
    def cost(self, queries: int, k: int) -> float:
        """Nanoseconds that a batch is expected to take; infinite where it cannot answer."""

    @abstractmethod
    def nearest(self, queries: Words, k: int, filters: Filters, pool: ThreadPool) -> Nearest:
        """The k nearest of each query; filters.allow_mask is by tie position of the segment."""

    def find_one(self, allow_mask: Mask) -> FindOne:
        """The shortest way for one query, everything made ready for it; here a batch of one."""

        def find(query: Words, excluded: Rows, counts: npt.NDArray[np.int64], hits: Hits) -> None:
            filters = no_filters(1, allow_mask)
            filters = filters._replace(indptr=np.array([0, len(excluded)]), indices=excluded)
            with ThreadPool(1) as pool:
                nearest = self.nearest(query, hits[0].shape[1], filters, pool)
            counts[:] = nearest.counts
            unpack(nearest, self.segment.order.rows, self.segment.bits, self.segment.most, hits)

        return find

    @abstractmethod
    def within(self, query: Words, radius: int, filters: Filters, b: int) -> Words:
        """Keys of all items within `radius` of query b, in any order, perhaps more than once."""
