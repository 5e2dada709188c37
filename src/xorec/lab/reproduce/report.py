"""The report of a run, in a folder: page, Markdown, tables as CSV, figures as PNG and SVG.

The page is one HTML file with its style and pictures inside; it asks for nothing else. What the
clock measured stands in `<span class="time">` and `<figure class="timed">` and nowhere else, so
that two runs of one plan give the same text apart from these. Names of categories, methods and data
sets come from outside: the page escapes all text, and control characters are shown as escapes.
"""

from __future__ import annotations

import base64
import csv
import io
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, is_dataclass, replace
from pathlib import Path
from typing import Any

from xorec.core.errors import XorecError
from xorec.core.files import replacing
from xorec.core.printable import printable
from xorec.lab.reproduce.sections import Column, Section, Table
from xorec.plots.figures import Figure, draw

PAGE, TEXT = "report.html", "report.md"
OURS = ("tables/*.csv", "figures/*.png", "figures/*.svg")
"""What a report puts beside the page."""
MISSING = "\N{EN DASH}"
"""What stands where a value is missing."""
SMALLEST_P = 0.001
FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""


@dataclass(frozen=True)
class Report:
    """What a run has to say: sections, and how it was made.

    metadata: what was run on what, flat or nested, values or lists or rows. A key with the word
    `seconds` is taken for a measure of the clock. settings: rows of data, method, trials,
    validation and a mapping of settings.
    """

    title: str
    sections: Sequence[Section]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    settings: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True)
class Cell:
    """A value as text, what follows its plus-minus sign or nothing, and if it is the best."""

    text: str
    spread: str = ""
    best: bool = False

    def __str__(self) -> str:
        return f"{self.text} ± {self.spread}" if self.spread else self.text


def write_report(out: Path, report: Report) -> list[Path]:
    """Write the report and return its files, the page first. Equal input, equal bytes.

    Files that an older report left in tables/ and figures/ and that this one lacks are removed.
    """
    older = (out / PAGE).is_file()
    paths = []
    for name, content in contents_of(report).items():
        with replacing(out / name) as temporary:
            temporary.write_bytes(content)
        paths.append(out / name)
    if older:
        _remove_others(out, set(paths))
    return paths


def contents_of(report: Report) -> dict[str, bytes]:
    """The files of a report by name, the page first."""
    report = safe_text(report)
    anchors, of_tables, of_figures = {"claims", "run"}, set[str](), set[str]()
    files: dict[str, bytes] = {}
    shown = []
    for section in report.sections:
        figures, tables = [], []
        for figure in section.figures:
            stem, picture = _free(figure.name, of_figures), draw(figure)
            files[f"figures/{stem}.svg"] = picture.svg.encode()
            files[f"figures/{stem}.png"] = picture.png
            image = base64.b64encode(picture.svg.encode()).decode()
            figures.append({"it": figure, "stem": stem, "alt": spoken(figure), "image": image})
        for table in section.tables:
            stem = _free(table.name, of_tables)
            files[f"tables/{stem}.csv"] = csv_text(table).encode()
            tables.append({"it": table, "stem": stem, "rows": cells_of(table)})
        anchor = _free(section.key, anchors)
        shown.append({"it": section, "anchor": anchor, "figures": figures, "tables": tables})
    pages = {name: _rendered(name, report, shown).encode() for name in (PAGE, TEXT)}
    return {**pages, **files}


def _rendered(name: str, report: Report, sections: Sequence[Mapping[str, Any]]) -> str:
    """The template of this name; texts are escaped for HTML on the page, for tables in Markdown."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader("xorec.lab.reproduce"),
        autoescape=name == PAGE,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["cell"] = lambda text: str(text).replace("|", "\\|").replace("<", "&lt;")
    environment.filters["slug"] = lambda text: text.replace(" ", "-")
    environment.filters["keys"] = _keys
    environment.filters["shown"] = shown_value
    return environment.get_template(f"{name}.j2").render(report=report, sections=sections)


def _remove_others(out: Path, kept: set[Path]) -> None:
    for path in (found for pattern in OURS for found in sorted(out.glob(pattern))):
        if path not in kept and path.is_file():
            try:
                path.unlink()
            except OSError as error:
                reason = error.strerror or error
                raise XorecError(
                    f"cannot remove {path}, which an older report left: {reason}. "
                    "Remove it, or choose another folder."
                ) from None


def _free(name: str, given: set[str]) -> str:
    """A name that is fit for files and links, given once."""
    stem = re.sub(r"[^\w.+@=-]+", "-", name).strip("-.") or "unnamed"
    free, count = stem, 1
    while free.lower() in given:
        count += 1
        free = f"{stem}-{count}"
    given.add(free.lower())
    return free


def spoken(figure: Figure) -> str:
    """What the figure shows, for those who cannot see it."""
    texts = [figure.title]
    for panel in figure.panels:
        head = f"{panel.title}: " if panel.title else ""
        across = f" against {panel.x_label}" if panel.x_label else ""
        series = ", ".join(line.label for line in panel.lines)
        texts.append(f"{head}{panel.kind.capitalize()} of {panel.y_label}{across}, for {series}")
    return ". ".join(texts) + "."


def safe_text(thing: Any) -> Any:
    """The same dataclasses, mappings and lists with control characters shown as escapes.

    >>> safe_text({"rows": [("a\\x1b", 1)]})
    {'rows': [('a\\\\x1b', 1)]}
    """
    if isinstance(thing, str):
        return printable(thing, lines=True)
    if is_dataclass(thing) and not isinstance(thing, type):
        named = {one.name: safe_text(getattr(thing, one.name)) for one in fields(thing)}
        return replace(thing, **named)
    if isinstance(thing, Mapping):
        return {safe_text(key): safe_text(value) for key, value in thing.items()}
    if isinstance(thing, list | tuple):
        return type(thing)(safe_text(one) for one in thing)
    return thing


def cells_of(table: Table) -> list[list[Cell]]:
    """The rows of the table, a cell for each of its columns."""
    best = {column.key: _largest(table.rows, column.key) for column in table.columns if column.best}

    def cell(row: Mapping[str, Any], column: Column) -> Cell:
        value = plain(row.get(column.key))
        if is_missing(value):
            return Cell("" if column.kind == "paper" else MISSING)
        spread = plain(row.get(column.spread)) if column.spread else None
        beside = "" if is_missing(spread) else _text(spread, column)
        return Cell(_text(value, column), beside, column.best and value == best[column.key])

    return [[cell(row, column) for column in table.columns] for row in table.rows[: table.shown]]


def plain(value: Any) -> Any:
    """A plain Python number for one of NumPy's."""
    return value.item() if hasattr(value, "item") and not isinstance(value, str | bytes) else value


def is_missing(value: Any) -> bool:
    """None or not a number."""
    return value is None or (isinstance(value, float) and math.isnan(value))


def _text(value: Any, column: Column) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if not isinstance(value, int | float) or column.kind == "text":
        return str(value)
    if column.kind == "count":
        return f"{value:,}" if isinstance(value, int) else f"{value:,.0f}"
    if column.kind == "p" and value < SMALLEST_P:
        return f"< {SMALLEST_P}"
    return f"{value:,.{column.digits}f}"


def _largest(rows: Sequence[Mapping[str, Any]], key: str) -> float | None:
    """The largest number of a column; no column of one row has a best."""
    values = [plain(row.get(key)) for row in rows]
    numbers = [one for one in values if isinstance(one, int | float) and not is_missing(one)]
    return max(numbers) if len(numbers) > 1 else None


def shown_value(value: Any, key: str = "") -> str:
    """A value of the metadata: whole numbers with commas, unless they are names, as seeds are."""
    value = plain(value)
    if is_missing(value):
        return MISSING
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.4g}"
    return f"{value:,}" if isinstance(value, int) and "seed" not in key else str(value)


def _keys(rows: Sequence[Mapping[str, Any]]) -> list[str]:
    return list(dict.fromkeys(key for row in rows for key in row))


def csv_text(table: Table) -> str:
    """The rows of a table with every key that any of them has, and every digit."""
    keys = _keys(table.rows) or [column.key for column in table.columns]
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([no_formula(key) for key in keys])
    writer.writerows([_exact(row.get(key)) for key in keys] for row in table.rows)
    return text.getvalue()


def _exact(value: Any) -> Any:
    """A value of a CSV file: a float with all digits, nothing for None, JSON for what is nested."""
    value = plain(value)
    if isinstance(value, float):
        return repr(value)
    if isinstance(value, Mapping | list | tuple):
        return json.dumps(value, ensure_ascii=False, default=plain)
    return no_formula(value) if isinstance(value, str) else "" if value is None else value


def no_formula(text: str) -> str:
    """A text cell that no spreadsheet computes: an apostrophe before it; numbers stay numbers.

    >>> no_formula("=cmd|' /C calc'!A0"), no_formula("-0.5"), no_formula("tea")
    ("'=cmd|' /C calc'!A0", '-0.5', 'tea')
    """
    if not text.startswith(FORMULA_STARTS):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text
