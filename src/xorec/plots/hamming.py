"""Distances of codes."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from xorec.core.errors import OptionError
from xorec.plots.figures import draw
from xorec.plots.pictures import Picture, require_matplotlib
from xorec.plots.series import Figure, Line, Panel
from xorec.recommender.recommender import Recommender

_PAIRS = 100_000


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
        _line("their own items", users[owners[some]], items[owned[some]], width),
        _line(
            "any items",
            users[rng.integers(len(users), size=_PAIRS)],
            items[rng.integers(len(items), size=_PAIRS)],
            width,
        ),
    ]
    title = title or f"Users and items, {width} bits"
    panel = Panel(title, "Hamming distance", "share of pairs", lines)
    drawn = draw(Figure("distances", title, [panel]))
    return Picture(drawn.svg, drawn.png)


def _line(
    label: str, users: npt.NDArray[np.uint64], items: npt.NDArray[np.uint64], width: int
) -> Line:
    """users, items (n, W): codes, pair by pair."""
    apart = np.bitwise_count(users ^ items).sum(axis=1, dtype=np.int64)
    shares = np.bincount(apart, minlength=width + 1) / max(1, len(apart))
    return Line(label, list(range(width + 1)), shares.tolist(), highlight=label.startswith("their"))
