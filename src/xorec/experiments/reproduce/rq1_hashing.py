"""RQ1: is DSIML more accurate than other hashing methods?"""

from __future__ import annotations

from collections.abc import Sequence

from xorec.experiments.reproduce.comparison_question import ComparisonQuestion
from xorec.experiments.reproduce.plan import Plan
from xorec.experiments.reproduce.sections import Section
from xorec.experiments.reproduce.verdicts import best_of_all

PROPOSED = "dsiml"
FLOAT_USERS = ("lightrec",)
"""Methods whose items alone are codes."""


class Hashing(ComparisonQuestion):
    """All hashing methods of the plan, at its lengths."""

    key, proposed = "rq1", (PROPOSED,)

    @classmethod
    def methods(cls, plan: Plan) -> Sequence[str]:
        return plan.hashing

    @classmethod
    def lengths(cls, plan: Plan) -> tuple[int, ...]:
        return plan.bits

    def section(self) -> Section:
        """Tables, curves, and the claims."""
        name, compared = self.dataset.name, self.comparison
        others = [method for method in compared.methods if method != PROPOSED]
        codes = [method for method in others if method not in FLOAT_USERS]
        claims = []
        for bits in compared.lengths if PROPOSED in compared.methods and others else ():
            where = f"{name}, {bits} bits"
            text = f"DSIML is more accurate than every other hashing method ({where})"
            claims.append(best_of_all(compared, text, PROPOSED, others, bits))
            if len(codes) < len(others):
                text = f"DSIML is the most accurate of those with codes on both sides ({where})"
                claims.append(best_of_all(compared, text, PROPOSED, codes, bits))
        return Section(
            "rq1",
            f"RQ1. Codes against codes: {name}",
            "Is DSIML more accurate than other hashing methods at the same length?",
            [
                "Codes on both sides but for LightRec, which ranks float users against codebooks. "
                "Equal distances rank by popularity. Settings were chosen for each length."
            ],
            compared.tables(),
            [compared.figure()],
            claims,
        )


QUESTION = Hashing
