"""RQ2: are SIML and SIML-GCN more accurate than other continuous methods?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from xorec.experiments.reproduce.comparison import Comparison
from xorec.experiments.reproduce.dataset_run import DatasetRun
from xorec.experiments.reproduce.plan import Plan
from xorec.experiments.reproduce.question import DatasetQuestion
from xorec.experiments.reproduce.sections import Section
from xorec.experiments.reproduce.steps import Step
from xorec.experiments.reproduce.verdicts import best_of_all

PROPOSED = ("siml", "siml-gcn")


class Continuous(DatasetQuestion):
    """All continuous methods of the plan."""

    def __init__(self, dataset: DatasetRun) -> None:
        super().__init__(dataset)
        self.comparison = Comparison(dataset, "rq2", dataset.plan.continuous, PROPOSED)

    @classmethod
    def methods(cls, plan: Plan) -> Sequence[str]:
        return plan.continuous

    def steps(self) -> Iterator[Step]:
        return self.comparison.steps()

    def section(self) -> Section:
        """Tables, curves, and the claims."""
        name, compared = self.dataset.name, self.comparison
        others = [method for method in compared.methods if method not in PROPOSED]
        claims = [
            best_of_all(compared, f"{text} ({name})", proposed, rivals)
            for proposed, rivals, text in (
                ("siml", others, "SIML is more accurate than metric learning and ranking methods"),
                ("siml-gcn", others, "SIML-GCN is more accurate than all of them, LightGCN too"),
                ("siml-gcn", ["siml"], "SIML-GCN is more accurate than SIML"),
            )
            if proposed in compared.methods and rivals and set(rivals) <= set(compared.methods)
        ]
        return Section(
            "rq2",
            f"RQ2. Vectors against vectors: {name}",
            "Are SIML and SIML-GCN more accurate than other continuous methods?",
            [f"All vectors have {self.dataset.plan.dimensions} dimensions."],
            compared.tables(),
            [compared.figure()],
            claims,
        )


QUESTION = Continuous
