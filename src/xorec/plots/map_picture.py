"""The map of a model's items as a picture: each a dot, those that many users have above others."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from xorec.core.errors import OptionError
from xorec.plots.pictures import (
    Picture,
    one_style,
    plain,
    png_bytes,
    require_matplotlib,
    svg_text,
)
from xorec.recommender.layout.item_map import LARGEST, layout_of, principal_places
from xorec.recommender.recommender import Recommender


def require_png(path: Path) -> None:
    """Refuse what cannot be drawn, before anything is computed."""
    if path.suffix.lower() != ".png":
        raise OptionError(f"the plot is {path}: give a name that ends in .png.")
    require_matplotlib("the plot")


def write_map(recommender: Recommender, path: Path) -> None:
    """The picture, whole or not at all. Equal models, equal bytes."""
    draw_map(recommender).save(path)


def draw_map(recommender: Recommender) -> Picture:
    """The items where `xorec map` has put them, else by principal components."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    found = recommender.places
    laid = principal_places(recommender) if found is None else found
    order = np.argsort(recommender.prior, kind="stable")
    places, counts = laid[order], recommender.prior[order]
    title = f"{len(order):,} items of {recommender.metadata.get('model', 'a model')}"
    with one_style():
        canvas: Any = Figure(figsize=(7, 6), layout="constrained")
        FigureCanvasAgg(canvas)
        axis = canvas.subplots()
        size = max(0.4, min(14.0, 60_000 / max(1, len(order))))
        look = {"s": size, "linewidths": 0, "rasterized": True}  # an SVG of a million dots is none
        dots = axis.scatter(
            places[:, 0], places[:, 1], c=np.log10(counts + 1.0), cmap="viridis", **look
        )
        axis.set_xlim(-1.04 * LARGEST, 1.04 * LARGEST)
        axis.set_ylim(-1.04 * LARGEST, 1.04 * LARGEST)
        axis.set_aspect("equal")
        axis.set_axis_off()
        axis.set_title(plain(f"{title}, layout {layout_of(recommender) or 'pca'}"))
        canvas.colorbar(dots, ax=axis, shrink=0.6, label="log10 of users + 1")
        return Picture(svg_text(canvas, title), png_bytes(canvas, title))
