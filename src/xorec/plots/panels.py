"""One pair of axes of a figure: lines, bars or points."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from xorec.plots.scales import (
    mark_values,
    names_on,
    number,
    set_names,
    set_scale,
)
from xorec.plots.series import Line, Panel
from xorec.plots.series_style import GRID, INK, SOFT, Style

BAND_FROM = 5
"""A curve of this many points shows its error as a band, a shorter one as bars with caps."""
DENSE = 40
"""A curve of more points has no markers."""


def draw_panel(axis: Any, panel: Panel, styles: Mapping[str, Style], width: float) -> None:
    """Draw the panel. width: what it has, in inches."""
    names = names_on(panel)
    if panel.kind == "bars":
        _bars(axis, panel, styles, list(names or []), width)
    else:
        for line in panel.lines:
            x = line.x if names is None else [names.index(value) for value in line.x]
            draw = _points if panel.kind == "points" else _curve
            draw(axis, line, [float(value) for value in x], styles[line.label])
    if not any(len(line.x) for line in panel.lines):
        middle = {"transform": axis.transAxes, "ha": "center", "va": "center", "color": SOFT}
        axis.text(0.5, 0.5, "no data", **middle)
    set_scale(axis, "y", panel.log_y and _any_above_zero(panel))
    if names is None:
        set_scale(axis, "x", panel.log_x)
        if panel.kind == "lines":
            mark_values(axis, [float(x) for line in panel.lines for x in line.x], width)
    else:
        set_names(axis, names, width)
    _zero(axis, panel)
    if panel.level is not None:
        _level(axis, panel, *panel.level)
    _dress(axis, panel, names is not None)


def _dress(axis: Any, panel: Panel, named: bool) -> None:
    if panel.title:
        axis.set_title(panel.title, loc="left", fontweight="bold", color=INK)
    axis.set_xlabel(panel.x_label, color=INK)
    axis.set_ylabel(panel.y_label, color=INK)
    axis.grid(which="major", axis="y" if named else "both", color=GRID, linewidth=0.8)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    axis.spines[["left", "bottom"]].set_color("#999999")
    axis.tick_params(colors=SOFT, which="both")


def _curve(axis: Any, line: Line, x: Sequence[float], style: Style) -> None:
    look = {"color": style.colour, "linestyle": style.dash, "linewidth": style.width}
    marker = {
        "marker": style.marker if len(x) <= DENSE else "",
        "markersize": 7.0 if line.highlight else 5.0,
        "markerfacecolor": "white" if line.paper else style.colour,
        "markeredgecolor": "white" if line.highlight else style.colour,
        "markeredgewidth": 0.6,
        "markevery": max(1, math.ceil(len(x) / 14)),
    }
    axis.plot(x, line.y, label=line.label, zorder=style.order, **look, **marker)
    if line.error is None:
        return
    if len(x) >= BAND_FROM:
        low = [y - error for y, error in zip(line.y, line.error, strict=True)]
        high = [y + error for y, error in zip(line.y, line.error, strict=True)]
        axis.fill_between(x, low, high, color=style.colour, alpha=0.15, linewidth=0, zorder=2)
    else:
        axis.errorbar(x, line.y, line.error, fmt="none", zorder=style.order, **_caps(style.colour))


def _points(axis: Any, line: Line, x: Sequence[float], style: Style) -> None:
    many = len(x) > 60
    if line.error is not None and not many:
        axis.errorbar(x, line.y, line.error, fmt="none", zorder=2, **_caps(style.colour))
    axis.scatter(
        x,
        line.y,
        s=16 if many else 34,
        marker=style.marker,
        color=style.colour,
        alpha=0.6 if many else 0.9,
        linewidths=0,
        label=line.label,
        zorder=style.order,
    )


def _bars(
    axis: Any,
    panel: Panel,
    styles: Mapping[str, Style],
    names: list[float | str],
    width: float,
) -> None:
    """Groups of bars side by side, with their values on top where there is room."""
    each = 0.8 / max(1, len(panel.lines))
    roomy = width / max(1.0, len(names) * (len(panel.lines) + 0.25)) >= 0.36
    for place, line in enumerate(panel.lines):
        style = styles[line.label]
        x = [names.index(name) + (place + 0.5) * each - 0.4 for name in line.x]
        axis.bar(
            x,
            line.y,
            width=each * 0.94,
            color=style.colour,
            alpha=0.55 if line.paper else 1.0,
            hatch=style.hatch,
            edgecolor="white",
            linewidth=0,
            label=line.label,
            zorder=2,
        )
        if line.error is not None:
            axis.errorbar(x, line.y, line.error, fmt="none", zorder=3, **_caps(INK))
        if roomy:
            reach = line.error or [0.0] * len(x)
            for left, y, error in zip(x, line.y, reach, strict=True):
                _value(axis, left, y, 0.0 if math.isnan(error) else error)
    if any(y < 0 for line in panel.lines for y in line.y):
        axis.axhline(0, color=SOFT, linewidth=0.8, zorder=3)
    heights = [y for line in panel.lines for y in line.y if y > 0]
    if panel.log_y and heights:
        low = 10 ** math.floor(math.log10(min(heights) / 1.5))
        axis.set_yscale("log")
        axis.set_ylim(low, max(heights) * (max(heights) / low) ** 0.1)
    else:
        axis.margins(y=0.12)


def _value(axis: Any, x: float, y: float, error: float) -> None:
    if math.isnan(y):
        return
    down = y < 0
    axis.annotate(
        number(y),
        (x, y - error if down else y + error),
        xytext=(0, -3 if down else 3),
        textcoords="offset points",
        ha="center",
        va="top" if down else "bottom",
        fontsize=8.5,
        color=SOFT,
    )


def _caps(colour: str) -> dict[str, Any]:
    return {"ecolor": colour, "elinewidth": 0.9, "capsize": 2.5, "capthick": 0.9}


def _any_above_zero(panel: Panel) -> bool:
    return any(y > 0 for line in panel.lines for y in line.y)


def _zero(axis: Any, panel: Panel) -> None:
    """A line at zero where points lie on both sides of it."""
    low, high = axis.get_ylim()
    if panel.kind == "points" and low < 0 < high:
        axis.axhline(0, color=SOFT, linewidth=0.9, zorder=2.5)


def _level(axis: Any, panel: Panel, level: float, label: str) -> None:
    """The line to compare with, and its label at that end which has fewer data in its way.

    Among bars no end is free, so there it stands in the legend.
    """
    bars = panel.kind == "bars"
    look = {"color": SOFT, "linewidth": 1.1, "linestyle": (0, (2, 2))}
    axis.axhline(level, zorder=2.5, label=label if bars else None, **look)
    if bars:
        return
    to_share = axis.transAxes.inverted().transform
    shares = [
        to_share(axis.transData.transform((place, y)))
        for line in panel.lines
        for place, y in zip(_places(axis, panel, line), line.y, strict=True)
        if not math.isnan(y) and (y > 0 or not panel.log_y)
    ]
    height = to_share(axis.transData.transform((axis.get_xlim()[0], level)))[1]
    near = [share[0] for share in shares if height - 0.02 < share[1] < height + 0.1]
    left = sum(place < 0.5 for place in near) < sum(place >= 0.5 for place in near)
    axis.annotate(
        label,
        (0.01 if left else 0.99, level),
        xycoords=("axes fraction", "data"),
        xytext=(0, 2),
        textcoords="offset points",
        ha="left" if left else "right",
        va="bottom",
        fontsize=8.5,
        color=SOFT,
        zorder=6,
        bbox={"facecolor": "white", "alpha": 0.75, "edgecolor": "none", "pad": 0.6},
    )


def _places(axis: Any, panel: Panel, line: Line) -> list[float]:
    names = names_on(panel)
    return [float(x) if names is None else float(names.index(x)) for x in line.x]
