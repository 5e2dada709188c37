"""What a figure shows, as plain data: panels of lines, bars or points."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal


@dataclass(frozen=True)
class Line:
    """One series: a label, x and y, how far the error bars reach (above and below, or None).

    highlight: the method the experiment is about, drawn heavier. paper: from the paper, in grey.
    """

    label: str
    x: Sequence[float | str]
    y: Sequence[float]
    error: Sequence[float] | None = None
    highlight: bool = False
    paper: bool = False


@dataclass(frozen=True)
class Panel:
    """One pair of axes. kind: lines with markers, bars (x are names, series side by side), points.

    level: a horizontal line to compare with, with its label.
    """

    title: str
    x_label: str
    y_label: str
    lines: Sequence[Line]
    kind: Literal["lines", "bars", "points"] = "lines"
    log_x: bool = False
    log_y: bool = False
    level: tuple[float, str] | None = None


@dataclass(frozen=True)
class Figure:
    """Panels side by side under one title. name: the stem of its PNG and SVG files.

    timed: it shows measures of the clock, which no two runs share.
    """

    name: str
    title: str
    panels: Sequence[Panel]
    note: str = ""
    timed: bool = False
