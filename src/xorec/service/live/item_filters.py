"""Which items may be listed: availability, categories and attributes as one prepared filter."""

from __future__ import annotations

import json
from collections import OrderedDict
from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.errors import OptionError
from xorec.core.printable import quoted
from xorec.recommender.recommender import Recommender
from xorec.service.live.catalogue import Catalogue, ItemInfo
from xorec.service.schemas.lists import Where

_KEPT = 64
"""Prepared filters of a generation, at most."""
_MISSING: Any = object()
Mask = npt.NDArray[np.bool_]


class ItemFilters:
    """Filters of one generation, made when they are first asked for and kept while they hold.

    A filter goes into the search itself, so lists are full wherever enough items are left.
    """

    def __init__(self, recommender: Recommender, catalogue: Catalogue) -> None:
        self._recommender, self._catalogue = recommender, catalogue
        self._kept: OrderedDict[tuple[str, int, int], Any] = OrderedDict()
        self._rows: tuple[int, list[tuple[int, ItemInfo]]] = (-1, [])

    def prepared(self, where: Where | None, allow: Iterable[int] | None, now: int) -> Any:
        """What `Index.search` takes as `allow`; None where all items may come.

        allow: rows; only these. now: microseconds since 1970.
        """
        catalogue = self._catalogue
        if where is None and allow is None and not catalogue.infos:
            return None
        named = "" if where is None else json.dumps(where.model_dump(), sort_keys=True)
        key = (named, catalogue.version, catalogue.boundary(now))
        if allow is not None:
            chosen = np.zeros(len(self._recommender.item_ids), dtype=np.bool_)
            chosen[np.fromiter(allow, dtype=np.int64)] = True
            return np.flatnonzero(chosen & self._mask(where, now))
        found = self._kept.get(key, _MISSING)
        if found is _MISSING:
            mask = self._mask(where, now)
            whole = where is None and mask.all()
            rows = None if whole else np.flatnonzero(mask)
            found = None if rows is None else self._recommender.index.item_filter(rows)
            self._kept[key] = found
            while len(self._kept) > _KEPT:  # other threads may look for theirs meanwhile
                self._kept.popitem(last=False)
        return found

    def mask(self, where: Where | None, now: int) -> Mask:
        """A bool for each item: may it be listed?"""
        return self._mask(where, now)

    def _mask(self, where: Where | None, now: int) -> Mask:
        told = self._told()
        mask = np.ones(len(self._recommender.item_ids), dtype=np.bool_)
        if where is not None:
            mask = self._matches(where, told)
        for row, info in told:
            if not info.is_available(now):
                mask[row] = False
        return mask

    def _told(self) -> list[tuple[int, ItemInfo]]:
        """Rows of the items that something was said of."""
        version, rows = self._rows
        if version != self._catalogue.version:
            version, infos = self._catalogue.version, dict(self._catalogue.infos)
            found = self._recommender.item_ids.find_many(map(self._raw, infos))
            rows = [(int(row), info) for row, info in zip(found, infos.values(), strict=True)]
            rows = [pair for pair in rows if pair[0] >= 0]
            self._rows = version, rows
        return rows

    def _raw(self, item: Any) -> Any:
        ids = self._recommender.item_ids
        return item if ids.kind in ("int64", "int", "str", "float") else ids.parse(str(item))

    def _matches(self, where: Where, told: list[tuple[int, ItemInfo]]) -> Mask:
        mask = np.ones(len(self._recommender.item_ids), dtype=np.bool_)
        if where.any:
            mask = np.zeros_like(mask)
            for label in where.any:
                mask |= self._in_category(label, told)
        for label in where.all:
            mask &= self._in_category(label, told)
        for label in where.none:
            mask &= ~self._in_category(label, told)
        if where.attributes:
            having = np.zeros_like(mask)
            wanted = where.attributes.items()
            for row, info in told:
                having[row] = all(_equal(info.attributes.get(name), v) for name, v in wanted)
            mask &= having
        return mask

    def _in_category(self, label: str, told: list[tuple[int, ItemInfo]]) -> Mask:
        mask = np.zeros(len(self._recommender.item_ids), dtype=np.bool_)
        categories = self._recommender.categories
        if categories is not None and (
            label in set(categories.labels) or not self._catalogue.has_label(label)
        ):
            mask[categories.items_in([label])] = True
        elif not self._catalogue.has_label(label):
            raise OptionError(
                f"there is no category {quoted(label)}: the model has none, and no item was put "
                "into it."
            )
        for row, info in told:
            if info.categories is not None:
                mask[row] = label in info.categories
        return mask


def _equal(mine: Any, asked: Any) -> bool:
    """Equal, and of one type: 1 is not True."""
    return mine == asked and isinstance(mine, bool) == isinstance(asked, bool)
