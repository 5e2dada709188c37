"""Pictures of comparisons: what a bit buys, and how good lists are against what they cost."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.errors import OptionError
from xorec.core.paths import require_writable
from xorec.evaluation.metrics import heading
from xorec.plots.figures import Figure, Line, Panel
from xorec.plots.figures import draw as draw_figure
from xorec.plots.pictures import (
    GRID,
    INK,
    SOFT,
    Picture,
    canvas_of,
    one_style,
    picture_of,
    require_matplotlib,
    set_scale,
)


def bits(compared: Iterable[Any], *, metric: str = "ndcg@10", title: str = "") -> Picture:
    """A metric against the length of codes, a line for each model of codes.

    compared: what `compare_models(data, models, bits=...)` gives, or the rows of `xorec compare
    --bits 16,32,64 --json`. The best of the rows without codes is a level to compare with.

    >>> import xorec
    >>> rows = [{"model": "dsiml", "bits": n, "ndcg@10": n / 200} for n in (16, 32, 64)]
    >>> "dsiml" in xorec.plots.bits(rows).svg
    True
    """
    require_matplotlib()
    rows = rows_of(compared, "model", metric)
    coded = [row for row in rows if row.get("bits") is not None]
    if not coded:
        raise OptionError("no row has bits: compare models of codes, such as dsiml, with bits=.")
    lines = []
    for name in dict.fromkeys(str(row["model"]) for row in coded):
        best: dict[int, float] = {}
        for row in coded:
            if row["model"] == name:
                best[row["bits"]] = max(float(row[metric]), best.get(row["bits"], float("-inf")))
        lines.append(Line(name, sorted(best), [best[one] for one in sorted(best)]))
    others = [(float(row[metric]), str(row["model"])) for row in rows if row.get("bits") is None]
    title = title or (f"{heading(metric)} of {lines[0].label}" if len(lines) == 1 else "")
    panel = Panel(title, "bits", heading(metric), lines, level=max(others, default=None))
    return draw_figure(Figure("bits", title or "What a bit buys", [panel]))


def frontier(compared: Iterable[Any], *, metric: str = "ndcg@10", title: str = "") -> Picture:
    """How good lists are, against bytes an item and against microseconds a query.

    compared: what `compare_models` gives, or the rows of `xorec compare --json`. Filled marks, and
    the line of steps, are those that nothing beats for less.

    >>> from xorec import plots
    >>> cheap = {"label": "dsiml 64", "kind": "codes", "bytes_per_item": 25, "us_per_query": 12}
    >>> dear = {"label": "slim", "kind": "neighbours", "bytes_per_item": 300, "us_per_query": 40}
    >>> picture = plots.frontier([{**cheap, "ndcg@10": 0.31}, {**dear, "ndcg@10": 0.42}])
    >>> "dsiml 64" in picture.svg
    True
    """
    require_matplotlib()
    rows = rows_of(compared, "label", metric, "bytes_per_item", "us_per_query")
    points = [
        Point(
            str(row["label"]),
            str(row.get("kind", "")),
            float(row[metric]),
            float(row["bytes_per_item"]),
            float(row["us_per_query"]),
        )
        for row in rows
    ]
    return draw_points(points, heading(metric), title or f"{heading(metric)} against what it costs")


def rows_of(compared: Iterable[Any], *needed: str) -> list[Mapping[str, Any]]:
    """Flat rows that have the columns `needed`.

    >>> rows_of([{"model": "bpr", "ndcg@10": 0.1}], "ndcg@10")
    [{'model': 'bpr', 'ndcg@10': 0.1}]
    """
    rows = [one if isinstance(one, Mapping) else one.row() for one in compared]
    if not rows:
        raise OptionError("there is nothing to draw: give at least one row of a comparison.")
    for row in rows:
        for name in needed:
            if name not in row:
                known = ", ".join(map(str, row))
                raise OptionError(f"a row has no {name!r}: it has {known}.")
    return rows


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


class Point(NamedTuple):
    """A row of a comparison; kind: of its representation."""

    label: str
    kind: str
    value: float
    bytes_per_item: float
    us_per_query: float


def unbeaten(costs: Sequence[float], values: Sequence[float]) -> list[int]:
    """Positions of the points that no other beats, the cheapest first: better than all that cost
    no more.

    >>> unbeaten([1.0, 2.0, 2.0, 3.0], [0.1, 0.3, 0.2, 0.3])
    [0, 1]
    """
    order = sorted(range(len(costs)), key=lambda at: (costs[at], -values[at]))
    best: list[int] = []
    for at in order:
        if not best or values[at] > values[best[-1]]:
            best.append(at)
    return best


Boxes = npt.NDArray[np.float64]
"""Rectangles (n, 4): left, low, right and high, in pixels."""
_DIRECTIONS = np.array([(1, 0), (-1, 0), (0, 1), (0, -1), (1, 1), (-1, 1), (1, -1), (-1, -1)])
_DISTANCES = np.array([7.0, 14.0, 24.0, 36.0, 50.0, 70.0])
_ROUNDS = 6
_FORBIDDEN, _ON_A_LINE = 1000.0, 25.0


def boxes_around(centres: Any, sizes: Any) -> Boxes:
    """Rectangles of (width, height) around centres (n, 2)."""
    centres, half = np.asarray(centres, np.float64), np.asarray(sizes) / 2
    return np.hstack([centres - half, centres + half])


def meetings(boxes: Boxes, others: Boxes) -> npt.NDArray[np.int64]:
    """How many of the others have an area in common with each of the boxes.

    >>> meetings(np.array([[0, 0, 2, 2.0]]), np.array([[1, 1, 3, 3], [2, 0, 3, 2.0]])).tolist()
    [1]
    """
    below = (boxes[:, None, :2] < others[:, 2:]) & (others[:, :2] < boxes[:, None, 2:])
    return np.asarray(below.all(axis=2).sum(axis=1))


def place_labels(
    points: npt.NDArray[np.float64],
    sizes: npt.NDArray[np.float64],
    area: npt.NDArray[np.float64],
    marks: Boxes,
    lines: Boxes,
) -> Boxes:
    """A box for the label of each point: the nearest that is free, better ones in some rounds.

    points, sizes: (n, 2), sizes of the labels. They stay inside the area, and clear of marks, of
    each other and, where that is possible, of lines.
    """
    placed = np.empty((0, 4))
    for _ in range(_ROUNDS):
        before = placed
        for at, (point, size) in enumerate(zip(points, sizes, strict=True)):
            away = _DIRECTIONS * (_DISTANCES[:, None, None] + size / 2)
            choice = boxes_around(point + away.reshape(-1, 2), size)
            others = np.concatenate([placed[:at], placed[at + 1 :]])
            outside = (choice[:, :2] < area[:2]) | (choice[:, 2:] > area[2:])
            bad = meetings(choice, marks) + meetings(choice, others) + outside.any(axis=1)
            cost = _FORBIDDEN * bad + _ON_A_LINE * meetings(choice, lines)
            best = choice[np.argmin(cost + np.repeat(_DISTANCES, len(_DIRECTIONS)))]
            placed = np.concatenate([placed[:at], [best], placed[at + 1 :]])
        if np.array_equal(placed, before):
            break
    return placed


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


def draw_points(points: Sequence[Point], value_name: str, title: str) -> Picture:
    """Two panels, costs on logarithmic axes; filled marks, and a line of steps, are not beaten."""
    with one_style():
        canvas = canvas_of(*_SIZE)
        canvas.suptitle(title, fontsize=11.5, color=INK)
        panels = canvas.subplots(1, 2, sharey=True)
        for axis, (name, cost) in zip(panels, AXES, strict=True):
            _draw_panel(axis, [getattr(point, cost) for point in points], points, name)
        panels[0].set_ylabel(value_name)
        _legend(canvas, points)
        canvas.draw_without_rendering()
        canvas.set_layout_engine("none")
        for axis, (_, cost) in zip(panels, AXES, strict=True):
            _label(axis, [getattr(point, cost) for point in points], points)
        return picture_of(canvas, title)


def look_of(kind: str) -> tuple[str, str, str]:
    """What points of this kind are called, their marker and their colour."""
    return LOOKS.get(kind, OTHER)


def _draw_panel(axis: Any, costs: Sequence[float], points: Sequence[Point], name: str) -> None:
    values = [point.value for point in points]
    best = unbeaten(costs, values)
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
    pixels = axis.transData.transform(np.column_stack([costs, values]))
    style = {"fontsize": 8.5, "color": INK, "ha": "center", "va": "center"}
    texts = [axis.text(0.5, 0.5, point.label, **style) for point in points]
    extents = [text.get_window_extent() for text in texts]
    for text in texts:
        text.remove()
    sizes = np.array([(one.width + 4, one.height + 1) for one in extents])
    edge, best = axis.get_window_extent(), pixels[unbeaten(costs, values)]
    area = np.array([edge.x0 + 2, edge.y0 + 2, edge.x1 + 8, edge.y1 + 2])
    boxes = place_labels(pixels, sizes, area, boxes_around(pixels, (_MARK, _MARK)), _steps(best))
    reach = boxes + np.array([-13, -13, 13, 13])
    leader = {"arrowstyle": "-", "color": SOFT, "linewidth": 0.6, "shrinkA": 0, "shrinkB": 4}
    for point, at, box, wide in zip(points, pixels, boxes, reach, strict=True):
        near = meetings(wide[None], boxes_around(at[None], (1, 1)))[0]
        axis.annotate(
            point.label,
            axis.transData.inverted().transform(at),
            xytext=((box[:2] + box[2:]) / 2 - at) * 72 / axis.figure.dpi,
            textcoords="offset points",
            arrowprops=None if near else leader,
            zorder=5,
            **style,
        )


def _steps(best: npt.NDArray[np.float64]) -> Boxes:
    """The line of steps as thin boxes: along, then up."""
    (x, y), (then_x, then_y) = best[:-1].T, best[1:].T
    along, up = (x, y - 1, then_x, y + 1), (then_x - 1, y, then_x + 1, then_y)
    return np.concatenate([np.column_stack(along), np.column_stack(up)])
