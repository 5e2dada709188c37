"""Items by category, one each: the largest categories by number, the others together."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.service.live.model import LiveModel

OTHERS, NONE = "other categories", "no category"


class Classes(NamedTuple):
    """names: of the classes, the largest category first. of_item: by row."""

    names: list[str]
    of_item: npt.NDArray[np.uint8]


def classes_of(live: LiveModel, most: int) -> Classes:
    """The class of each item, with what was said since: of several categories the smallest, which
    says most. Behind the `most` largest: all other categories, then no category."""
    names = [name for name, _ in live.categories.most_items(most)]
    number = {name: at for at, name in enumerate(names)}
    others, none = len(names), len(names) + 1
    found = np.full(len(live.items), -2, dtype=np.int64)
    base = live.recommender.categories
    if base is not None:
        of_label = np.array([number.get(label, -1) for label in base.labels], dtype=np.int64)
        rows = np.repeat(np.arange(len(found)), np.diff(base.indptr))
        np.maximum.at(found, rows, of_label[base.indices])
    for item, info in list(live.catalogue.infos.items()):
        row = live.item_row(item)
        if row >= 0 and info.categories is not None:
            found[row] = max((number.get(label, -1) for label in info.categories), default=-2)
    found = np.where(found == -1, others, np.where(found == -2, none, found))
    return Classes([*names, OTHERS, NONE], found.astype(np.uint8))
