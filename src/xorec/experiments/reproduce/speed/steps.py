"""The steps of rq3: one for each size and number of bits, kept like any other part.

A size is one of the paper's by name, a number of items, or a data set: there DSIML and BPR learn
with the settings that do not move, untuned, since it is the time that counts.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from xorec import __version__
from xorec.core.options import RunOptions
from xorec.experiments.reproduce import rq3_speed
from xorec.experiments.reproduce.cache import Cache, Part
from xorec.experiments.reproduce.lab import Lab
from xorec.experiments.reproduce.methods import method_of
from xorec.experiments.reproduce.plan import Plan
from xorec.experiments.reproduce.sections import Section
from xorec.experiments.reproduce.steps import Step

K = 10
_COST = 300_000.0
"""Of one step, in the unit of `fit_cost`."""


@dataclass(frozen=True, eq=False)
class Speed:
    """Speed at the paper's sizes, and against the size of the catalogue."""

    plan: Plan
    labs: Sequence[Lab]
    cache: Cache
    options: RunOptions

    @property
    def points(self) -> list[tuple[str | int | Lab, int]]:
        """(size, bits)."""
        sizes: list[str | int] = [*rq3_speed.SIZES, *self.plan.speed_items]
        drawn = [(size, bits) for bits in self.plan.speed_bits for size in sizes]
        return [*drawn, *((lab, self.plan.bits[0]) for lab in self.labs)]

    def steps(self) -> Iterator[Step]:
        """One for each point."""
        for size, bits in self.points:
            name = size.name if isinstance(size, Lab) else size
            shown = f"{name:,} items" if isinstance(name, int) else name
            yield Step(
                ("rq3", name, bits),
                f"speed: {shown}, {bits} bits",
                _COST,
                partial(self.cache.has, "speed", self._about(size, bits)),
                partial(self._say, size, bits),
            )

    def rows(self, size: str | int | Lab, bits: int) -> list[dict[str, Any]]:
        """What was measured at one point."""
        about = self._about(size, bits)
        part = self.cache.get("speed", about, lambda: self._measure(size, bits))
        rows: list[dict[str, Any]] = part.facts["rows"]
        return rows

    def _say(self, size: str | int | Lab, bits: int) -> str:
        rows = self.rows(size, bits)
        ours = next(row for row in rows if row["method"] == "xorec")
        return f"{ours['us_per_user']:.2f} us a user, vectors {ours['ratio_to']:.1f} times"

    def _about(self, size: str | int | Lab, bits: int) -> dict[str, Any]:
        what: Any = size
        if isinstance(size, Lab):
            what = [size.everything.digest(), *(method_of(m, self.plan) for m in ("dsiml", "bpr"))]
        return {
            "xorec": __version__,
            "size": what,
            "bits": bits,
            "k": K,
            "threads": self.options.thread_count,
            "rounds": self.plan.speed_rounds,
            "budget": self.plan.speed_budget,
            "seed": self.plan.seed,
        }

    def _measure(self, size: str | int | Lab, bits: int) -> Part:
        if isinstance(size, Lab):
            return Part({"rows": self._learned(size)})
        how = (bits, K, self.options, self.plan.speed_rounds, self.plan.speed_budget)
        if isinstance(size, str):
            return Part({"rows": rq3_speed.measure_paper_size(size, *how)})
        return Part({"rows": rq3_speed.measure_catalogue(size, *how)})

    def _learned(self, lab: Lab) -> list[dict[str, Any]]:
        """The rows of what DSIML and BPR learn from a data set."""
        about = self._about(lab, self.plan.bits[0])
        codes, vectors = (
            lab.fit(*method_of(method, self.plan), self.plan.seed, {**about, "method": method})[0]
            for method in ("dsiml", "bpr")
        )
        rounds, budget = self.plan.speed_rounds, self.plan.speed_budget
        seen, how = lab.everything, (K, self.options, rounds, budget)
        return rq3_speed.measure_representations(codes, vectors, seen, *how, size=lab.name)

    def section(self) -> Section:
        """All points together."""
        rows = [row for size, bits in self.points for row in self.rows(size, bits)]
        return rq3_speed.section(rows)
