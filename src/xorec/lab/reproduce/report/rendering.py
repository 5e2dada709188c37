"""The one walk over a report: page, Markdown and terminal are renderings of the same sections."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from xorec.core.printable import printable
from xorec.lab.reproduce.sections import Section, Table
from xorec.plots.safe_text import map_text
from xorec.plots.series import Figure


@dataclass(frozen=True)
class Report:
    """What a run has to say: sections, and how it was made.

    metadata: what was run on what, flat or nested, values or lists or rows. A key with the word
    `seconds` (or minutes, hours, started, finished, took) is taken for a measure of the clock.
    settings: rows of data, method, trials, validation and a mapping of settings.
    """

    title: str
    sections: Sequence[Section]
    metadata: Mapping[str, Any] = field(default_factory=dict)
    settings: Sequence[Mapping[str, Any]] = ()


class Renderer:
    """One rendering: it is told of every element in reading order, and leaves out what it likes.

    stem: the name of the element's file, without its ending. anchor: what links to a section.
    """

    def begin(self, report: Report, anchors: Sequence[str]) -> None:
        """The title; the anchors of all sections to come."""

    def begin_section(self, section: Section, anchor: str) -> None:
        """Its title, question, paragraphs and claims."""

    def figure(self, figure: Figure, stem: str) -> None: ...

    def table(self, table: Table, stem: str) -> None: ...

    def end_section(self) -> None: ...

    def end(self, report: Report) -> None: ...


def render(report: Report, renderer: Renderer) -> None:
    """Walk over the report. Equal and odd names get files and anchors of their own.

    Control characters in any text are shown as escapes.
    """
    report = map_text(report, lambda text: printable(text, lines=True))
    names = _Names()
    anchors = [names.new(section.key, "anchors") for section in report.sections]
    renderer.begin(report, anchors)
    for section, anchor in zip(report.sections, anchors, strict=True):
        renderer.begin_section(section, anchor)
        for figure in section.figures:
            renderer.figure(figure, names.new(figure.name, "figures"))
        for table in section.tables:
            renderer.table(table, names.new(table.name, "tables"))
        renderer.end_section()
    renderer.end(report)


class _Names:
    """Names that are fit for files and links, each given once."""

    def __init__(self) -> None:
        self.given: set[tuple[str, str]] = {("anchors", "claims"), ("anchors", "run")}

    def new(self, name: str, kind: str) -> str:
        stem = re.sub(r"[^\w.+@=-]+", "-", name).strip("-.") or "unnamed"
        free, count = stem, 1
        while (kind, free.lower()) in self.given:
            count += 1
            free = f"{stem}-{count}"
        self.given.add((kind, free.lower()))
        return free
