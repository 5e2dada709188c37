"""The picture of the trade: how good lists are against bytes an item and microseconds a query."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from xorec.core.errors import OptionError
from xorec.core.paths import require_writable
from xorec.experiments.frontier.labels import Box, Surroundings, centre_box, place_labels
from xorec.experiments.frontier.points import Point, frontier
from xorec.experiments.pictures import (
    Picture,
    one_style,
    plain,
    png_bytes,
    require_matplotlib,
    svg_text,
)

INK, SOFT, GRID = "#222222", "#555555", "#e6e6e6"
LOOKS = {
    "shared-scores": ("one list for all", "X", "#777777"),
    "codes": ("codes", "o", "#0072b2"),
    "two-stage": ("codes, then finer", "D", "#d55e00"),
    "neighbours": ("item weights", "^", "#009e73"),
    "item-weights": ("all item weights", "v", "#009e73"),
    "vectors": ("vectors", "s", "#aa4499"),
}
"""By the kind of representation: what it is, marker, colour."""
OTHER = ("others", "P", "#999933")
AXES = (("bytes an item", "bytes_per_item"), ("microseconds a query", "us_per_query"))
_SIZE = (10.4, 4.7)
_MARK = 11.0
"""Pixels that a marker takes, with some room."""


def picture_files(path: Path) -> tuple[Path, Path]:
    """The PNG and the SVG at a path without an ending, or with one of these two; checked.

    Complains before a long run, not after it.
    """
    require_matplotlib()
    if path.suffix not in ("", ".png", ".svg") or not path.name:
        raise OptionError(
            f"the picture is {str(path)!r}: give a path without an ending, or one that ends in "
            ".png or .svg; both are written."
        )
    files = path.with_suffix(".png"), path.with_suffix(".svg")
    for file in files:
        require_writable(file)
    return files


def write_picture(files: tuple[Path, Path], picture: Picture) -> None:
    """The PNG and the SVG, each whole or not at all."""
    for file in files:
        picture.save(file)


def draw(points: Sequence[Point], value_name: str, title: str) -> Picture:
    """Two panels, costs on logarithmic axes; filled marks, and a line of steps, are not beaten."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with one_style():
        canvas: Any = Figure(figsize=_SIZE, layout="constrained")
        FigureCanvasAgg(canvas)
        canvas.suptitle(plain(title), fontsize=11.5, color=INK)
        panels = canvas.subplots(1, 2, sharey=True)
        for axis, (name, cost) in zip(panels, AXES, strict=True):
            _draw_panel(axis, [getattr(point, cost) for point in points], points, name)
        panels[0].set_ylabel(value_name)
        _legend(canvas, points)
        canvas.draw_without_rendering()
        canvas.set_layout_engine("none")
        for axis, (_, cost) in zip(panels, AXES, strict=True):
            _label(axis, [getattr(point, cost) for point in points], points)
        return Picture(svg_text(canvas, title), png_bytes(canvas, title))


def look_of(kind: str) -> tuple[str, str, str]:
    """What points of this kind are called, their marker and their colour."""
    return LOOKS.get(kind, OTHER)


def _draw_panel(axis: Any, costs: Sequence[float], points: Sequence[Point], name: str) -> None:
    from xorec.experiments.reproduce.report.scales import set_scale

    values = [point.value for point in points]
    best = frontier(costs, values)
    line = {"drawstyle": "steps-post", "color": INK, "linewidth": 1.1, "zorder": 2}
    axis.plot([costs[at] for at in best], [values[at] for at in best], **line)
    for at, point in enumerate(points):
        _, marker, colour = look_of(point.kind)
        fill = colour if at in best else "white"
        style = {"markersize": 7.5, "markerfacecolor": fill, "markeredgecolor": colour}
        axis.plot(costs[at], values[at], marker=marker, linestyle="", zorder=4, **style)
    spread = max(values) - min(values) or max(values) or 1.0
    axis.set_ylim(min(values) - 0.12 * spread, max(values) + 0.14 * spread)
    reach = max(2.0, max(costs) / min(costs)) ** 0.14
    axis.set_xlim(min(costs) / reach, max(costs) * reach)
    set_scale(axis, "x", log=True)
    axis.set_xlabel(name)
    axis.grid(which="major", color=GRID, linewidth=0.8)
    axis.set_axisbelow(True)
    axis.spines[["top", "right"]].set_visible(False)
    axis.tick_params(colors=SOFT)


def _legend(canvas: Any, points: Sequence[Point]) -> None:
    """What the markers stand for, and the line, below the panels."""
    from matplotlib.lines import Line2D

    looks = dict.fromkeys(look_of(point.kind) for point in points)
    handles: list[Any] = [
        Line2D([], [], marker=marker, color=colour, linestyle="", label=name)
        for name, marker, colour in looks
    ]
    handles.append(Line2D([], [], color=INK, linewidth=1.1, label="nothing better for less"))
    look = {"frameon": False, "handlelength": 1.4, "columnspacing": 1.6, "handletextpad": 0.5}
    canvas.legend(handles=handles, loc="outside lower center", ncols=len(handles), **look)


def _label(axis: Any, costs: Sequence[float], points: Sequence[Point]) -> None:
    """The names of the points, where they hide nothing; a thin line to those that are far."""
    values = [point.value for point in points]
    places = axis.transData.transform(np.column_stack([costs, values]))
    size = {"fontsize": 8.5, "color": INK, "ha": "center", "va": "center"}
    texts = [axis.text(0.5, 0.5, plain(point.label), **size) for point in points]
    boxes = [text.get_window_extent() for text in texts]
    for text in texts:
        text.remove()
    best = places[frontier(costs, values)]
    edge = axis.get_window_extent()
    around = Surroundings(
        Box(edge.x0 + 2, edge.y0 + 2, edge.x1 + 8, edge.y1 + 2),
        [centre_box(x, y, (_MARK, _MARK)) for x, y in places.tolist()],
        _steps(best.tolist()),
    )
    sizes = [(box.width + 4, box.height + 1) for box in boxes]
    points_per_pixel = 72 / axis.figure.dpi
    for point, at, box in zip(points, places, place_labels(places, sizes, around), strict=True):
        centre = np.array([box.left + box.right, box.low + box.high]) / 2
        far = not box.grown(13).meets(centre_box(at[0], at[1], (1, 1)))
        leader = {"arrowstyle": "-", "color": SOFT, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 4}
        axis.annotate(
            plain(point.label),
            axis.transData.inverted().transform(at),
            xytext=(centre - at) * points_per_pixel,
            textcoords="offset points",
            arrowprops=leader if far else None,
            zorder=5,
            **size,
        )


def _steps(best: Sequence[Sequence[float]]) -> list[Box]:
    """The line of steps as thin boxes: along, then up."""
    boxes: list[Box] = []
    for (x, y), (then_x, then_y) in pairwise(best):
        boxes += [Box(x, y - 1, then_x, y + 1), Box(then_x - 1, y, then_x + 1, then_y)]
    return boxes
