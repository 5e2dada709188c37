"""What rq3 has to say: its rows as tables, figures and verdicts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xorec.lab.bench.everybody import CODES, FAISS_CODES, FAISS_FLOATS, FLOATS, METHODS
from xorec.lab.reproduce.paper import SPEED_UPS, set_of
from xorec.lab.reproduce.rq3_figures import figures
from xorec.lab.reproduce.sections import Claim, Column, Section, Table, Verdict

PAPER, CATALOGUE, DATA = "paper", "catalogue", "data"
"""The parts: the paper's sizes, a growing catalogue, learned models."""
PAPER_BITS = 20
"""The paper's dimension, by which its claims are judged."""

Row = Mapping[str, Any]
Wide = dict[str, Any]

_NOTE = (
    "Medians of interleaved rounds and half of what lies between their quartiles. faiss cannot "
    "leave out each user's seen items and answers without that, which favours it. A side too slow "
    "for all users within the budget answers for some of them, evenly spaced, and its time is "
    "scaled up: users_measured in the CSV file."
)


def section(
    rows: Sequence[Row], paper: Mapping[str, float] = SPEED_UPS, title: str = "RQ3. Speed"
) -> Section:
    """Of the rows of all points (`bench.everybody.rows_of`)."""
    parts = {
        part: wide_rows([row for row in rows if row["part"] == part], paper)
        for part in (PAPER, CATALOGUE, DATA)
    }
    tables = [
        _everybody("rq3-sizes", "Everybody's lists, at the paper's sizes", parts[PAPER]),
        _everybody("rq3-data", "Everybody's lists, by learned models", parts[DATA]),
        _catalogue(parts[CATALOGUE]),
        _memory(parts[PAPER] + parts[DATA] + parts[CATALOGUE]),
    ]
    return Section(
        "rq3",
        title,
        "How much faster are lists for all users by codes than by BPR's vectors?",
        _paragraphs(rows),
        [table for table in tables if table.rows],
        figures(parts[PAPER], parts[CATALOGUE], paper),
        _claims(parts[PAPER], paper),
    )


def wide_rows(rows: Sequence[Row], paper: Mapping[str, float]) -> list[Wide]:
    """One row for each size and number of bits, with `seconds_xorec` and so on for each method."""
    groups: dict[tuple[str, int], list[Row]] = {}
    for row in rows:
        groups.setdefault((row["size"], row["bits"]), []).append(row)
    return [_wide(group, paper) for group in groups.values()]


def _wide(group: Sequence[Row], paper: Mapping[str, float]) -> Wide:
    first = group[0]
    same = ("size", "users", "items", "bits", "dimensions", "k", "seen", "threads", "code_bytes")
    wide: Wide = {name: first[name] for name in same}
    name = first["size"] if first["size"] in paper else set_of(first["size"])
    wide["paper"] = None if name is None else paper.get(name)
    each = ("seconds", "spread", "us_per_user", "users_measured", "bytes", "build_seconds", "how")
    for row in group:
        for column in each:
            wide[f"{column}_{row['method']}"] = row[column]
        wide[f"times_{row['method']}"] = 1 / row["ratio_to"]
        if row["method"] == CODES:
            wide["ratio"], wide["ratio_spread"] = row["ratio_to"], row["ratio_spread"]
    for method in METHODS:
        times = wide.pop(f"times_{method}", None)
        if times is not None and method != CODES:
            wide[f"ratio_{method}"] = times * wide["ratio"]
    wide["saved_codes"] = wide[f"bytes_{FLOATS}"] / wide["code_bytes"]
    wide["saved_index"] = wide[f"bytes_{FLOATS}"] / wide[f"bytes_{CODES}"]
    return wide


def _methods_of(rows: Sequence[Wide], key: str) -> list[str]:
    """The methods that any of the rows has."""
    return [method for method in METHODS if any(f"{key}_{method}" in row for row in rows)]


HEADS = {
    CODES: "codes, xorec",
    FLOATS: "vectors, BLAS",
    FAISS_CODES: "codes, faiss",
    FAISS_FLOATS: "vectors, faiss",
}


def _everybody(name: str, title: str, rows: Sequence[Wide]) -> Table:
    seconds = [
        Column(f"seconds_{one}", f"{HEADS[one]}, s", "time", 3, spread=f"spread_{one}")
        for one in _methods_of(rows, "seconds")
    ]
    others = [one for one in _methods_of(rows, "seconds") if one not in (CODES, FLOATS)]
    columns = [
        Column("size", "size", "text"),
        Column("users", "users", "count"),
        Column("items", "items", "count"),
        Column("bits", "bits", "count"),
        *seconds,
        Column("ratio", "vectors / codes", "time", 2, spread="ratio_spread"),
        Column("paper", "the paper's", "paper", 2),
        *(Column(f"ratio_{one}", f"{HEADS[one]} / codes", "time", 2) for one in others),
        Column(f"build_seconds_{CODES}", "index built in, s", "time", 3),
    ]
    return Table(name, title, columns, rows, _NOTE)


def _catalogue(rows: Sequence[Wide]) -> Table:
    us = [
        Column(f"us_per_user_{one}", f"{HEADS[one]}, us", "time", 1)
        for one in _methods_of(rows, "us_per_user")
    ]
    columns = [
        Column("items", "items", "count"),
        Column("bits", "bits", "count"),
        *us,
        Column("ratio", "vectors / codes", "time", 1, spread="ratio_spread"),
        Column(f"build_seconds_{CODES}", "index built in, s", "time", 3),
    ]
    note = "Microseconds a user, of a thousand users or as many as fit the budget. " + _NOTE
    return Table("rq3-catalogue", "Time against the catalogue", columns, rows, note)


def _memory(rows: Sequence[Wide]) -> Table:
    columns = [
        Column("size", "size", "text"),
        Column("items", "items", "count"),
        Column("bits", "bits", "count"),
        Column("code_bytes", "bare codes, bytes", "count"),
        *(
            Column(f"bytes_{one}", f"{HEADS[one]}, bytes", "count")
            for one in _methods_of(rows, "bytes")
        ),
        Column("saved_codes", "vectors / bare codes", "measure", 1),
        Column("saved_index", "vectors / index", "measure", 1),
    ]
    note = (
        "Of the items. Our index has the codes (64-bit words), their planes, rows and tie ranks, "
        "and tables where it searches by them. faiss has codes of 4, 8, 16 .. bytes."
    )
    return Table("rq3-memory", "Memory", columns, rows, note)


def _paragraphs(rows: Sequence[Row]) -> list[str]:
    if not rows:
        return []
    threads = " and ".join(map(str, sorted({row["threads"] for row in rows})))
    ks = " and ".join(map(str, sorted({row["k"] for row in rows})))
    missing = "" if any("faiss" in row["method"] for row in rows) else " faiss was not installed."
    return [
        f"Each user's best {ks} items without the seen ones, for all users, all sides on {threads} "
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
        judged = next((row for row in measured if row["bits"] == PAPER_BITS), measured[0])
        verdict: Verdict = "does not hold"
        if judged["ratio"] > 1:
            verdict = "holds" if judged["ratio"] >= theirs else "holds in part"
        order = [judged, *(row for row in measured if row is not judged)]
        claims.append(Claim(text, verdict, " ".join(map(_evidence, order)), timed=True))
    return claims


def _evidence(row: Wide) -> str:
    return (
        f"{row['bits']} bits: {row['ratio']:.2f} times as fast, {row[f'seconds_{CODES}']:.3g} s "
        f"against {row[f'seconds_{FLOATS}']:.3g} s ({row[f'how_{FLOATS}']})."
    )
