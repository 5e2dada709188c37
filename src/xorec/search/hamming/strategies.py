"""The registry of search strategies, how one is chosen, and a segment with those that search it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import Arrays
from xorec.core.bits import Words
from xorec.core.errors import OptionError
from xorec.core.threads import ThreadPool
from xorec.search.filters import Filters, no_filters
from xorec.search.hamming.lut import SevenBitTables
from xorec.search.hamming.mih import MultiIndexHashing
from xorec.search.hamming.scan import LinearScan
from xorec.search.hamming.segment import Segment
from xorec.search.hamming.strategy import Option, Sample, SearchStrategy
from xorec.search.hits import Nearest

STRATEGIES: tuple[type[SearchStrategy], ...] = (MultiIndexHashing, SevenBitTables, LinearScan)
"""A new strategy: its file, and its class here."""
ASKED = "asked for"
SAMPLE_QUERIES, PLANNED_K = 32, 10
_FEW = 3_000.0
"""A scan of so few nanoseconds needs no better."""


@dataclass(frozen=True)
class Plan:
    """What was chosen, and why."""

    chosen: Option
    why: str
    others: tuple[Option, ...] = ()

    def explain(self, label: str) -> str:
        """Why, and what else there was."""
        others = f" ({'; '.join(map(str, self.others))})" if self.others else ""
        return f"{label}: {self.why}{others}"


@dataclass(frozen=True)
class Wish:
    """What is asked for when an index is built: see `HammingIndex`."""

    method: str = "auto"
    memory: float | None = None
    sample: Words | None = None

    def __post_init__(self) -> None:
        built = [one.name for one in STRATEGIES if not one.per_batch]
        if self.method not in ("auto", *built):
            names = ", ".join(f'"{name}"' for name in built)
            raise OptionError(f'method is {self.method!r}: give "auto" or one of {names}.')


@dataclass(frozen=True, eq=False)
class SearchedSegment:
    """A segment and its strategies: the first was chosen for it, others compete for each batch."""

    segment: Segment
    strategies: tuple[SearchStrategy, ...]
    plan: Plan

    @classmethod
    def build(cls, segment: Segment, codes: Words, wish: Wish, pool: ThreadPool) -> SearchedSegment:
        """Choose, and build what was chosen. codes (m, W): by row."""
        plan = choose(segment, codes, wish)
        by_name = {one.name: one for one in STRATEGIES}
        chosen = by_name[plan.chosen.strategy].build(segment, plan.chosen, codes, pool)
        alone = wish.method not in ("auto", LinearScan.name)
        return cls(segment, (chosen,) if alone else (chosen, *_per_batch(segment)), plan)

    @classmethod
    def scanned(cls, segment: Segment, why: str) -> SearchedSegment:
        """By nothing that must be built."""
        plan = Plan(LinearScan.option(segment), why)
        return cls(segment, (LinearScan(segment), *_per_batch(segment)), plan)

    @classmethod
    def from_tensors(
        cls, segment: Segment, tensors: Arrays, pool: ThreadPool | None
    ) -> SearchedSegment:
        """The inverse of `tensors`; pool: see `SearchStrategy.from_tensors`."""
        scanned = cls.scanned(segment, "as saved with the model")
        for one in STRATEGIES:
            saved = one.from_tensors(segment, tensors, pool)
            if saved is not None:
                return cls(segment, (saved, *_per_batch(segment)), scanned.plan)
        return scanned

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """What a file keeps beside the codes."""
        rows, planes = self.segment.order.rows, self.segment.planes.words
        return {"rows": rows, "planes": planes, **self.strategies[0].tensors()}

    @property
    def nbytes(self) -> int:
        """Bytes of the segment and of what was built for it."""
        return self.segment.nbytes + self.strategies[0].nbytes

    def explain(self) -> str:
        """What is searched by, and why."""
        return self.plan.explain(self.strategies[0].label)

    def nearest(self, queries: Words, k: int, filters: Filters, pool: ThreadPool) -> Nearest:
        """By the strategy that costs least for so many queries."""
        cheapest = min(self.strategies, key=lambda one: one.cost(len(queries), k))
        return cheapest.nearest(queries, k, filters, pool)


def choose(segment: Segment, codes: Words, wish: Wish) -> Plan:
    """The strategy to build: what is asked for, or what is expected to cost least."""
    scan, method = LinearScan.option(segment), wish.method
    if method == LinearScan.name:
        return Plan(scan, ASKED)
    rivals = [one for one in STRATEGIES if method in ("auto", one.name) and one is not LinearScan]
    refusals = [one.refusal(segment) for one in rivals]
    if all(refusals):
        return Plan(scan, refusals[0])
    if not len(segment) or (method == "auto" and scan.nanoseconds < _FEW):
        return Plan(scan, "there are few items")
    sample = take_sample(segment, codes, wish)
    options = [
        option
        for one, refusal in zip(rivals, refusals, strict=True)
        if not refusal
        for option in one.options(segment, sample)
    ]
    if not options:
        return Plan(scan, f"no table fits into {wish.memory:g} bytes an item")
    best = min(options, key=lambda option: option.nanoseconds)
    if method != "auto":
        return Plan(best, ASKED, tuple(options))
    least = min(scan, best, key=lambda option: option.nanoseconds)
    return Plan(least, "least expected", (scan, *options))


def take_sample(segment: Segment, codes: Words, wish: Wish) -> Sample:
    """A few queries, scanned for their k-th distance."""
    of = codes if wish.sample is None or not len(wish.sample) else wish.sample
    every = max(1, len(of) // SAMPLE_QUERIES)
    queries = np.ascontiguousarray(of[::every][:SAMPLE_QUERIES])
    k = min(PLANNED_K, len(segment))
    with ThreadPool(1) as alone:
        keys = LinearScan(segment).nearest(queries, k, no_filters(len(queries)), alone).keys
    return Sample(codes, queries, (keys[:, k - 1] >> np.uint64(32)).astype(np.int64), wish.memory)


def _per_batch(segment: Segment) -> tuple[SearchStrategy, ...]:
    return tuple(one(segment) for one in STRATEGIES if one.per_batch and not one.refusal(segment))
