"""The page of a report: one HTML text with its style and pictures inside. It asks for nothing else.

What the clock measured stands in `<span class="time">` and `<figure class="timed">` and nowhere
else, so that two runs of one plan give the same text apart from these.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from importlib.resources import files
from typing import Any

from xorec.experiments.reproduce.report.cells import Cell, cells_of
from xorec.experiments.reproduce.report.facts import facts_html, settings_html
from xorec.experiments.reproduce.report.figures import Drawn
from xorec.experiments.reproduce.sections import Claim, Column, Figure, Section, Table

LONG = 30
"""A table of more rows may break over printed pages."""
LONG_NAME = 28
"""A name of a row with more letters may break over lines."""
MANY_SPREADS = 5
"""With more of them in a row, each stands below its value."""


@dataclass(frozen=True)
class Part:
    """A section, its anchor, the file names of its tables and figures, and the figures drawn."""

    section: Section
    anchor: str
    tables: Sequence[str]
    figures: Sequence[str]
    drawn: Sequence[Drawn]


def page(
    title: str,
    parts: Sequence[Part],
    facts: Mapping[str, Any],
    settings: Sequence[Mapping[str, Any]],
) -> str:
    """The whole page."""
    style = (
        files("xorec.experiments.reproduce.report")
        .joinpath("report.css")
        .read_text(encoding="utf-8")
    )
    links = [(part.anchor, part.section.title) for part in parts]
    if any(part.section.claims for part in parts):
        links.insert(0, ("claims", "The paper's claims"))
    links.append(("run", "The run"))
    items = "\n".join(f'<li><a href="#{anchor}">{escape(text)}</a></li>' for anchor, text in links)
    body = "\n".join([_summary(parts), *(_section(part) for part in parts)])
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{escape(title)}</title>
<link rel="icon" href="data:,">
<style>
{style}</style>
</head>
<body>
<div class="page">
<header><h1>{escape(title)}</h1></header>
<nav aria-label="Contents"><ol>
{items}
</ol></nav>
<main>
{body}
<section id="run">
<h2>The run</h2>
{facts_html(facts)}
{settings_html(settings)}
</section>
</main>
</div>
</body>
</html>
"""


def _summary(parts: Sequence[Part]) -> str:
    """All claims with their verdicts, first thing on the page."""
    claims = [(part, claim) for part in parts for claim in part.section.claims]
    if not claims:
        return ""
    rows = "\n".join(
        f'<tr><th scope="row">{escape(claim.text)}'
        f'<small><a href="#{part.anchor}">{escape(part.section.title)}</a></small></th>'
        f'<td class="verdict">{_verdict(claim)}</td><td>{_evidence(claim)}</td></tr>'
        for part, claim in claims
    )
    heads = "".join(f'<th scope="col">{head}</th>' for head in ("claim", "verdict", "evidence"))
    return f"""<section id="claims">
<h2>The paper's claims</h2>
<table class="claims">
<thead><tr>{heads}</tr></thead>
<tbody>
{rows}
</tbody>
</table>
</section>"""


def _section(part: Part) -> str:
    section = part.section
    paragraphs = "\n".join(f"<p>{escape(text)}</p>" for text in section.paragraphs)
    verdicts = "\n".join(
        f"<li><p>{_verdict(claim)} {escape(claim.text)}</p>"
        f'<p class="evidence">{_evidence(claim)}</p></li>'
        for claim in section.claims
    )
    return "\n".join(
        text
        for text in (
            f'<section id="{part.anchor}">',
            f"<h2>{escape(section.title)}</h2>",
            f'<p class="question">{escape(section.question)}</p>' if section.question else "",
            paragraphs,
            f'<ul class="verdicts">\n{verdicts}\n</ul>' if verdicts else "",
            *map(_figure, section.figures, part.figures, part.drawn),
            *map(_table, section.tables, part.tables),
            "</section>",
        )
        if text
    )


def _verdict(claim: Claim) -> str:
    kind = re.sub(r"\s+", "-", claim.verdict)
    return _timed(f'<b class="badge {kind}">{escape(claim.verdict)}</b>', claim.timed)


def _evidence(claim: Claim) -> str:
    return _timed(escape(claim.evidence), claim.timed)


def _timed(text: str, timed: bool) -> str:
    return f'<span class="time">{text}</span>' if timed else text


def _table(table: Table, stem: str) -> str:
    heads = "".join(
        f'<th scope="col"{_classes(column)}>{escape(column.head)}</th>' for column in table.columns
    )
    rows = "\n".join(
        "<tr>"
        + "".join(
            _td(column, cell, place)
            for place, (column, cell) in enumerate(zip(table.columns, row, strict=True))
        )
        + "</tr>"
        for row in cells_of(table)
    )
    kind = "scroll long" if len(table.rows) > LONG else "scroll"
    spreads = sum(column.spread is not None for column in table.columns)
    dense = ' class="dense"' if spreads > MANY_SPREADS else ""
    title = escape(table.title)
    note = f'<p class="note">{escape(table.note)}</p>' if table.note else ""
    link = f'<a href="tables/{stem}.csv" download>CSV</a>'
    return f"""<div class="{kind}" role="region" aria-label="{title}" tabindex="0">
<table{dense}>
<caption>{title}</caption>
<thead><tr>{heads}</tr></thead>
<tbody>
{rows}
</tbody>
</table>
</div>
{note}<p class="files">{link}</p>"""


def _td(column: Column, cell: Cell, place: int) -> str:
    value = f"<strong>{escape(cell.text)}</strong>" if cell.best else escape(cell.text)
    if cell.spread:
        value += f'<small class="spread"> ±&nbsp;{escape(cell.spread)}</small>'
    value = _timed(value, column.kind == "time")
    if place == 0:
        wraps = ["long"] if len(cell.text) > LONG_NAME else []
        return f'<th scope="row"{_classes(column, wraps)}>{value}</th>'
    return f"<td{_classes(column)}>{value}</td>"


def _classes(column: Column, others: Sequence[str] = ()) -> str:
    kinds = {"text": [], "paper": ["number", "paper"]}.get(column.kind, ["number"])
    names = " ".join([*kinds, *others])
    return f' class="{names}"' if names else ""


def _figure(figure: Figure, stem: str, drawn: Drawn) -> str:
    note = f'<span class="note">{escape(figure.note)}</span>' if figure.note else ""
    timed = ' class="timed"' if figure.timed else ""
    return f"""<figure{timed}>
<figcaption><b>{escape(figure.title)}</b>{note}</figcaption>
{_image(drawn.svg, "wide", figure)}
{_image(drawn.narrow, "narrow", figure)}
<p class="files"><a href="figures/{stem}.svg" download>SVG</a>
<a href="figures/{stem}.png" download>PNG</a></p>
</figure>"""


def _image(svg: str, kind: str, figure: Figure) -> str:
    """One of the two drawings of a figure; the style shows that which fits the screen."""
    source = "data:image/svg+xml;base64," + base64.b64encode(svg.encode()).decode()
    width, height = _size(svg)
    size = f'width="{width}" height="{height}"'
    return f'<img class="{kind}" {size} alt="{escape(spoken(figure))}" src="{source}">'


def spoken(figure: Figure) -> str:
    """What the figure shows, for those who cannot see it."""
    shapes = {"lines": "Lines", "bars": "Bars", "points": "Points"}
    texts = [figure.title]
    for panel in figure.panels:
        head = f"{panel.title}: " if panel.title else ""
        across = f" against {panel.x_label}" if panel.x_label else ""
        series = ", ".join(line.label for line in panel.lines)
        texts.append(f"{head}{shapes[panel.kind]} of {panel.y_label}{across}, for {series}")
    return ". ".join(texts) + "."


def _size(svg: str) -> tuple[int, int]:
    """Width and height of an SVG in pixels; it has them in points."""
    found = re.search(r'viewBox="0 0 ([\d.]+) ([\d.]+)"', svg)
    points = (float(found[1]), float(found[2])) if found else (480.0, 240.0)
    return round(points[0] * 4 / 3), round(points[1] * 4 / 3)
