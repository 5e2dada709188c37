"""Figures of panels with lines, bars or points: what they show as plain data, and their drawing."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from xorec.plots.pictures import (
    GRID,
    INK,
    SOFT,
    Picture,
    canvas_of,
    number,
    one_style,
    picture_of,
    require_matplotlib,
    set_scale,
)

WIDTHS = {1: 6.4, 2: 9.4, 3: 10.6}
"""Inches, by the number of panels in a row."""
HEIGHT = 3.3
"""Inches, of one panel with its labels."""
DENSE = 40
"""A curve of more points has no markers."""
_PAPER = "#808080"
_HIGHLIGHTED = ("#0072b2", "#d55e00", INK)
_COLOURS = (
    *("#009e73", "#aa4499", "#e69f00", "#56b4e9", "#882255"),
    *("#999933", "#332288", "#cc6677", "#117733", "#44aa99"),
)
"""They keep apart for colour-blind eyes (after Okabe and Ito, and Tol)."""
_MARKERS = "s^vPX<>phd"
_DASHES: tuple[Any, ...] = ("--", ":", "-.", (0, (3, 1)), (0, (8, 2)))
_HATCHES = ("///", "...", "\\\\\\", "xxx", "---")


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


def draw(figure: Figure) -> Picture:
    """Up to three panels in a row (four as two by two), and one legend below them."""
    require_matplotlib()
    count = max(1, len(figure.panels))
    columns = 2 if count == 4 else min(3, count)
    rows = math.ceil(count / columns)
    with one_style():
        styles = _styles(figure)
        canvas = canvas_of(WIDTHS[columns], rows * HEIGHT)
        axes = canvas.subplots(rows, columns, squeeze=False).ravel()
        handles: dict[str, Any] = {}
        for axis, panel in zip(axes, figure.panels, strict=False):
            _draw_panel(axis, panel, styles)
            for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
                handles.setdefault(label, handle)
        for axis in axes[len(figure.panels) :]:
            axis.set_axis_off()
        if len(handles) > 1:
            wide = max(map(len, handles)) * 0.08 + 0.7
            columns = max(1, min(len(handles), int(WIDTHS[columns] / wide)))
            where = {"loc": "outside lower center", "ncols": columns, "frameon": False}
            canvas.legend(list(handles.values()), list(handles), handlelength=2.6, **where)
        return picture_of(canvas, figure.title)


def _styles(figure: Figure) -> dict[str, dict[str, Any]]:
    """The look of each label, the same in all panels; series stay apart in grey, too.

    Highlighted series have the first colours, whatever their rank among the others.
    """
    first: dict[str, Line] = {}
    for panel in figure.panels:
        for line in panel.lines:
            first.setdefault(line.label, line)
    counts = {"own": 0, "paper": 0, "other": 0}
    highlighted = any(line.highlight for line in first.values())
    colours = _COLOURS if highlighted else (_HIGHLIGHTED[0], *_COLOURS)
    found = {}
    for label, line in first.items():
        kind = "paper" if line.paper else "own" if line.highlight else "other"
        at = counts[kind]
        counts[kind] += 1
        if kind == "own":
            look = {"color": _HIGHLIGHTED[at % 3], "marker": "oD8"[at % 3], "linestyle": "-"}
            found[label] = {**look, "hatch": "", "linewidth": 2.4, "zorder": 5}
            continue
        colour = _PAPER if kind == "paper" else colours[at % len(colours)]
        look = {"color": colour, "marker": _MARKERS[at % 10], "linestyle": _DASHES[at % 5]}
        found[label] = {**look, "hatch": _HATCHES[at % 5], "linewidth": 1.4, "zorder": 4}
    return found


def names_on(panel: Panel) -> list[float | str] | None:
    """What stands along x if it is names, not a scale: bars, words, or a zero where x is a log."""
    values = dict.fromkeys(value for line in panel.lines for value in line.x)
    if panel.kind == "bars" or any(isinstance(value, str) for value in values):
        return list(values)
    if panel.log_x and any(float(value) <= 0 for value in values):
        return sorted(values, key=float)
    return None


def _draw_panel(axis: Any, panel: Panel, styles: Mapping[str, Mapping[str, Any]]) -> None:
    names = names_on(panel)
    for at, line in enumerate(panel.lines):
        x = [float(names.index(value)) if names else float(value) for value in line.x]
        look = dict(styles[line.label])
        hatch, order = look.pop("hatch"), look["zorder"]
        if panel.kind == "bars":
            width = 0.8 / len(panel.lines)
            x = [one + (at + 0.5) * width - 0.4 for one in x]
            paint = {"color": look["color"], "hatch": hatch, "edgecolor": "white", "linewidth": 0}
            bars = axis.bar(x, line.y, width=0.94 * width, label=line.label, zorder=2, **paint)
            axis.bar_label(bars, list(map(number, line.y)), padding=3, fontsize=8.5, color=SOFT)
        elif panel.kind == "points":
            look = {"color": look["color"], "marker": look["marker"], "linewidths": 0}
            axis.scatter(x, line.y, s=30, alpha=0.8, label=line.label, zorder=order, **look)
        else:
            look["marker"] = look["marker"] if len(x) <= DENSE else ""
            axis.plot(x, line.y, label=line.label, markersize=5.5, **look)
        if line.error is not None:
            caps = {"ecolor": look["color"], "elinewidth": 0.9, "capsize": 2.5}
            axis.errorbar(x, line.y, line.error, fmt="none", zorder=order, **caps)
    values = [y for line in panel.lines for y in line.y]
    if not values:
        axis.text(0.5, 0.5, "no data", transform=axis.transAxes, ha="center", color=SOFT)
    set_scale(axis, "y", log=panel.log_y and any(y > 0 for y in values))
    if names is None:
        set_scale(axis, "x", log=panel.log_x)
    else:
        texts = [name if isinstance(name, str) else number(name) for name in names]
        turned = {"rotation": 30, "ha": "right"} if sum(map(len, texts)) > 50 else {}
        axis.set_xticks(range(len(texts)), texts, **turned)
    if panel.kind == "points" and min(values, default=0) < 0 < max(values, default=0):
        axis.axhline(0, color=SOFT, linewidth=0.9)
    if panel.level is not None:
        level, label = panel.level
        axis.axhline(level, color=SOFT, linewidth=1.1, linestyle=(0, (2, 2)), label=label)
    axis.set_title(panel.title, loc="left", fontweight="bold", color=INK)
    axis.set_xlabel(panel.x_label, color=INK)
    axis.set_ylabel(panel.y_label, color=INK)
    axis.grid(which="major", axis="both" if names is None else "y", color=GRID, linewidth=0.8)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(colors=SOFT, which="both")
