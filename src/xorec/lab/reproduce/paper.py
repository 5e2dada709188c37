"""The paper's own figures, to be shown in grey beside ours where the data set is the same.

HR@k of section 7 of the method's page; which of the two readings of HR it means is not printed.
"""

from __future__ import annotations

from pathlib import PurePath

SETS = {"cds": "CDs", "movies": "Movies", "books": "Books"}
"""What the name of a data set holds, and the paper's name for it."""

HR: dict[int, dict[str, tuple[float, float, float]]] = {
    10: {
        "dcf": (0.0504, 0.0175, 0.0019),
        "cccf": (0.0543, 0.0142, 0.0028),
        "lightrec": (0.0562, 0.0226, 0.0025),
        "phd": (0.0578, 0.0213, 0.0024),
        "dsiml": (0.0621, 0.0236, 0.0034),
        "bpr": (0.1013, 0.0368, 0.0036),
        "cml": (0.1113, 0.0470, 0.0044),
        "sml": (0.1145, 0.0461, 0.0052),
        "lightgcn": (0.1186, 0.0476, 0.0048),
        "cpr": (0.1157, 0.0468, 0.0054),
        "siml": (0.1281, 0.0505, 0.0049),
        "siml-gcn": (0.1352, 0.0547, 0.0141),
    },
    50: {
        "dsiml": (0.2038, 0.0859, 0.0102),
        "siml": (0.3220, 0.1520, 0.0171),
        "siml-gcn": (0.3380, 0.1628, 0.0232),
    },
    100: {
        "dsiml": (0.3207, 0.1439, 0.0163),
        "siml": (0.4501, 0.2346, 0.0266),
        "siml-gcn": (0.4643, 0.2477, 0.0312),
    },
}
"""HR by cut-off and method, on each of `SETS`."""

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
    paper, rates = set_of(data), HR.get(k, {}).get(method)
    return None if paper is None or rates is None else rates[list(SETS.values()).index(paper)]
