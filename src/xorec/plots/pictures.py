"""Pictures as SVG and PNG. Equal input, equal bytes: no dates, no random ids, one font."""

from __future__ import annotations

import importlib.util
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from xorec.core.errors import MissingExtraError, OptionError
from xorec.core.files import replacing

FONTS = "-apple-system, BlinkMacSystemFont, 'Segoe UI', Roboto, 'Helvetica Neue', Arial, sans-serif"
"""The letters of the SVG: whatever the reader's machine has. DejaVu, which is wider, lays out."""

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
    "axes.unicode_minus": True,
    "text.usetex": False,
    "path.simplify": True,
    "figure.dpi": 100,
    "savefig.dpi": 160,
    "savefig.bbox": None,
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
    """Whatever is drawn inside looks the same on every machine, whatever its own settings are."""
    import matplotlib

    with matplotlib.rc_context():
        matplotlib.rcdefaults()
        matplotlib.rcParams.update(SETTINGS)
        yield


def plain(text: str) -> str:
    r"""The text as it is: a dollar would begin a formula.

    >>> print(plain("5 $ off"))
    5 \$ off
    """
    return text.replace("$", r"\$")


def svg_text(canvas: Any, title: str) -> str:
    """The drawing as SVG."""
    nothing = dict.fromkeys(("Date", "Creator", "Format", "Type"))
    buffer = io.StringIO()
    canvas.savefig(buffer, format="svg", metadata={**nothing, "Title": title})
    idle = r"<!DOCTYPE.*?>\s*|<metadata>.*?</metadata>\s*"
    text = re.sub(idle, "", buffer.getvalue(), flags=re.DOTALL)
    return text.replace("'DejaVu Sans'", FONTS)


def png_bytes(canvas: Any, title: str) -> bytes:
    """The drawing as PNG."""
    buffer = io.BytesIO()
    canvas.savefig(buffer, format="png", metadata={"Software": None, "Title": title})
    return buffer.getvalue()
