"""The steps of rq3: one for each size and number of bits, kept like any other part."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from xorec import __version__
from xorec.options import RunOptions
from xorec.reproduce import rq3_speed
from xorec.reproduce.cache import Cache, Part
from xorec.reproduce.plan import Plan
from xorec.reproduce.sections import Section
from xorec.reproduce.steps import Step

K = 10
_COST = 300_000.0
"""Of one step, in the unit of `fit_cost`."""


@dataclass(frozen=True, eq=False)
class Speed:
    """Speed at the paper's sizes, and against the size of the catalogue."""

    plan: Plan
    cache: Cache
    options: RunOptions

    @property
    def points(self) -> list[tuple[str | int, int]]:
        """(a size of the paper by name, or a number of items; bits)."""
        sizes: list[str | int] = [*rq3_speed.SIZES, *self.plan.speed_items]
        return [(size, bits) for bits in self.plan.speed_bits for size in sizes]

    def steps(self) -> Iterator[Step]:
        """One for each point."""
        for size, bits in self.points:
            shown = size if isinstance(size, str) else f"{size:,} items"
            yield Step(
                ("rq3", size, bits),
                f"speed: {shown}, {bits} bits",
                _COST,
                partial(self.cache.has, "speed", self._about(size, bits)),
                partial(self._say, size, bits),
            )

    def rows(self, size: str | int, bits: int) -> list[dict[str, Any]]:
        """What was measured at one point."""
        about = self._about(size, bits)
        part = self.cache.get("speed", about, lambda: self._measure(size, bits))
        rows: list[dict[str, Any]] = part.facts["rows"]
        return rows

    def _say(self, size: str | int, bits: int) -> str:
        rows = self.rows(size, bits)
        ours = next(row for row in rows if row["method"] == "xorec")
        return f"{ours['us_per_user']:.2f} us a user, vectors {ours['ratio_to']:.1f} times"

    def _about(self, size: str | int, bits: int) -> dict[str, Any]:
        return {
            "xorec": __version__,
            "size": size,
            "bits": bits,
            "k": K,
            "threads": self.options.thread_count,
            "rounds": self.plan.speed_rounds,
            "budget": self.plan.speed_budget,
            "seed": self.plan.seed,
        }

    def _measure(self, size: str | int, bits: int) -> Part:
        how = (bits, K, self.options, self.plan.speed_rounds, self.plan.speed_budget)
        if isinstance(size, str):
            return Part({"rows": rq3_speed.measure_paper_size(size, *how)})
        return Part({"rows": rq3_speed.measure_catalogue(size, *how)})

    def section(self) -> Section:
        """All points together."""
        rows = [row for size, bits in self.points for row in self.rows(size, bits)]
        return rq3_speed.section(rows)
