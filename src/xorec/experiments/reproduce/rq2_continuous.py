"""RQ2: are SIML and SIML-GCN more accurate than other continuous methods?"""

from __future__ import annotations

from xorec.experiments.reproduce.accuracy import Contest
from xorec.experiments.reproduce.lab import Lab
from xorec.experiments.reproduce.sections import Claim, Section
from xorec.experiments.reproduce.verdicts import best_of_all

OWN = ("siml", "siml-gcn")


def contest(lab: Lab) -> Contest:
    """All continuous methods of the plan."""
    return Contest(lab, "rq2", lab.plan.continuous, OWN)


def section(contest: Contest) -> Section:
    """Tables, curves, and the claims."""
    lab = contest.lab
    others = [method for method in contest.methods if method not in OWN]
    claims: list[Claim] = [
        best_of_all(contest, text, own, rivals)
        for own, rivals, text in (
            ("siml", others, "SIML is more accurate than metric learning and ranking methods"),
            ("siml-gcn", others, "SIML-GCN is more accurate than all of them, LightGCN too"),
            ("siml-gcn", ["siml"], "SIML-GCN is more accurate than SIML"),
        )
        if own in contest.methods and rivals and set(rivals) <= set(contest.methods)
    ]
    return Section(
        "rq2",
        f"RQ2. Vectors against vectors: {lab.name}",
        "Are SIML and SIML-GCN more accurate than other continuous methods?",
        [f"All vectors have {lab.plan.dimensions} dimensions."],
        contest.tables(),
        [contest.figure()],
        [Claim(f"{one.text} ({lab.name})", one.verdict, one.evidence) for one in claims],
    )
