"""Items by category, one each: the largest categories by number, the others together."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.errors import OptionError, UnknownIdError
from xorec.core.printable import quoted
from xorec.recommender.similarity import item_codes
from xorec.service.live.model import LiveModel
from xorec.service.log.records import Id

Bytes = npt.NDArray[np.uint8]
Shown = Literal["low", "high", ""]
OTHERS, NO_CATEGORY = "other categories", "no category"


NOT_LISTED = 255
_TOP = 253
_BANDS = 8
_SHARES = (0.001, 0.01, 0.1, 0.5, 1.0)


@dataclass(frozen=True)
class Band:
    """Bytes from `first` to `last`, what they mean, and how many items have them."""

    label: str
    first: int
    last: int
    count: int


class Colours(NamedTuple):
    """colours: by row. bands: what they mean, without those of no item. shown: which end of a scale
    is to be seen; "" where bytes are classes."""

    colours: Bytes
    bands: list[Band]
    shown: Shown


def by_popularity(live: LiveModel) -> Colours:
    """How many users have an item, events counted: 0, then each power of ten the same number of
    bytes, by the logarithm inside."""
    counts = live.recommender.item_counts.astype(np.int64)
    rows, fresh = live.fresh_counts()
    counts[rows] += fresh
    decades = len(str(int(counts.max(initial=1))))
    width = _TOP // decades
    size = np.log10(np.maximum(counts, 1))
    decade = np.floor(size + 1e-12).astype(np.int64)
    inside = np.clip((size - decade) * width, 0, width - 1).astype(np.int64)
    found = np.where(counts > 0, 1 + decade * width + inside, 0).astype(np.uint8)
    ends = [("nobody", 0, 0)]
    for at in range(decades):
        label = f"{10**at:,} to {10 ** (at + 1) - 1:,} users"
        ends.append((label, 1 + at * width, (at + 1) * width))
    return _listed(live, found, ends, "high")


def by_category(live: LiveModel, most: int) -> Colours:
    """The `most` largest categories, largest first, then all other categories, then no category; an
    item of several categories has the smallest of them, which says most."""
    names = [name for name, _ in live.categories.most_items(most)]
    number = {name: at for at, name in enumerate(names)}
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
    others = len(names)
    found = np.where(found == -1, others, np.where(found == -2, others + 1, found))
    ends = [(name, at, at) for at, name in enumerate((*names, OTHERS, NO_CATEGORY))]
    return _listed(live, found.astype(np.uint8), ends, "")


def by_bit(live: LiveModel, bit: int) -> Colours:
    """One bit of the items' codes."""
    codes, bits = _codes(live)
    if bit >= bits:
        raise OptionError(f"bit is {bit}: codes have {bits} bits, give 0 to {bits - 1}.")
    found = (codes[:, bit // 64] >> np.uint64(bit % 64)) & np.uint64(1)
    ends = [(f"bit {bit} is {value}", value, value) for value in (0, 1)]
    return _listed(live, found.astype(np.uint8), ends, "")


def by_distance(
    live: LiveModel, user: Id | None, item: Id | None, items: Sequence[Id] = ()
) -> Colours:
    """How far items are from a user as of now, or from an item: Hamming distance where there are
    codes, else the position in the order of all items. items: as if the user had them as well."""
    learned = live.recommender.representation
    if item is not None:
        row = np.array([live.require_item(item)])
        words = learned.codes_of(row)
        code = None if words is None else words[0]
        among = learned if code is not None else learned.among_items()
        query: Any = None if code is not None else among.queries(row)
    else:
        among = learned
        query = live.with_items(live.query_user(user), live.item_rows(items)[0]).query
        if query is None and user is None:
            raise UnknownIdError("the model knows none of these items.")
        if query is None:
            raise UnknownIdError(f"user {quoted(user)} is not known: no event, not in the model.")
        code = learned.query_code(query)
    if code is not None:
        return _by_hamming(live, code)
    order = np.lexsort((live.recommender.tie_rank, -among.score(query)[0]))
    position = np.empty(len(order), dtype=np.int64)
    position[order] = np.arange(len(order))
    return _by_position(live, position)


def _by_hamming(live: LiveModel, code: npt.NDArray[np.uint64]) -> Colours:
    codes, bits = _codes(live)
    distances = np.zeros(len(codes), dtype=np.int64)
    for word in range(codes.shape[1]):
        distances += np.bitwise_count(codes[:, word] ^ code[word])
    low, high = int(distances.min(initial=bits)), int(distances.max(initial=0))
    wide = max(1, -(-(high - low + 1) // _BANDS))
    fits = bits <= _TOP
    found = distances if fits else distances * _TOP // bits
    ends: list[tuple[str, int, int]] = []
    for first in range(low, high + 1, wide):
        last = min(first + wide - 1, high)
        name = f"{first} bits" if first == last else f"{first} to {last} bits"
        begin, end = (first, last) if fits else (first * _TOP // bits, last * _TOP // bits)
        ends.append((name, begin, end))
    return _listed(live, found.astype(np.uint8), ends, "low")


def _by_position(live: LiveModel, position: npt.NDArray[np.int64]) -> Colours:
    """Bytes by the share of all items that come before."""
    found, before = np.zeros(len(position), dtype=np.uint8), 0
    ends: list[tuple[str, int, int]] = []
    for at, share in enumerate(_SHARES):
        until = max(before, math.ceil(share * len(position)))
        inside = (position >= before) & (position < until)
        first, last = at * _BANDS, at * _BANDS + _BANDS - 1
        found[inside] = first + (position[inside] - before) * _BANDS // max(1, until - before)
        name = f"{100 * share:g} %"
        ends.append((f"up to {name}" if at else f"the best {name}", first, last))
        before = until
    return _listed(live, found, ends, "low")


def _listed(
    live: LiveModel, found: Bytes, ends: list[tuple[str, int, int]], shown: Shown
) -> Colours:
    """With items that may not be listed now as 255, and counts of the others."""
    if live.catalogue.infos:
        found = np.where(live.filters.mask(), found, NOT_LISTED).astype(np.uint8)
    counts = np.bincount(found, minlength=256)
    bands = [
        Band(label=label, first=first, last=last, count=int(counts[first : last + 1].sum()))
        for label, first, last in ends
    ]
    return Colours(found, [band for band in bands if band.count], shown)


def _codes(live: LiveModel) -> tuple[npt.NDArray[np.uint64], int]:
    found = item_codes(live.recommender)
    if found is None:
        raise OptionError("this model has no codes: there are no bits to show.")
    return found
