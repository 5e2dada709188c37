"""The page of a report: one HTML text with its style and pictures inside. It asks for nothing else.

What the clock measured stands in `<span class="time">` and `<figure class="timed">` and nowhere
else, so that two runs of one plan give the same text apart from these.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Sequence
from html import escape
from importlib.resources import files

from xorec.lab.reproduce.report.metadata import metadata_html, settings_html
from xorec.lab.reproduce.report.rendering import Renderer, Report
from xorec.lab.reproduce.report.table_cells import Cell, cells_of, csv_text
from xorec.lab.reproduce.sections import Claim, Column, Section, Table
from xorec.plots.figures import Drawn, draw
from xorec.plots.series import Figure

LONG = 30
"""A table of more rows may break over printed pages."""
LONG_NAME = 28
"""A name of a row with more letters may break over lines."""
MANY_SPREADS = 5
"""With more of them in a row, each stands below its value."""

HEAD = """<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
<link rel="icon" href="data:,">
<style>
{style}</style>
</head>
<body>
<div class="page">
<header><h1>{title}</h1></header>
<nav aria-label="Contents"><ol>
{links}
</ol></nav>
<main>"""
SUMMARY = """<section id="claims">
<h2>The paper's claims</h2>
<table class="claims">
<thead><tr>{heads}</tr></thead>
<tbody>
{rows}
</tbody>
</table>
</section>"""
CLAIM = (
    '<tr><th scope="row">{text}<small><a href="#{anchor}">{title}</a></small></th>'
    '<td class="verdict">{verdict}</td><td>{evidence}</td></tr>'
)
TABLE = """<div class="{kind}" role="region" aria-label="{title}" tabindex="0">
<table{dense}>
<caption>{title}</caption>
<thead><tr>{heads}</tr></thead>
<tbody>
{rows}
</tbody>
</table>
</div>
{note}<p class="files"><a href="tables/{stem}.csv" download>CSV</a></p>"""
FIGURE = """<figure{timed}>
<figcaption><b>{title}</b>{note}</figcaption>
{wide}
{narrow}
<p class="files"><a href="figures/{stem}.svg" download>SVG</a>
<a href="figures/{stem}.png" download>PNG</a></p>
</figure>"""
FOOT = """<section id="run">
<h2>The run</h2>
{metadata}
{settings}
</section>
</main>
</div>
</body>
</html>
"""


class PageRenderer(Renderer):
    """The page, and in `files` what it links to: tables as CSV, figures as SVG and PNG."""

    def __init__(self) -> None:
        self._blocks: list[str] = []
        self.files: dict[str, bytes] = {}

    @property
    def html(self) -> str:
        """The whole page."""
        return "\n".join(block for block in self._blocks if block)

    def begin(self, report: Report, anchors: Sequence[str]) -> None:
        """The head, the links, and all claims with their verdicts."""
        titled = list(zip(anchors, report.sections, strict=True))
        claims = [
            CLAIM.format(
                text=escape(claim.text),
                anchor=anchor,
                title=escape(section.title),
                verdict=_verdict(claim),
                evidence=_evidence(claim),
            )
            for anchor, section in titled
            for claim in section.claims
        ]
        links = [("claims", "The paper's claims")] if claims else []
        links += [(anchor, section.title) for anchor, section in titled] + [("run", "The run")]
        items = [f'<li><a href="#{anchor}">{escape(text)}</a></li>' for anchor, text in links]
        css = files("xorec.lab.reproduce.report").joinpath("report.css")
        style = css.read_text(encoding="utf-8")
        head = {"title": escape(report.title), "style": style, "links": "\n".join(items)}
        self._blocks += [HEAD.format(**head)]
        heads = (f'<th scope="col">{name}</th>' for name in ("claim", "verdict", "evidence"))
        summary = {"heads": "".join(heads), "rows": "\n".join(claims)}
        self._blocks += [SUMMARY.format(**summary)] if claims else []

    def begin_section(self, section: Section, anchor: str) -> None:
        verdicts = "\n".join(
            f"<li><p>{_verdict(claim)} {escape(claim.text)}</p>"
            f'<p class="evidence">{_evidence(claim)}</p></li>'
            for claim in section.claims
        )
        self._blocks += [
            f'<section id="{anchor}">',
            f"<h2>{escape(section.title)}</h2>",
            f'<p class="question">{escape(section.question)}</p>' if section.question else "",
            *(f"<p>{escape(text)}</p>" for text in section.paragraphs),
            f'<ul class="verdicts">\n{verdicts}\n</ul>' if verdicts else "",
        ]

    def figure(self, figure: Figure, stem: str) -> None:
        drawn: Drawn = draw(figure)
        self.files[f"figures/{stem}.svg"] = drawn.svg.encode()
        self.files[f"figures/{stem}.png"] = drawn.png
        self._blocks.append(
            FIGURE.format(
                timed=' class="timed"' if figure.timed else "",
                title=escape(figure.title),
                note=f'<span class="note">{escape(figure.note)}</span>' if figure.note else "",
                wide=_image(drawn.svg, "wide", figure),
                narrow=_image(drawn.narrow, "narrow", figure),
                stem=stem,
            )
        )

    def table(self, table: Table, stem: str) -> None:
        self.files[f"tables/{stem}.csv"] = csv_text(table).encode()
        heads = (f'<th scope="col"{_classes(c)}>{escape(c.head)}</th>' for c in table.columns)
        spreads = sum(column.spread is not None for column in table.columns)
        self._blocks.append(
            TABLE.format(
                kind="scroll long" if len(table.rows) > LONG else "scroll",
                title=escape(table.title),
                dense=' class="dense"' if spreads > MANY_SPREADS else "",
                heads="".join(heads),
                rows="\n".join(f"<tr>{_row(table, cells)}</tr>" for cells in cells_of(table)),
                note=f'<p class="note">{escape(table.note)}</p>' if table.note else "",
                stem=stem,
            )
        )

    def end_section(self) -> None:
        self._blocks.append("</section>")

    def end(self, report: Report) -> None:
        run = {
            "metadata": metadata_html(report.metadata),
            "settings": settings_html(report.settings),
        }
        self._blocks.append(FOOT.format(**run))


def without_times(html: str) -> str:
    """The page with what the clock measured left out: equal for two runs of one plan."""
    html = re.sub(r'(<span class="time">).*?(</span>)', r"\1\2", html, flags=re.DOTALL)
    return re.sub(r'(<figure class="timed">).*?(</figure>)', r"\1\2", html, flags=re.DOTALL)


def _verdict(claim: Claim) -> str:
    kind = re.sub(r"\s+", "-", claim.verdict)
    return _timed(f'<b class="badge {kind}">{escape(claim.verdict)}</b>', claim.timed)


def _evidence(claim: Claim) -> str:
    return _timed(escape(claim.evidence), claim.timed)


def _timed(text: str, timed: bool) -> str:
    return f'<span class="time">{text}</span>' if timed else text


def _row(table: Table, cells: Sequence[Cell]) -> str:
    places = enumerate(zip(table.columns, cells, strict=True))
    return "".join(_td(column, cell, place) for place, (column, cell) in places)


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
