"""How many items are in each category: as the model has them, and as was said since."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

import numpy as np

from xorec.core.threads import lazy_property
from xorec.data.categories import Categories
from xorec.service.events.records import Id
from xorec.service.live.catalogue import Catalogue


class CategoryCounts:
    """Of one generation. Counted anew when the catalogue has changed, and kept until then."""

    def __init__(
        self, categories: Categories | None, catalogue: Catalogue, row_of: Callable[[Id], int]
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
        both = np.sort(items * len(base.labels) + base.indices)
        once = both[np.diff(both, prepend=-1) > 0] % max(1, len(base.labels))
        counts = np.bincount(once, minlength=len(base.labels))
        return dict(zip(base.labels, counts.tolist(), strict=True))
