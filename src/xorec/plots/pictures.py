"""Pictures as SVG and PNG. Equal input, equal bytes: no dates, no random ids, one font."""

from __future__ import annotations

import importlib.util
import io
import math
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Literal, NamedTuple

from xorec.core.errors import MissingExtraError, OptionError
from xorec.core.files import replacing

INK, SOFT, GRID = "#222222", "#555555", "#e6e6e6"
FONTS = "-apple-system, BlinkMacSystemFont, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
"""The letters of the SVG: those of the reader's machine. DejaVu, which is wider, lays out."""
SETTINGS: dict[str, Any] = {
    "svg.hashsalt": "xorec",
    "svg.fonttype": "none",
    "font.family": "DejaVu Sans",
    "font.size": 9.5,
    "axes.titlesize": 10.5,
    "axes.labelsize": 9.5,
    "xtick.labelsize": 9,
    "ytick.labelsize": 9,
    "legend.fontsize": 9.5,
    "hatch.linewidth": 0.6,
    "text.parse_math": False,  # a dollar in a name is a dollar
    "savefig.dpi": 160,
}


class Picture(NamedTuple):
    """A drawing as text and as pixels; a notebook shows it.

    >>> Picture("<svg/>", b"...").svg
    '<svg/>'
    """

    svg: str
    png: bytes

    def save(self, path: str | Path) -> None:
        """Write it, whole or not at all; the name ends in .svg or .png.

        >>> import tempfile
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     Picture("<svg/>", b"...").save(f"{folder}/trade.svg")
        ...     Path(f"{folder}/trade.svg").read_text()
        '<svg/>'
        """
        content = {".svg": self.svg.encode(), ".png": self.png}.get(Path(path).suffix.lower())
        if content is None:
            raise OptionError(
                f"the picture is {str(path)!r}: give a name that ends in .svg or .png."
            )
        with replacing(Path(path)) as temporary:
            temporary.write_bytes(content)

    def _repr_png_(self) -> bytes:
        return self.png


def require_matplotlib(what: str = "the picture") -> None:
    """Complain if the drawing library is missing."""
    if importlib.util.find_spec("matplotlib") is None:
        raise MissingExtraError(f"{what} needs matplotlib: pip install 'xorec[plots]'.")


@contextmanager
def one_style() -> Iterator[None]:
    """What is drawn inside looks the same on every machine, with any settings of its user."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        yield


def canvas_of(width: float, height: float) -> Any:
    """An empty figure of matplotlib, in inches, without a window."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    canvas = Figure(figsize=(width, height), layout="constrained")
    FigureCanvasAgg(canvas)
    return canvas


def picture_of(canvas: Any, title: str) -> Picture:
    """The drawing as SVG and as PNG, without dates and names of programs."""
    text, pixels = io.StringIO(), io.BytesIO()
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    canvas.savefig(text, format="svg", metadata={**nothing, "Title": title})
    canvas.savefig(pixels, format="png", metadata={"Software": None, "Title": title})
    idle = r"<!DOCTYPE.*?>\s*|<metadata>.*?</metadata>\s*"
    svg = re.sub(idle, "", text.getvalue(), flags=re.DOTALL)
    return Picture(svg.replace("'DejaVu Sans'", FONTS), pixels.getvalue())


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


def set_scale(axis: Any, side: Literal["x", "y"], *, log: bool) -> None:
    """Plain numbers along one side, once the data are drawn: 1, 2, 5 of few decades."""
    from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

    scale = axis.xaxis if side == "x" else axis.yaxis
    if not log:
        scale.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.10g}"))
        return
    axis.set(**{f"{side}scale": "log"})
    low, high = scale.get_view_interval()
    decades = math.log10(high / low) if 0 < low < high else 1.0
    marks = (1.0, 2.0, 5.0) if decades < 2.2 else (1.0,)
    scale.set_major_locator(LogLocator(base=10, subs=marks, numticks=12))
    scale.set_major_formatter(FuncFormatter(lambda value, _: number(value)))
    scale.set_minor_formatter(NullFormatter())
