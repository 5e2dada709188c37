"""Pictures of one model: its training, the distances of its codes, the map of its items."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.errors import OptionError
from xorec.plots.figures import Figure, Line, Panel, draw
from xorec.plots.pictures import Picture, canvas_of, one_style, picture_of, require_matplotlib
from xorec.recommender.item_map import LARGEST, layout_of, principal_places
from xorec.recommender.recommender import Recommender

_PAIRS = 100_000


def training_curves(*models: Any, title: str = "") -> Picture:
    """The loss of each epoch, and the validation metric where there was a validation part.

    models: fitted ones that learn by epochs (`history_`). Losses of different models are not
    comparable, so look at each line by itself; validation figures are.

    >>> import xorec
    >>> pairs = [(user, item) for user in range(20) for item in range(user % 4, 24, 4)]
    >>> model = xorec.BPR(epochs=3, dimensions=4).fit(pairs)
    >>> "epoch" in xorec.plots.training_curves(model).svg
    True
    """
    require_matplotlib()
    silent = [model.name for model in models if not model.history_]
    if silent or not models:
        raise OptionError(
            f"{', '.join(silent) or 'nothing'} has no epochs to show: give fitted models that "
            "learn by epochs, such as bpr or siml."
        )
    columns = dict.fromkeys(name for model in models for row in model.history_ for name in row)
    title = title or (models[0].name if len(models) == 1 else "")
    panels = []
    for name in (one for one in columns if one != "epoch"):
        lines = [_history_line(model, name, len(models)) for model in models]
        panels.append(Panel(title, "epoch", name.replace("_", " "), lines))
    return draw(Figure("training", title or "Training", panels))


def _history_line(model: Any, name: str, of: int) -> Line:
    """A line; where there are several models, named with the length of its rows."""
    rows = [row for row in model.history_ if name in row]
    size = getattr(model.config, "dimensions", None) if of > 1 else None
    label = model.name if size is None else f"{model.name} {size}"
    return Line(label, [row["epoch"] for row in rows], [row[name] for row in rows])


def distances(shop: Recommender, *, title: str = "", seed: int = 0) -> Picture:
    """How far users are from what they have, and from anything, by Hamming distance.

    shop: a recommender of codes (`dsiml`, `signs`, ...). The further apart the two curves, the more
    the codes know. Shares of at most 100,000 pairs each, drawn with the seed.

    >>> import xorec
    >>> pairs = [(user, item) for user in range(20) for item in range(user % 4, 24, 4)]
    >>> model = xorec.Signs(bits=16).fit(pairs)
    >>> shop = xorec.Recommender.from_model(model, pairs)
    >>> "their own items" in xorec.plots.distances(shop).svg
    True
    """
    require_matplotlib()
    codes = getattr(shop.representation, "item_codes", None)
    width = getattr(shop.representation, "bits", None)
    if codes is None or width is None:
        raise OptionError(
            "this model has no codes to measure: take dsiml, signs or another one of codes."
        )
    users, items = np.asarray(shop.user_codes), np.asarray(shop.item_codes)
    rng = np.random.default_rng(seed)
    rows = [shop.items_of(row) for row in range(len(users))]
    owners = np.repeat(np.arange(len(users)), [len(one) for one in rows])
    owned = np.concatenate([np.asarray(one, dtype=np.int64) for one in rows])
    some = rng.permutation(len(owned))[:_PAIRS]
    lines = [
        _distance_line("their own items", users[owners[some]], items[owned[some]], width),
        _distance_line(
            "any items",
            users[rng.integers(len(users), size=_PAIRS)],
            items[rng.integers(len(items), size=_PAIRS)],
            width,
        ),
    ]
    title = title or f"Users and items, {width} bits"
    panel = Panel(title, "Hamming distance", "share of pairs", lines)
    return draw(Figure("distances", title, [panel]))


def _distance_line(
    label: str, users: npt.NDArray[np.uint64], items: npt.NDArray[np.uint64], width: int
) -> Line:
    """users, items (n, W): codes, pair by pair."""
    apart = np.bitwise_count(users ^ items).sum(axis=1, dtype=np.int64)
    shares = np.bincount(apart, minlength=width + 1) / max(1, len(apart))
    return Line(label, list(range(width + 1)), shares.tolist(), highlight=label.startswith("their"))


def item_map(shop: Recommender) -> Picture:
    """Every item a dot, near those that are like it; the brighter, the more users have it.

    Items lie where `xorec map` has put them, which keeps neighbours together; without it, by
    principal components.

    >>> import xorec
    >>> pairs = [(user, item) for user in range(20) for item in range(user % 4, 24, 4)]
    >>> shop = xorec.Recommender.from_model(xorec.ALS(dimensions=4).fit(pairs), pairs)
    >>> "24 items" in xorec.plots.item_map(shop).svg
    True
    """
    require_matplotlib()
    found = shop.map_xy
    laid = principal_places(shop) if found is None else found
    order = np.argsort(shop.item_counts, kind="stable")
    xy, counts = laid[order], shop.item_counts[order]
    title = f"{len(order):,} items of {shop.metadata.get('model', 'a model')}"
    with one_style():
        canvas = canvas_of(7, 6)
        axis = canvas.subplots()
        size = max(0.4, min(14.0, 60_000 / max(1, len(order))))
        look = {"s": size, "linewidths": 0, "rasterized": True}  # an SVG of a million dots is none
        dots = axis.scatter(xy[:, 0], xy[:, 1], c=np.log10(counts + 1.0), cmap="viridis", **look)
        axis.set_xlim(-1.04 * LARGEST, 1.04 * LARGEST)
        axis.set_ylim(-1.04 * LARGEST, 1.04 * LARGEST)
        axis.set_aspect("equal")
        axis.set_axis_off()
        axis.set_title(f"{title}, layout {layout_of(shop) or 'pca'}")
        canvas.colorbar(dots, ax=axis, shrink=0.6, label="log10 of users + 1")
        return picture_of(canvas, title)


def require_png(path: Path) -> None:
    """Refuse what cannot be drawn, before anything is computed."""
    if path.suffix.lower() != ".png":
        raise OptionError(f"the plot is {path}: give a name that ends in .png.")
    require_matplotlib("the plot")
