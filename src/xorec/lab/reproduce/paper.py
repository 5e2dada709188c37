"""The paper's own figures, to be shown in grey beside ours where the data set is the same.

HR@k of section 7 of the method's page; which of the two readings of HR it means is not printed.
"""

from __future__ import annotations

from pathlib import PurePath

SETS = {"cds": "CDs", "movies": "Movies", "books": "Books"}
"""What the name of a data set holds, and the paper's name for it."""

HR: dict[str, dict[str, dict[int, float]]] = {
    "CDs": {
        "dcf": {10: 0.0504},
        "cccf": {10: 0.0543},
        "lightrec": {10: 0.0562},
        "phd": {10: 0.0578},
        "dsiml": {10: 0.0621, 50: 0.2038, 100: 0.3207},
        "bpr": {10: 0.1013},
        "cml": {10: 0.1113},
        "sml": {10: 0.1145},
        "lightgcn": {10: 0.1186},
        "cpr": {10: 0.1157},
        "siml": {10: 0.1281, 50: 0.3220, 100: 0.4501},
        "siml-gcn": {10: 0.1352, 50: 0.3380, 100: 0.4643},
    },
    "Movies": {
        "dcf": {10: 0.0175},
        "cccf": {10: 0.0142},
        "lightrec": {10: 0.0226},
        "phd": {10: 0.0213},
        "dsiml": {10: 0.0236, 50: 0.0859, 100: 0.1439},
        "bpr": {10: 0.0368},
        "cml": {10: 0.0470},
        "sml": {10: 0.0461},
        "lightgcn": {10: 0.0476},
        "cpr": {10: 0.0468},
        "siml": {10: 0.0505, 50: 0.1520, 100: 0.2346},
        "siml-gcn": {10: 0.0547, 50: 0.1628, 100: 0.2477},
    },
    "Books": {
        "dcf": {10: 0.0019},
        "cccf": {10: 0.0028},
        "lightrec": {10: 0.0025},
        "phd": {10: 0.0024},
        "dsiml": {10: 0.0034, 50: 0.0102, 100: 0.0163},
        "bpr": {10: 0.0036},
        "cml": {10: 0.0044},
        "sml": {10: 0.0052},
        "lightgcn": {10: 0.0048},
        "cpr": {10: 0.0054},
        "siml": {10: 0.0049, 50: 0.0171, 100: 0.0266},
        "siml-gcn": {10: 0.0141, 50: 0.0232, 100: 0.0312},
    },
}

SPEED_UPS = {"MovieLens": 4.46, "Movies": 7.84, "Yelp": 12.76, "Books": 17.73}
"""Of ranking by DSIML over ranking by BPR."""

HASHING = ("dcf", "cccf", "lightrec", "phd", "dsiml")
CONTINUOUS = ("bpr", "cml", "sml", "lightgcn", "cpr", "siml", "siml-gcn")
"""The models of its two tables, in its order."""


def set_of(data: str) -> str | None:
    """The paper's name of a data set, by the last part of its name or path: amazon-cds is CDs."""
    name = PurePath(data).name.lower()
    if "amazon" not in name:
        return None
    return next((paper for part, paper in SETS.items() if part in name), None)


def hit_rate(data: str, method: str, k: int) -> float | None:
    """HR@k as the paper prints it, or None."""
    paper = set_of(data)
    return None if paper is None else HR[paper].get(method, {}).get(k)
