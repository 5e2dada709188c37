"""Which items may be listed, as one prepared filter; and how many items each category has."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence, Set
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.errors import OptionError
from xorec.core.printable import quoted
from xorec.core.threads import LRUCache, lazy_property
from xorec.data.categories import Categories
from xorec.recommender.recommender import Recommender
from xorec.service.ids import raw_id
from xorec.service.live.state import Attribute, ItemInfo, ItemInfos, now_micros
from xorec.service.log.records import Id

_KEPT = 64
"""Prepared filters of a generation, at most."""
Mask = npt.NDArray[np.bool_]
ItemRows = npt.NDArray[np.integer]


class Conditions(NamedTuple):
    """Which items may come. any, all, none: categories; attributes: equal to these values."""

    any: Sequence[str] = ()
    all: Sequence[str] = ()
    none: Sequence[str] = ()
    attributes: Mapping[str, Attribute] = {}

    def bare(self) -> Conditions:
        """The same, each label once and in order."""
        any_, all_, none = (sorted(set(one)) for one in self[:3])
        return Conditions(any_, all_, none, self.attributes)


class ItemFilters:
    """Filters of one generation, made when they are first asked for and kept while they hold.

    A filter goes into the search itself, so lists are full wherever enough items are left.
    """

    def __init__(self, recommender: Recommender, catalogue: ItemInfos) -> None:
        self._recommender, self._catalogue = recommender, catalogue
        self._kept = LRUCache[Any](_KEPT)
        self._rows: tuple[int, list[tuple[int, ItemInfo]]] = (-1, [])

    def prepared(
        self, where: Conditions | None, allow: ItemRows | None, now: int | None = None
    ) -> Any:
        """What `Index.search` takes as `allow`; None where all items may come. allow: only these
        rows."""
        catalogue, now = self._catalogue, now_micros() if now is None else now
        if where is None and allow is None and not catalogue.infos:
            return None
        if allow is not None:
            return np.flatnonzero(self.mask(where, allow, now))
        named = "" if where is None else json.dumps(where.bare(), sort_keys=True)
        key = f"{catalogue.version} {catalogue.boundary(now)} {named}"
        return self._kept.get(key, lambda: self._made(where, now))

    def _made(self, where: Conditions | None, now: int) -> Any:
        mask = self.mask(where, now=now)
        if where is None and mask.all():
            return None
        return self._recommender.index.item_filter(np.flatnonzero(mask))

    def mask(
        self, where: Conditions | None = None, allow: ItemRows | None = None, now: int | None = None
    ) -> Mask:
        """Whether each item may be listed. allow: only these rows. now: microseconds since 1970."""
        now, told = now_micros() if now is None else now, self._told()
        mask = np.ones(len(self._recommender.item_ids), dtype=np.bool_)
        if where is not None:
            mask = self._matches(where, told)
        for row, info in told:
            if not info.is_available(now):
                mask[row] = False
        if allow is not None:
            chosen = np.zeros_like(mask)
            chosen[allow] = True
            mask &= chosen
        return mask

    def _told(self) -> list[tuple[int, ItemInfo]]:
        """Rows of the items that something was said of."""
        version, rows = self._rows
        if version != self._catalogue.version:
            version, infos = self._catalogue.version, dict(self._catalogue.infos)
            ids = self._recommender.item_ids
            found = ids.find_many(raw_id(ids, item) for item in infos)
            rows = [(int(row), info) for row, info in zip(found, infos.values(), strict=True)]
            rows = [pair for pair in rows if pair[0] >= 0]
            self._rows = version, rows
        return rows

    def _matches(self, where: Conditions, told: list[tuple[int, ItemInfo]]) -> Mask:
        """Of what the model knows, then as items were put since; one pass over those."""
        any_, all_, none = (frozenset(labels) for labels in where[:3])
        mask = np.ones(len(self._recommender.item_ids), dtype=np.bool_)
        for labels in (any_, *({label} for label in sorted(all_))):
            if labels:
                mask &= self._learned(labels)
        if none:
            mask &= ~self._learned(none)
        for row, info in told if any_ or all_ or none else ():
            if info.categories is not None:
                own = set(info.categories)
                wanted = (not any_ or own & any_) and all_ <= own and not own & none
                mask[row] = bool(wanted)
        if where.attributes:
            having = np.zeros_like(mask)
            pairs = where.attributes.items()
            for row, info in told:
                having[row] = all(_equal(info.attributes.get(name), v) for name, v in pairs)
            mask &= having
        return mask

    def _learned(self, labels: Set[str]) -> Mask:
        """The items that the model has in any of these categories."""
        mask = np.zeros(len(self._recommender.item_ids), dtype=np.bool_)
        categories, put = self._recommender.categories, self._catalogue.has_label
        known = frozenset[str]() if categories is None else self._labels
        unknown = sorted(one for one in labels if one not in known and not put(one))
        if categories is not None:  # says what is like the unknown one
            mask[categories.items_in([*unknown, *sorted(labels & known)])] = True
        elif unknown:
            raise OptionError(
                f"there is no category {quoted(unknown[0])}: the model has none, and no item was "
                "put into it."
            )
        return mask

    @lazy_property
    def _labels(self) -> frozenset[str]:
        categories = self._recommender.categories
        return frozenset(() if categories is None else categories.labels)


def _equal(mine: Any, asked: Any) -> bool:
    """Equal, and of one type: 1 is not True."""
    return mine == asked and isinstance(mine, bool) == isinstance(asked, bool)


class CategoryCounts:
    """Of one generation. Counted again when the catalogue has changed, and kept until then."""

    def __init__(
        self, categories: Categories | None, catalogue: ItemInfos, row_of: Callable[[Id], int]
    ) -> None:
        self._categories, self._catalogue, self._row_of = categories, catalogue, row_of
        self._kept: tuple[int, list[tuple[str, int]]] = (-1, [])

    def most_items(self, k: int) -> list[tuple[str, int]]:
        """The k categories with most items, by name where equal; none that is empty."""
        version, found = self._kept
        if version != self._catalogue.version:
            version = self._catalogue.version
            counts = self._counts()
            found = sorted(
                ((name, count) for name, count in counts.items() if count > 0),
                key=lambda one: (-one[1], one[0]),
            )
            self._kept = version, found
        return found[:k]

    def _counts(self) -> Counter[str]:
        """A deleted item is in no category; one that only PUT has named is in those it said."""
        counts = Counter(self._learned)
        base = self._categories
        for item, info in list(self._catalogue.infos.items()):
            if info.categories is None and not info.deleted:
                continue
            row = self._row_of(item)
            if row >= 0 and base is not None:
                counts.subtract(set(base.of(row)))
            if not info.deleted:
                counts.update(set(info.categories or ()))
        return counts

    @lazy_property
    def _learned(self) -> dict[str, int]:
        """As the model has them: an item counts once in each of its categories."""
        base = self._categories
        if base is None:
            return {}
        items = np.repeat(np.arange(len(base.indptr) - 1), np.diff(base.indptr))
        once = np.unique(items * len(base.labels) + base.indices) % max(1, len(base.labels))
        counts = np.bincount(once, minlength=len(base.labels))
        return dict(zip(base.labels, counts.tolist(), strict=True))
