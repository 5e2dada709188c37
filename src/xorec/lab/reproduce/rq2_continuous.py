"""RQ2: are SIML and SIML-GCN more accurate than other continuous methods?"""

from __future__ import annotations

from collections.abc import Sequence

from xorec.lab.reproduce.comparison import ComparisonQuestion, best_of_all
from xorec.lab.reproduce.plan import Plan
from xorec.lab.reproduce.sections import Section

PROPOSED = ("siml", "siml-gcn")


class Continuous(ComparisonQuestion):
    """All continuous methods of the plan."""

    key, proposed = "rq2", PROPOSED

    @classmethod
    def methods(cls, plan: Plan) -> Sequence[str]:
        return plan.continuous

    def section(self) -> Section:
        """Tables, curves, and the claims."""
        compared = self.comparison
        where = f"{self.dataset.name}, {self.dataset.plan.dimensions} dimensions"
        others = [method for method in compared.methods if method not in PROPOSED]
        claims = [
            best_of_all(compared, f"{text} ({where})", proposed, rivals)
            for proposed, rivals, text in (
                ("siml", others, "SIML is more accurate than metric learning and ranking methods"),
                ("siml-gcn", others, "SIML-GCN is more accurate than all of them, LightGCN too"),
                ("siml-gcn", ["siml"], "SIML-GCN is more accurate than SIML"),
            )
            if proposed in compared.methods and rivals and set(rivals) <= set(compared.methods)
        ]
        return Section(
            "rq2",
            f"RQ2. Vectors against vectors: {where}",
            "Are SIML and SIML-GCN more accurate than other continuous methods?",
            [],
            compared.tables(),
            [compared.figure()],
            claims,
        )


QUESTION = Continuous
