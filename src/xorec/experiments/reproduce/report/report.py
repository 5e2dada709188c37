"""The report of a run, in a folder: report.html, tables as CSV, figures as PNG and SVG."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from xorec.core.errors import XorecError
from xorec.core.files import replacing
from xorec.experiments.reproduce.report.cells import plain
from xorec.experiments.reproduce.report.figures import draw, needs_plots
from xorec.experiments.reproduce.report.page import Part, page
from xorec.experiments.reproduce.sections import Section, Table

PAGE = "report.html"
BESIDE = {"tables": (".csv",), "figures": (".png", ".svg")}
"""The folders beside the page, and what a report puts there."""


def write_report(
    out: Path,
    title: str,
    sections: Sequence[Section],
    facts: Mapping[str, Any],
    settings: Sequence[Mapping[str, Any]],
) -> list[Path]:
    """Write the report and return its files, the page first. Equal input, equal bytes.

    facts: what was run on what, flat or nested, values or lists or rows. A key with the word
    `seconds` (or minutes, hours, started, finished, took) is taken for a measure of the clock.
    settings: rows of data, method, trials, validation and a mapping of settings.
    Files that an older report left in tables/ and figures/ and that this one lacks are removed.
    """
    needs_plots()
    older = (out / PAGE).is_file()
    names = _Names()
    contents: dict[Path, bytes] = {}
    parts = []
    for section in sections:
        tables = [names.new(table.name, "tables") for table in section.tables]
        figures = [names.new(figure.name, "figures") for figure in section.figures]
        drawn = [draw(figure) for figure in section.figures]
        for stem, table in zip(tables, section.tables, strict=True):
            contents[out / "tables" / f"{stem}.csv"] = csv_text(table).encode()
        for stem, picture in zip(figures, drawn, strict=True):
            contents[out / "figures" / f"{stem}.svg"] = picture.svg.encode()
            contents[out / "figures" / f"{stem}.png"] = picture.png
        parts.append(Part(section, names.new(section.key, "anchors"), tables, figures, drawn))
    for path, content in contents.items():
        _write(path, content)
    _write(out / PAGE, page(title, parts, facts, settings).encode())
    if older:
        _remove_others(out, set(contents))
    return [out / PAGE, *contents]


def without_times(html: str) -> str:
    """The page with what the clock measured left out: equal for two runs of one plan."""
    html = re.sub(r'(<span class="time">).*?(</span>)', r"\1\2", html, flags=re.DOTALL)
    return re.sub(r'(<figure class="timed">).*?(</figure>)', r"\1\2", html, flags=re.DOTALL)


def csv_text(table: Table) -> str:
    """The rows of a table with every key that any of them has, and every digit."""
    keys = list(dict.fromkeys(key for row in table.rows for key in row))
    keys = keys or [column.key for column in table.columns]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(keys)
    writer.writerows([_exact(row.get(key)) for key in keys] for row in table.rows)
    return text.getvalue()


def _exact(value: Any) -> Any:
    """A value of a CSV file: a float with all digits, nothing for None, JSON for what is nested."""
    value = plain(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value, ensure_ascii=False, default=plain)
    return "" if value is None else value


class _Names:
    """Names that are fit for files and links, each given once."""

    def __init__(self) -> None:
        self.given: set[tuple[str, str]] = {("anchors", "claims"), ("anchors", "run")}

    def new(self, name: str, room: str) -> str:
        stem = re.sub(r"[^\w.+@=-]+", "-", name).strip("-.") or "unnamed"
        free, count = stem, 1
        while (room, free.lower()) in self.given:
            count += 1
            free = f"{stem}-{count}"
        self.given.add((room, free.lower()))
        return free


def _write(path: Path, content: bytes) -> None:
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def _remove_others(out: Path, kept: set[Path]) -> None:
    for folder, endings in BESIDE.items():
        for path in sorted((out / folder).glob("*")):
            if path.suffix in endings and path not in kept and path.is_file():
                try:
                    path.unlink()
                except OSError as error:
                    reason = error.strerror or error
                    raise XorecError(
                        f"cannot remove {path}, which an older report left: {reason}. "
                        "Remove it, or choose another folder."
                    ) from None
