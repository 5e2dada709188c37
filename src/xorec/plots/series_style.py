"""How a series of a figure looks: colour, marker, dashes and hatch, so that it reads in grey too.

The colours keep apart for colour-blind eyes (after Okabe and Ito, and Tol). The method that the
experiment is about has the first colours, whatever its place among the others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xorec.plots.series import Figure, Line

INK = "#222222"
SOFT = "#555555"
GRID = "#e6e6e6"
PAPER = "#808080"

HIGHLIGHT_COLOURS = ("#0072b2", "#d55e00", "#222222")
COLOURS = (
    "#009e73",
    "#aa4499",
    "#e69f00",
    "#56b4e9",
    "#882255",
    "#999933",
    "#332288",
    "#cc6677",
    "#117733",
    "#44aa99",
)
MARKERS = ("s", "^", "v", "P", "X", "<", ">", "p", "h", "d")
HIGHLIGHT_MARKERS = ("o", "D", "8")
PAPER_MARKERS = ("o", "s", "^", "D")
DASHES: tuple[Any, ...] = (
    (0, (5, 1.5)),
    (0, (1.2, 1.2)),
    (0, (6, 1.5, 1.2, 1.5)),
    (0, (3, 1)),
    (0, (8, 2)),
)
HATCHES = ("///", "...", "\\\\\\", "xxx", "---", "+++", "ooo", "|||")


@dataclass(frozen=True)
class Style:
    """The looks of one series."""

    colour: str
    marker: str
    dash: Any
    hatch: str
    width: float
    order: int
    """What is drawn later lies on top."""


def styles_of(figure: Figure) -> dict[str, Style]:
    """A style for each label of the figure, the same in all its panels, in order of appearance."""
    first: dict[str, Line] = {}
    for panel in figure.panels:
        for line in panel.lines:
            first.setdefault(line.label, line)
    highlighted = [label for label, line in first.items() if line.highlight and not line.paper]
    paper = [label for label, line in first.items() if line.paper]
    others = [label for label in first if label not in highlighted and label not in paper]
    shift = 0 if highlighted else 1
    styles = {label: _highlighted(place) for place, label in enumerate(highlighted)}
    styles |= {label: _other(place - shift) for place, label in enumerate(others)}
    styles |= {label: _paper(place) for place, label in enumerate(paper)}
    return {label: styles[label] for label in first}


def _highlighted(place: int) -> Style:
    colour = HIGHLIGHT_COLOURS[place % len(HIGHLIGHT_COLOURS)]
    return Style(colour, HIGHLIGHT_MARKERS[place % len(HIGHLIGHT_MARKERS)], "-", "", 2.4, 5)


def _other(place: int) -> Style:
    """The looks of place 0, 1, 2 ..; place -1 looks like a highlighted method, but lighter."""
    if place < 0:
        return Style(HIGHLIGHT_COLOURS[0], HIGHLIGHT_MARKERS[0], "-", "", 1.6, 4)
    return Style(
        COLOURS[place % len(COLOURS)],
        MARKERS[place % len(MARKERS)],
        DASHES[place % len(DASHES)],
        HATCHES[place % len(HATCHES)],
        1.4,
        4,
    )


def _paper(place: int) -> Style:
    return Style(PAPER, PAPER_MARKERS[place % len(PAPER_MARKERS)], (0, (4, 2)), "", 1.3, 3)
