"""Categories: the labels of each item, by rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import islice

import numpy as np
import numpy.typing as npt

from xorec.core.errors import OptionError
from xorec.core.printable import did_you_mean, listed, quoted
from xorec.data.text import Text, gather_spans, offsets_of

_COMPARED = 10_000
"""Labels that a misspelt one is compared with, at most: comparing spellings is slow."""


@dataclass(frozen=True, eq=False)
class Categories:
    """Item categories, several an item: those of item `i` are `indices[indptr[i]:indptr[i+1]]`.

    >>> labels = Text.pack(["Comedy", "Drama"])
    >>> genres = Categories(labels, np.array([0, 2, 2, 3]), np.array([0, 1, 1], dtype=np.int32))
    >>> genres.of(0), genres.of(1)
    (['Comedy', 'Drama'], [])
    >>> genres.items_in(["Drama"])
    array([0, 2])
    """

    labels: Text
    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]

    def of(self, item: int) -> list[str]:
        """The category labels of item row `item`."""
        labels = self.indices[self.indptr[item] : self.indptr[item + 1]]
        return [self.labels[int(label)] for label in labels]

    def select(self, items: npt.NDArray[np.integer]) -> Categories:
        """The categories of the items at these rows, in that order; labels stay as they are."""
        positions, indptr = gather_spans(self.indptr, items)
        return Categories(self.labels, indptr, self.indices[positions])

    def items_in(self, labels: Iterable[str]) -> npt.NDArray[np.int64]:
        """The rows of the items in any of these categories, ascending."""
        wanted = np.zeros(len(self.labels), dtype=np.bool_)
        known = {label: code for code, label in enumerate(self.labels)}
        for label in labels:
            if label not in known:
                hint = did_you_mean(str(label), islice(self.labels, _COMPARED))
                raise OptionError(
                    f"there is no category {quoted(label)}.{hint} There are: {listed(self.labels)}."
                )
            wanted[known[label]] = True
        found = offsets_of(wanted[self.indices])
        return np.flatnonzero(np.diff(found[self.indptr]))

    def extended(self, more: Categories) -> Categories:
        """With the items of `more` behind these; labels that are new come behind the others."""
        codes = {label: code for code, label in enumerate(self.labels)}
        used = set(more.indices.tolist())
        theirs = [
            codes.setdefault(label, len(codes)) if code in used else 0
            for code, label in enumerate(more.labels)
        ]
        indices = np.array(theirs, dtype=np.int32)[more.indices]
        return Categories(
            Text.pack(codes),
            np.concatenate([self.indptr, more.indptr[1:] + self.indptr[-1]]),
            np.concatenate([self.indices, indices]),
        )
