"""RQ1: is DSIML more accurate than other hashing methods?"""

from __future__ import annotations

from xorec.experiments.reproduce.accuracy import Contest
from xorec.experiments.reproduce.lab import Lab
from xorec.experiments.reproduce.sections import Section
from xorec.experiments.reproduce.verdicts import best_of_all

OWN = "dsiml"
FLOAT_USERS = ("lightrec",)
"""Methods whose items alone are codes."""


def contest(lab: Lab) -> Contest:
    """All hashing methods of the plan, at its lengths."""
    plan = lab.plan
    return Contest(lab, "rq1", plan.hashing, [OWN], plan.bits)


def section(contest: Contest) -> Section:
    """Tables, curves, and the claim."""
    lab = contest.lab
    others = [method for method in contest.methods if method != OWN]
    codes = [method for method in others if method not in FLOAT_USERS]
    claims = []
    for bits in contest.lengths if OWN in contest.methods and others else ():
        where = f"{lab.name}, {bits} bits"
        text = f"DSIML is more accurate than every other hashing method ({where})"
        claims.append(best_of_all(contest, text, OWN, others, bits))
        if len(codes) < len(others):
            text = f"DSIML is the most accurate of those with codes on both sides ({where})"
            claims.append(best_of_all(contest, text, OWN, codes, bits))
    return Section(
        "rq1",
        f"RQ1. Codes against codes: {lab.name}",
        "Is DSIML more accurate than other hashing methods at the same length?",
        [
            "Codes on both sides but for LightRec, which ranks float users against codebooks. "
            f"Equal distances rank by popularity. Settings were chosen at {lab.plan.bits[0]} bits."
        ],
        contest.tables(),
        [contest.figure()],
        claims,
    )
