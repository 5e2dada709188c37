"""near_id: the id that may have been meant. The same small work for ten ids and for ten million."""

from __future__ import annotations

import re
from bisect import bisect_left
from collections.abc import Hashable
from typing import Any

from xorec.data.ids import Ids
from xorec.data.text import Text

NEIGHBOURS = 32
"""Ids that are looked at on either side of the place where the id would stand."""
LONGEST = 100
"""Characters of an id that is compared letter by letter."""


def near_id(ids: Ids, raw: Hashable) -> Any:
    """The id that differs from `raw` by type, blanks, case or one slip; None if none does.

    Letters are compared with the ids beside it in the order of the alphabet, in which `read` has
    them; after an update some are elsewhere, and not found. Digits are never guessed.

    >>> shop = Ids.of(["Earl Grey", "SKU 40, large", "milk", "tea 4711"])
    >>> [near_id(shop, raw) for raw in ("MILK", " milk", "Earl Gray", "SKU 40", "tea 4712", 7)]
    ['milk', 'milk', 'Earl Grey', 'SKU 40, large', None, None]
    """
    meant = ids.alike(raw)
    if meant is not None or not isinstance(raw, str) or not isinstance(ids.values, Text):
        return meant
    text = raw.strip()
    for written in (text.lower(), text.upper(), text.title(), text.capitalize()):
        if ids.find(written) >= 0:
            return written
    return _near_in_order(ids.values, text) if ids.kind == "str" and text else None


def _near_in_order(values: Text, text: str) -> str | None:
    """Of the strings around the place of `text`: one that it begins, or that is one slip away."""
    if not 2 < len(text) <= LONGEST:
        return None
    key = text.encode("utf-8", "surrogatepass")
    place = bisect_left(range(len(values)), key, key=values.raw)
    around = values.strings(range(max(place - NEIGHBOURS, 0), min(place + NEIGHBOURS, len(values))))
    alike = [one for one in around if len(one) <= LONGEST and _digits(one) == _digits(text)]
    begun = (one for one in alike if one.startswith(text))
    return next(begun, None) or next((one for one in alike if _is_slip(one, text)), None)


def _is_slip(one: str, other: str) -> bool:
    """Whether one letter is too many, missing or another one, or two have changed places."""
    start = _shared(one, other)
    one, other = one[start:], other[start:]
    end = _shared(one[::-1], other[::-1])
    one, other = one[: len(one) - end], other[: len(other) - end]
    return max(len(one), len(other)) <= 1 or (len(one) == 2 and one == other[::-1])


def _shared(one: str, other: str) -> int:
    """How many letters both begin with."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((place for place, (a, b) in pairs if a != b), min(len(one), len(other)))


def _digits(text: str) -> list[str]:
    return re.findall(r"\d+", text)
