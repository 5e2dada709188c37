"""The map of a recommender's items: a layout by name, as whole numbers, kept in the model file."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from xorec.core.errors import OptionError
from xorec.core.options import DEFAULTS, RunOptions
from xorec.recommender.layout.features import features_of, item_codes
from xorec.recommender.layout.neighbour_layout import neighbour_layout
from xorec.recommender.layout.preservation import kept_neighbours
from xorec.recommender.layout.principal_plane import principal_plane
from xorec.recommender.recommender import Recommender
from xorec.representations.base import Representation
from xorec.representations.codes import Codes

Layout = Literal["pca", "neighbours"]
LAYOUTS: tuple[str, ...] = get_args(Layout)
LARGEST = 32_767


def layout_of(recommender: Recommender) -> str:
    """How the places that a recommender brings along were made; "" where it has none."""
    if recommender.places is None:
        return ""
    return str(recommender.metadata.get("map", {}).get("layout", "unknown"))


def principal_places(recommender: Recommender) -> npt.NDArray[np.int16]:
    """Places by principal components; of every model, deterministic.

    >>> from xorec.testing.examples import shop
    >>> principal_places(shop()).shape
    (3, 2)
    """
    return whole(principal_plane(features_of(recommender)))


def with_map(
    recommender: Recommender, layout: str = "neighbours", options: RunOptions = DEFAULTS
) -> tuple[Recommender, dict[str, Any]]:
    """The recommender with a map, and what to say of it: seconds are not in it, so that equal
    input gives equal files. Besides the layout, which share of the 10 nearest neighbours of an
    item is among the 10 and the 50 nearest on the map (where items are compared at all).
    """
    if layout not in LAYOUTS:
        raise OptionError(f"layout is {layout!r}: give {' or '.join(LAYOUTS)}.")
    compares = recommender.representation.compares_items and len(recommender.items) > 1
    if layout == "neighbours" and not compares:
        raise OptionError(
            "this model does not compare items: take --layout pca, or a model that learns from "
            "pairs."
        )
    laid = principal_plane(features_of(recommender))
    places = whole(laid if layout == "pca" else neighbour_layout(recommender, laid, options))
    about: dict[str, Any] = {"layout": layout, "seed": options.seed}
    if compares:
        kept = kept_neighbours(compared_items(recommender), places)
        about |= {f"kept_{cut}": round(share, 4) for cut, share in kept.items()}
    made = replace(recommender, places=places, metadata={**recommender.metadata, "map": about})
    if "index" in vars(recommender):
        vars(made)["index"] = recommender.index  # nothing of it has changed
    return made, about


def compared_items(recommender: Recommender) -> Representation:
    """How items are compared on a map: by Hamming distance where there are codes."""
    coded = item_codes(recommender)
    if coded is None:
        return recommender.representation.among_items()
    return Codes(coded[0], *coded)


def whole(places: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.int16]:
    """As whole numbers, -32767 to 32767: one scale for both axes, around the middle.

    >>> whole(np.array([[0.0, 1.0], [4.0, 2.0]])).tolist()
    [[-32767, -8192], [32767, 8192]]
    """
    if not len(places):
        return np.zeros((0, 2), dtype=np.int16)
    wide = places.astype(np.float64)
    wide -= (wide.max(axis=0) + wide.min(axis=0)) / 2
    reach = float(np.abs(wide).max())
    return np.asarray(np.rint(wide / (reach or 1) * LARGEST), dtype=np.int16)
