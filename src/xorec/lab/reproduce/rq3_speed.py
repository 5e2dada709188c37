"""RQ3: how fast is online recommendation by codes, beside BPR's vectors and beside faiss?

One step for each size and number of bits; results are cached like those of other questions. A size
is one of the paper's, a catalogue of so many items, or a data set: there DSIML and BPR are fitted
with fixed settings, not tuned, since only the time is measured.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any, Self

from xorec.lab.bench.data import BenchData, learned_data
from xorec.lab.bench.everybody import CODES, Size, drawn_data, measure_lists
from xorec.lab.reproduce.cache import Result
from xorec.lab.reproduce.dataset_run import DatasetRun
from xorec.lab.reproduce.plan import method_of
from xorec.lab.reproduce.question import Question, Run, Step
from xorec.lab.reproduce.rq3_section import CATALOGUE, DATA, PAPER, section
from xorec.lab.reproduce.sections import Section
from xorec.search.hits import Exclude

K = 10
COST = 300_000.0
"""The cost of one step, in the unit of `fit_cost`."""

SIZES = {
    "MovieLens": Size(6_040, 3_706, 132),
    "Movies": Size(18_128, 11_252, 35),
    "Yelp": Size(31_668, 38_048, 39),
    "Books": Size(603_374, 348_957, 11),
}
"""The paper's four. It prints Movies and Books; MovieLens is taken for MovieLens 1M, Yelp for
yelp2018. Seen: the training pairs, four of five, over the users."""
CATALOGUE_USERS, CATALOGUE_SEEN = 1_000, 40


@dataclass(frozen=True, eq=False)
class SpeedPoint:
    """One measurement: on random data of a size, or on models fitted to a data set.

    part: of the report's section. key: in the name of the step. label: in the rows.
    """

    part: str
    key: str | int
    label: str
    bits: int
    source: Size | DatasetRun


class Speed(Question):
    """Speed at the paper's sizes, against the size of the catalogue, and on the data sets."""

    def __init__(self, run: Run) -> None:
        self.run, self.plan, self.cache = run, run.plan, run.cache

    @classmethod
    def of_run(cls, run: Run) -> list[Self]:
        return [cls(run)]

    @property
    def points(self) -> list[SpeedPoint]:
        """The paper's sizes and the catalogues at each number of bits, then the data sets."""
        found = []
        for bits in self.plan.speed_bits:
            found += [SpeedPoint(PAPER, name, name, bits, size) for name, size in SIZES.items()]
            for items in self.plan.speed_items:
                size = Size(CATALOGUE_USERS, items, CATALOGUE_SEEN)
                found.append(SpeedPoint(CATALOGUE, items, f"{items:,} items", bits, size))
        bits = self.plan.bits[0]
        return [*found, *(SpeedPoint(DATA, d.name, d.name, bits, d) for d in self.run.datasets)]

    def steps(self) -> Iterator[Step]:
        """One for each point."""
        for point in self.points:
            yield Step(
                ("rq3", point.key, point.bits),
                f"speed: {point.label}, {point.bits} bits",
                COST,
                partial(self.cache.has, "speed", self._key(point)),
                partial(self._run_point, point),
            )

    def rows(self, point: SpeedPoint) -> Sequence[dict[str, Any]]:
        """The rows of one point, from the cache or measured now."""
        result = self.cache.get("speed", self._key(point), lambda: self._measure(point))
        rows: list[dict[str, Any]] = result.values["rows"]
        return rows

    def section(self) -> Section:
        """All points together."""
        return section([row for point in self.points for row in self.rows(point)])

    def _run_point(self, point: SpeedPoint) -> str:
        ours = next(row for row in self.rows(point) if row["method"] == CODES)
        return f"{ours['us_per_user']:.2f} us a user, vectors {ours['ratio_to']:.1f} times"

    def _key(self, point: SpeedPoint) -> dict[str, Any]:
        if isinstance(point.source, DatasetRun):
            methods = [method_of(method, self.plan) for method in ("dsiml", "bpr")]
            data: Any = [point.source.all_train.digest(), *methods]
        else:
            data = asdict(point.source)
        return {
            "size": [point.label, data],
            "bits": point.bits,
            "k": K,
            "threads": self.run.options.thread_count,
            "rounds": self.plan.speed_rounds,
            "budget": self.plan.speed_budget,
            "seed": self.plan.seed,
        }

    def _measure(self, point: SpeedPoint) -> Result:
        how: dict[str, Any] = {"rounds": self.plan.speed_rounds, "budget": self.plan.speed_budget}
        given = *self._data(point), point.part, point.label
        return Result({"rows": measure_lists(*given, k=K, options=self.run.options, **how)})

    def _data(self, point: SpeedPoint) -> tuple[BenchData, Exclude]:
        """Random codes and vectors, or those of DSIML and BPR, fitted to a data set."""
        dataset = point.source
        if isinstance(dataset, Size):
            return drawn_data(dataset, point.bits, self.run.options)
        codes, vectors = (
            dataset.fit(
                *method_of(method, self.plan),
                self.plan.seed,
                {**self._key(point), "method": method},
            )[0]
            for method in ("dsiml", "bpr")
        )
        return learned_data(codes, vectors, dataset.all_train, self.plan.seed)


QUESTION = Speed
