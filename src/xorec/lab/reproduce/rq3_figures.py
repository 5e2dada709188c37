"""The figures of rq3: ratios beside the paper's, time and memory against the catalogue."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from xorec.lab.bench.everybody import CODES, FAISS_CODES, FAISS_FLOATS, FLOATS
from xorec.plots.figures import Figure, Line, Panel

Wide = Mapping[str, Any]

LABELS = {
    CODES: "DSIML's codes, xorec",
    FLOATS: "BPR's vectors, BLAS",
    FAISS_CODES: "the codes, faiss flat",
    FAISS_FLOATS: "the vectors, faiss flat",
}


def figures(
    sizes: Sequence[Wide], catalogue: Sequence[Wide], paper: Mapping[str, float]
) -> list[Figure]:
    """Those that there are rows for."""
    found = []
    if sizes:
        found.append(_ratios(sizes, paper))
    if catalogue:
        found += [_times(catalogue), _memory(catalogue)]
    return found


def _ratios(rows: Sequence[Wide], paper: Mapping[str, float]) -> Figure:
    names = list(dict.fromkeys(row["size"] for row in rows))
    lines = []
    for bits in _lengths(rows):
        chosen = [row for row in rows if row["bits"] == bits]
        lines.append(
            Line(
                f"ours, {bits} bits",
                [row["size"] for row in chosen],
                [row["ratio"] for row in chosen],
                [row["ratio_spread"] for row in chosen],
                highlight=True,
            )
        )
    known = [name for name in names if name in paper]
    if known:
        lines.append(Line("the paper", known, [paper[name] for name in known], paper=True))
    level = (1.0, "as fast as BPR")
    panel = Panel("", "", "times as fast as BPR's vectors", lines, "bars", log_y=True, level=level)
    title = "Lists for everybody: codes over vectors"
    note = "; ".join(f"{row['size']}, {row['bits']} bits: {row[f'how_{FLOATS}']}" for row in rows)
    return Figure("rq3-ratios", title, [panel], f"The vectors' side was {note}.", timed=True)


def _times(rows: Sequence[Wide]) -> Figure:
    panels = []
    for bits in _lengths(rows):
        growing = _growing(rows, bits)
        lines = [
            Line(label, *_points(growing, f"us_per_user_{method}"), highlight=method == CODES)
            for method, label in LABELS.items()
            if any(f"us_per_user_{method}" in row for row in growing)
        ]
        about = ("items", "microseconds a user")
        panels.append(Panel(f"{bits} bits", *about, lines, log_x=True, log_y=True))
    return Figure("rq3-catalogue", "Time against the catalogue", panels, timed=True)


def _memory(rows: Sequence[Wide]) -> Figure:
    labels = {
        "code_bytes": "the bare codes",
        f"bytes_{CODES}": "our index, codes included",
        f"bytes_{FLOATS}": "float32 vectors",
        f"bytes_{FAISS_CODES}": "faiss flat, codes",
    }
    panels = []
    for bits in _lengths(rows):
        growing = _growing(rows, bits)
        lines = [
            Line(label, *_megabytes(growing, key), highlight=key == f"bytes_{CODES}")
            for key, label in labels.items()
            if any(key in row for row in growing)
        ]
        panels.append(Panel(f"{bits} bits", "items", "MB", lines, log_x=True, log_y=True))
    return Figure("rq3-memory", "Memory of the items", panels)


def _lengths(rows: Sequence[Wide]) -> list[int]:
    return sorted({row["bits"] for row in rows})


def _growing(rows: Sequence[Wide], bits: int) -> list[Wide]:
    return sorted((row for row in rows if row["bits"] == bits), key=lambda row: int(row["items"]))


def _points(rows: Sequence[Wide], key: str) -> tuple[list[float | str], list[float]]:
    there = [row for row in rows if key in row]
    return [row["items"] for row in there], [row[key] for row in there]


def _megabytes(rows: Sequence[Wide], key: str) -> tuple[list[float | str], list[float]]:
    items, values = _points(rows, key)
    return items, [value / 1e6 for value in values]
