"""RQ1: is DSIML more accurate than other hashing methods?"""

from __future__ import annotations

from collections.abc import Sequence

from xorec.lab.reproduce.comparison import ComparisonQuestion, best_of_all
from xorec.lab.reproduce.plan import Plan, method_of
from xorec.lab.reproduce.sections import Claim, Section

PROPOSED, FLOAT_USERS = "dsiml", "lightrec"
"""The paper's model, and the one whose items alone are codes."""


class Hashing(ComparisonQuestion):
    """All hashing methods of the plan, at its lengths."""

    key, proposed = "rq1", (PROPOSED,)

    @classmethod
    def methods(cls, plan: Plan) -> Sequence[str]:
        return plan.hashing

    @classmethod
    def lengths(cls, plan: Plan) -> tuple[int, ...]:
        return plan.bits

    def claims(self) -> list[Claim]:
        """At each length: ahead of all, of those with codes on both sides, and with float users
        of those that have them too. Variants of DSIML are no rivals of each other."""
        compared, found = self.comparison, []
        model = {one: method_of(one, self.dataset.plan)[0] for one in compared.methods}
        floats = [one for one in compared.methods if self._has_float_users(one)]
        own = [one for one in floats if model[one] == PROPOSED]
        others = [one for one in compared.methods if model[one] != PROPOSED]
        codes = [one for one in others if one not in floats]
        rivals = [one for one in others if one in floats]
        for bits in compared.lengths if others else ():
            where = f"({self.dataset.name}, {bits} bits)"
            if PROPOSED in compared.methods:
                text = f"DSIML is more accurate than every other hashing method {where}"
                found.append(best_of_all(compared, text, PROPOSED, others, bits))
                if codes and rivals:
                    text = f"DSIML is the most accurate of those with codes on both sides {where}"
                    found.append(best_of_all(compared, text, PROPOSED, codes, bits))
            for one in own if rivals else ():
                text = f"With float users, DSIML is more accurate than LightRec {where}"
                found.append(best_of_all(compared, text, one, rivals, bits))
        return found

    def _has_float_users(self, method: str) -> bool:
        model, fixed = method_of(method, self.dataset.plan)
        return model == FLOAT_USERS or bool(fixed.get("asymmetric"))

    def section(self) -> Section:
        """Tables, curves, and the claims."""
        name, compared = self.dataset.name, self.comparison
        return Section(
            "rq1",
            f"RQ1. Codes against codes: {name}",
            "Is DSIML more accurate than other hashing methods at the same length?",
            [
                "Codes on both sides but for LightRec, which ranks float users against codebooks "
                "(and a DSIML with `asymmetric`, where there is one). Equal distances rank by "
                "popularity. Settings were chosen for each length."
            ],
            compared.tables(),
            [compared.figure()],
            self.claims(),
        )


QUESTION = Hashing
