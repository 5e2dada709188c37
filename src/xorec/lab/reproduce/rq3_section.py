"""What rq3 has to say: its rows as tables, figures and verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xorec.lab.bench.everybody import CODES, FAISS_CODES, FAISS_FLOATS, FLOATS, METHODS
from xorec.lab.reproduce.paper import SPEED_UPS, set_of
from xorec.lab.reproduce.sections import Claim, Column, Section, Table, Verdict, counts
from xorec.plots.figures import Figure, Line, Panel

PAPER, CATALOGUE, DATA = "paper", "catalogue", "data"
"""The parts: the paper's sizes, a growing catalogue, learned models."""
PAPER_BITS = 20
"""The paper's dimension, by which its claims are judged."""

Row = Mapping[str, Any]
Wide = dict[str, Any]

HEADS = {
    CODES: "codes, xorec",
    FLOATS: "vectors, BLAS",
    FAISS_CODES: "codes, faiss",
    FAISS_FLOATS: "vectors, faiss",
}
LABELS = {
    CODES: "DSIML's codes, xorec",
    FLOATS: "BPR's vectors, BLAS",
    FAISS_CODES: "the codes, faiss flat",
    FAISS_FLOATS: "the vectors, faiss flat",
}
MEMORY = {
    "code_bytes": "the bare codes",
    f"bytes_{CODES}": "our index, codes included",
    f"bytes_{FLOATS}": "float32 vectors",
    f"bytes_{FAISS_CODES}": "faiss flat, codes",
}
_NOTE = (
    "Medians of interleaved rounds and half of what lies between their quartiles. faiss cannot "
    "leave out each user's seen items and answers without that, which favours it. A side too slow "
    "for all users within the budget answers for some of them, evenly spaced, and its time is "
    "scaled up: users_measured in the CSV file."
)


def section(rows: Sequence[Row], paper: Mapping[str, float] = SPEED_UPS) -> Section:
    """Of the rows of all points (`bench.everybody.rows_of`)."""
    sizes, catalogue, data = (
        wide_rows([row for row in rows if row["part"] == part], paper)
        for part in (PAPER, CATALOGUE, DATA)
    )
    tables = [
        _everybody("rq3-sizes", "Everybody's lists, at the paper's sizes", sizes),
        _everybody("rq3-data", "Everybody's lists, by learned models", data),
        _catalogue(catalogue),
        _memory(sizes + data + catalogue),
    ]
    figures = [_ratios(sizes, paper)] if sizes else []
    if catalogue:
        times = {f"us_per_user_{method}": label for method, label in LABELS.items()}
        title_of_times = "Time against the catalogue"
        figures += [
            _growth("rq3-catalogue", title_of_times, "microseconds a user", catalogue, times),
            _growth("rq3-memory", "Memory of the items", "MB", catalogue, MEMORY, 1e6),
        ]
    return Section(
        "rq3",
        "RQ3. Speed",
        "How much faster are lists for all users by codes than by BPR's vectors?",
        _paragraphs(rows),
        [table for table in tables if table.rows],
        figures,
        _claims(sizes, paper),
    )


def wide_rows(rows: Sequence[Row], paper: Mapping[str, float]) -> list[Wide]:
    """One row for each size and number of bits, with `seconds_xorec` and so on for each method."""
    groups: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["size"], row["bits"]), []).append(row)
    return [_wide(group, paper) for group in groups.values()]


def _wide(group: Sequence[Row], paper: Mapping[str, float]) -> Wide:
    same = ("size", "users", "items", "bits", "dimensions", "k", "seen", "threads", "code_bytes")
    wide: Wide = {name: group[0][name] for name in same}
    size = wide["size"]
    wide["paper"] = paper.get(size if size in paper else set_of(size) or "")
    each = ("seconds", "spread", "us_per_user", "users_measured", "bytes", "build_seconds", "how")
    for row in group:
        wide |= {f"{column}_{row['method']}": row[column] for column in each}
        if row["method"] == CODES:
            wide["ratio"], wide["ratio_spread"] = row["ratio_to"], row["ratio_spread"]
    for row in group:
        if row["method"] != CODES:
            wide[f"ratio_{row['method']}"] = wide["ratio"] / row["ratio_to"]
    wide["saved_codes"] = wide[f"bytes_{FLOATS}"] / wide["code_bytes"]
    wide["saved_index"] = wide[f"bytes_{FLOATS}"] / wide[f"bytes_{CODES}"]
    return wide


def _methods_of(rows: Sequence[Wide], key: str) -> list[str]:
    """The methods that any of the rows has."""
    return [method for method in METHODS if any(f"{key}_{method}" in row for row in rows)]


_SIZE = Column("size", "size", "text")
_BUILT = Column(f"build_seconds_{CODES}", "index built in, s", "time", 3)


def _everybody(name: str, title: str, rows: Sequence[Wide]) -> Table:
    methods = _methods_of(rows, "seconds")
    columns = [
        _SIZE,
        *counts("users", "items", "bits"),
        *(
            Column(f"seconds_{one}", f"{HEADS[one]}, s", "time", 3, spread=f"spread_{one}")
            for one in methods
        ),
        Column("ratio", "vectors / codes", "time", 2, spread="ratio_spread"),
        Column("paper", "the paper's", "paper", 2),
        *(
            Column(f"ratio_{one}", f"{HEADS[one]} / codes", "time", 2)
            for one in methods
            if one not in (CODES, FLOATS)
        ),
        _BUILT,
    ]
    return Table(name, title, columns, rows, _NOTE)


def _catalogue(rows: Sequence[Wide]) -> Table:
    columns = [
        *counts("items", "bits"),
        *(
            Column(f"us_per_user_{one}", f"{HEADS[one]}, us", "time", 1)
            for one in _methods_of(rows, "us_per_user")
        ),
        Column("ratio", "vectors / codes", "time", 1, spread="ratio_spread"),
        _BUILT,
    ]
    note = "Microseconds a user, of a thousand users or as many as fit the budget. " + _NOTE
    return Table("rq3-catalogue", "Time against the catalogue", columns, rows, note)


def _memory(rows: Sequence[Wide]) -> Table:
    sizes = {f"bytes_{one}": f"{HEADS[one]}, bytes" for one in _methods_of(rows, "bytes")}
    columns = [
        _SIZE,
        *counts("items", "bits", code_bytes="bare codes, bytes", **sizes),
        Column("saved_codes", "vectors / bare codes", "measure", 1),
        Column("saved_index", "vectors / index", "measure", 1),
    ]
    note = (
        "Of the items. Our index has the codes (64-bit words), their planes, rows and tie ranks, "
        "and tables where it searches by them. faiss has codes of 4, 8, 16 .. bytes."
    )
    return Table("rq3-memory", "Memory", columns, rows, note)


def _ratios(rows: Sequence[Wide], paper: Mapping[str, float]) -> Figure:
    lines = []
    for bits in _lengths(rows):
        chosen = [row for row in rows if row["bits"] == bits]
        x, y, error = ([row[key] for row in chosen] for key in ("size", "ratio", "ratio_spread"))
        lines.append(Line(f"ours, {bits} bits", x, y, error, highlight=True))
    known = [name for name in dict.fromkeys(row["size"] for row in rows) if name in paper]
    if known:
        lines.append(Line("the paper", known, [paper[name] for name in known], paper=True))
    level = (1.0, "as fast as BPR")
    panel = Panel("", "", "times as fast as BPR's vectors", lines, "bars", log_y=True, level=level)
    title = "Lists for everybody: codes over vectors"
    note = "; ".join(f"{row['size']}, {row['bits']} bits: {row[f'how_{FLOATS}']}" for row in rows)
    return Figure("rq3-ratios", title, [panel], f"The vectors' side was {note}.", timed=True)


def _growth(
    name: str,
    title: str,
    y_label: str,
    rows: Sequence[Wide],
    labels: Mapping[str, str],
    unit: float = 1.0,
) -> Figure:
    """A line for each key in `labels` that the rows have, a panel for each length of codes."""
    panels = []
    for bits in _lengths(rows):
        growing = sorted((row for row in rows if row["bits"] == bits), key=lambda row: row["items"])
        lines = []
        for key, label in labels.items():
            there = [row for row in growing if key in row]
            x, y = [row["items"] for row in there], [row[key] / unit for row in there]
            lines += [Line(label, x, y, highlight=key.endswith(CODES))] if there else []
        panels.append(Panel(f"{bits} bits", "items", y_label, lines, log_x=True, log_y=True))
    return Figure(name, title, panels, timed=labels is not MEMORY)


def _lengths(rows: Sequence[Wide]) -> list[int]:
    return sorted({row["bits"] for row in rows})


def _paragraphs(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return []

    def values(key: str) -> str:
        return " and ".join(map(str, sorted({row[key] for row in rows})))

    missing = "" if any("faiss" in row["method"] for row in rows) else " faiss was not installed."
    return [
        f"Each user's best {values('k')} items without the seen ones, for all users, all sides on "
        f"{values('threads')} "
        "threads in the same process. Codes are searched by our exact index, in the blocks of "
        "xorec recommend --all-users; the lists of 16 users are held against brute force first. "
        "BPR's side is exact too: products by BLAS in float32, seen items hidden, and the best "
        "selected by our kernel or NumPy; block sizes, and BLAS on all threads against a block for "
        "each thread, are tried on some users, and the fastest is taken (named under the claims)."
        + missing,
        "Codes and vectors of the paper's sizes are drawn: low-rank factors with noise, and their "
        "signs; half of a seen list is among the user's nearest items. The paper prints the sizes "
        "of Movies and Books; MovieLens is taken for MovieLens 1M, Yelp for yelp2018.",
    ]


def _claims(rows: Sequence[Wide], paper: Mapping[str, float]) -> list[Claim]:
    """One for each of the paper's figures, judged at its own dimension where that was measured."""
    claims = []
    for name, theirs in paper.items():
        text = f"DSIML recommends {theirs:g} times as fast as BPR on {name}"
        measured = [row for row in rows if row["size"] == name]
        if not measured:
            claims.append(Claim(text, "not tested", "This size was not measured.", timed=True))
            continue
        measured.sort(key=lambda row: row["bits"] != PAPER_BITS)
        verdict: Verdict = "does not hold"
        if measured[0]["ratio"] > 1:
            verdict = "holds" if measured[0]["ratio"] >= theirs else "holds in part"
        claims.append(Claim(text, verdict, " ".join(map(_evidence, measured)), timed=True))
    return claims


def _evidence(row: Wide) -> str:
    return (
        f"{row['bits']} bits: {row['ratio']:.2f} times as fast, {row[f'seconds_{CODES}']:.3g} s "
        f"against {row[f'seconds_{FLOATS}']:.3g} s ({row[f'how_{FLOATS}']})."
    )
