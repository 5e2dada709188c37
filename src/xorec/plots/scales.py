"""The axes of a figure: plain numbers at the ticks, on straight and logarithmic scales."""

from __future__ import annotations

import math
import textwrap
from collections.abc import Sequence
from typing import Any

from xorec.plots.series import Panel

CHARACTER = 0.075
"""The width of a letter at a tick, in inches."""


def number(value: float) -> str:
    """A number as a person writes it: 0.001, 0.25, 17.7, 1,000, 25,000, 10M."""
    size = abs(value)
    if size >= 1e6:
        text = f"{value / 1e6:,.4g}M"
    elif size >= 100:
        text = f"{value:,.0f}"
    elif size == 0 or size >= 1e-4:
        text = f"{value:.3g}"
    else:
        text = f"{value:.10f}".rstrip("0")
    return text.replace("-", "\N{MINUS SIGN}")


def names_on(panel: Panel) -> list[float | str] | None:
    """What stands along x if it is names, not a scale: bars, words, or a zero where x is a log."""
    values: dict[float | str, None] = {}
    for line in panel.lines:
        values.update(dict.fromkeys(line.x))
    words = any(isinstance(value, str) for value in values)
    zero = panel.log_x and any(not isinstance(x, str) and x <= 0 for x in values)
    if panel.kind == "bars" or words or zero:
        return list(values) if panel.kind == "bars" or words else sorted(values, key=float)
    return None


def set_names(axis: Any, names: Sequence[float | str], width: float) -> None:
    """Name the places 0, 1, 2 .. of x; long names are broken, and if need be turned."""
    texts = [name if isinstance(name, str) else number(name) for name in names]
    step = max(1, math.ceil(len(texts) / max(1.0, width / 0.17)))
    room = max(1, int(width / max(1, len(texts)) / CHARACTER))
    broken = [textwrap.fill(text, max(room, 4), break_long_words=False) for text in texts]
    longest = max((len(part) for text in broken for part in text.split("\n")), default=0)
    axis.set_xticks(range(0, len(texts), step))
    if longest <= room and max((text.count("\n") for text in broken), default=0) <= 2:
        axis.set_xticklabels(broken[::step])
    else:
        short = [textwrap.shorten(text, 30, placeholder=" …") for text in texts]
        angle = 35 if width / max(1, len(texts)) > 0.3 else 90
        side = {"rotation": angle, "ha": "right" if angle == 35 else "center"}
        axis.set_xticklabels(short[::step], rotation_mode="anchor" if angle == 35 else None, **side)
    axis.set_xlim(-0.6, len(texts) - 0.4)
    axis.tick_params(axis="x", length=0)


def set_scale(axis: Any, side: str, log: bool) -> None:
    """Plain numbers along one side, `x` or `y`, once the data are drawn."""
    from matplotlib.ticker import FuncFormatter, LogLocator, MaxNLocator, NullFormatter

    scale = axis.xaxis if side == "x" else axis.yaxis
    if not log:
        scale.set_major_locator(MaxNLocator(nbins=6, steps=[1, 2, 2.5, 5, 10]))
        low, high = scale.get_view_interval()
        if max(abs(low), abs(high)) < 1000:
            scale.get_major_formatter().set_useOffset(False)
            scale.get_major_formatter().set_scientific(False)
        else:
            scale.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        return
    (axis.set_xscale if side == "x" else axis.set_yscale)("log")
    low, high = scale.get_view_interval()
    decades = math.log10(high / low) if 0 < low < high else 1.0
    marks = (1.0, 2.0, 5.0) if decades < 2.2 else (1.0,)
    scale.set_major_locator(LogLocator(base=10, subs=marks, numticks=12))
    scale.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    scale.set_minor_formatter(NullFormatter())


def mark_values(axis: Any, values: Sequence[float], width: float) -> None:
    """Ticks of x at the values themselves, where they are few and their numbers have room."""
    from matplotlib.ticker import FixedFormatter, FixedLocator, NullLocator

    places = sorted(set(values))
    if not 2 <= len(places) <= 12:
        return
    pixels = axis.transData.transform([(place, axis.get_ylim()[0]) for place in places])[:, 0]
    ends = axis.transData.transform([(end, axis.get_ylim()[0]) for end in axis.get_xlim()])[:, 0]
    inches = (pixels - ends[0]) / (ends[1] - ends[0]) * width
    texts = [number(place) for place in places]
    for place in range(1, len(places)):
        needed = CHARACTER * (len(texts[place]) + len(texts[place - 1]) + 2) / 2
        if inches[place] - inches[place - 1] < needed:
            return
    axis.xaxis.set_major_locator(FixedLocator(places))
    axis.xaxis.set_major_formatter(FixedFormatter(texts))
    axis.xaxis.set_minor_locator(NullLocator())
