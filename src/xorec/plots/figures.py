"""Figures as SVG and PNG (`plots.pictures`)."""

from __future__ import annotations

import importlib.util
import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from xorec.core.errors import MissingExtraError
from xorec.plots.panels import draw_panel
from xorec.plots.pictures import one_style, plain, png_bytes, svg_text
from xorec.plots.safe_text import map_text
from xorec.plots.scales import CHARACTER
from xorec.plots.series import Figure
from xorec.plots.series_style import SOFT, Style, styles_of

WIDTHS = {1: 6.4, 2: 9.4, 3: 10.6}
"""Inches, by the number of panels in a row."""
NARROW = 4.1
HEIGHT = 3.3
"""Inches, of one panel with its labels."""


@dataclass(frozen=True)
class Drawn:
    """A figure as text and as pixels, and once more as text with its panels below each other."""

    svg: str
    png: bytes
    narrow: str


def needs_plots() -> None:
    """Complain, before the run, if the drawing library is missing."""
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtraError("a report needs matplotlib: pip install 'xorec[reproduce]'.")


def draw(figure: Figure) -> Drawn:
    """The figure for wide pages and for files, and for narrow screens."""
    needs_plots()
    figure = map_text(figure, plain)
    with one_style():
        wide = _canvas(figure, columns(len(figure.panels)))
        narrow = wide if len(figure.panels) == 0 else _canvas(figure, 1, NARROW)
        return Drawn(
            svg_text(wide, figure.title),
            png_bytes(wide, figure.title),
            svg_text(narrow, figure.title),
        )


def columns(panels: int) -> int:
    """Panels side by side: up to three, and four as two by two."""
    return 2 if panels == 4 else min(3, max(1, panels))


def _canvas(figure: Figure, side_by_side: int, width: float | None = None) -> Any:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure as Canvas

    rows = max(1, math.ceil(len(figure.panels) / side_by_side))
    inches = WIDTHS[side_by_side] if width is None else width
    styles = styles_of(figure)
    labels = _labels(figure, styles)
    legend = _legend_columns(labels, inches)
    lines = math.ceil(len(labels) / legend) if len(labels) > 1 else 0
    height = rows * (HEIGHT if width is None else HEIGHT * 0.92) + 0.24 * lines
    canvas: Any = Canvas(figsize=(inches, height), layout="constrained")
    FigureCanvasAgg(canvas)
    canvas.get_layout_engine().set(w_pad=0.06, h_pad=0.09, wspace=0.03, hspace=0.05)
    axes = canvas.subplots(rows, side_by_side, squeeze=False).ravel()
    for axis, panel in zip(axes, figure.panels, strict=False):
        draw_panel(axis, panel, styles, inches / side_by_side - 0.75)
    for axis in axes[len(figure.panels) :]:
        axis.set_axis_off()
    if len(labels) > 1:
        _legend(canvas, axes, labels, legend)
    return canvas


def _labels(figure: Figure, styles: Mapping[str, Style]) -> list[str]:
    """What the legend names: the series, and the levels that bars are compared with."""
    bars = (panel for panel in figure.panels if panel.kind == "bars")
    levels = [panel.level[1] for panel in bars if panel.level is not None]
    return list(dict.fromkeys([*styles, *levels]))


def _legend_columns(labels: list[str], width: float) -> int:
    """As many as fit the width, and then as few as fill the same number of rows."""
    fit = next(
        (
            columns
            for columns in range(len(labels), 1, -1)
            if sum(
                0.62 + CHARACTER * max(map(len, labels[place::columns])) for place in range(columns)
            )
            <= width
        ),
        1,
    )
    return max(1, math.ceil(len(labels) / math.ceil(max(1, len(labels)) / fit)))


def _legend(canvas: Any, axes: Any, labels: list[str], columns: int) -> None:
    """Below the panels, where it hides nothing; read along the rows."""
    handles: dict[str, Any] = {}
    for axis in axes:
        for handle, label in zip(*axis.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    labels = [label for label in labels if label in handles]
    by_column = [label for place in range(columns) for label in labels[place::columns]]
    legend = canvas.legend(
        [handles[label] for label in by_column],
        by_column,
        loc="outside lower center",
        ncols=columns,
        frameon=False,
        handlelength=2.6,
        columnspacing=1.4,
        labelcolor=SOFT,
        markerscale=1.0,
    )
    for handle in legend.legend_handles:
        if hasattr(handle, "set_sizes"):
            handle.set_sizes([30])
            handle.set_alpha(1)
