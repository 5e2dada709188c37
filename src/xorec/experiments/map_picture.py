"""The map of a model's items as a picture: each a dot, those that many users have above others."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from xorec.core.errors import MissingExtraError, OptionError
from xorec.core.files import replacing
from xorec.experiments.pictures import one_style, plain, png_bytes
from xorec.recommender.layout.item_map import LARGEST, layout_of
from xorec.recommender.recommender import Recommender


def require_png(path: Path) -> None:
    """Refuse what cannot be drawn, before anything is computed."""
    if path.suffix.lower() != ".png":
        raise OptionError(f"the plot is {path}: give a name that ends in .png.")
    if find_spec("matplotlib") is None:
        raise MissingExtraError("the plot needs matplotlib: pip install 'xorec[plots]'.")


def write_map(recommender: Recommender, path: Path) -> None:
    """The picture, whole or not at all. Equal models, equal bytes."""
    content = _draw(recommender)
    with replacing(path) as temporary:
        temporary.write_bytes(content)


def _draw(recommender: Recommender) -> bytes:
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    assert recommender.places is not None
    order = np.argsort(recommender.prior, kind="stable")
    places, counts = recommender.places[order], recommender.prior[order]
    title = f"{len(order):,} items of {recommender.metadata.get('model', 'a model')}"
    with one_style():
        canvas: Any = Figure(figsize=(7, 6), layout="constrained")
        FigureCanvasAgg(canvas)
        axis = canvas.subplots()
        look = {"s": max(0.4, min(14.0, 60_000 / max(1, len(order)))), "linewidths": 0}
        dots = axis.scatter(
            places[:, 0], places[:, 1], c=np.log10(counts + 1.0), cmap="viridis", **look
        )
        axis.set_xlim(-1.04 * LARGEST, 1.04 * LARGEST)
        axis.set_ylim(-1.04 * LARGEST, 1.04 * LARGEST)
        axis.set_aspect("equal")
        axis.set_axis_off()
        axis.set_title(plain(f"{title}, layout {layout_of(recommender)}"))
        canvas.colorbar(dots, ax=axis, shrink=0.6, label="log10 of users + 1")
        return png_bytes(canvas, title)
