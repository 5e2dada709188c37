"""Did you mean ...? What people may have looked for where nothing has just these letters."""

from __future__ import annotations

import difflib
import re
from collections import defaultdict
from typing import Literal

from xorec.service.events.records import Id
from xorec.service.live.finding import find_ids
from xorec.service.live.folding import fold
from xorec.service.live.model import LiveModel

_LOOKED_AT = 200
"""Ids that are compared: the first that `find_ids` gives for a part of the letters."""
_SHORTEST = 3
_BEGINNINGS = (4, 3, 2)
"""Letters at the beginning of a word that are taken to be right: as many as lead to something."""
_ALIKE = 0.75
_WORD = re.compile(r"\w+")


def meant_ids(live: LiveModel, kind: Literal["user", "item"], letters: str, k: int) -> list[Id]:
    """Up to k ids that `find_ids` does not find by these letters: those that have all the words in
    any order; of one word, those that are spelled alike, or have a word that is."""
    words = fold(letters).split()
    longest = max(words, key=len, default="")
    if len(longest) < _SHORTEST:
        return []
    if len(words) > 1:
        texts = _texts(live, kind, longest)
        return [one for one, text in texts if all(word in "\n".join(text) for word in words)][:k]
    for size in _BEGINNINGS:
        texts = _texts(live, kind, longest[:size])
        whose: dict[str, list[Id]] = defaultdict(list)
        for one, written in texts:
            for word in {*written, *_WORD.findall("\n".join(written))}:
                whose[word].append(one)
        alike = difflib.get_close_matches(longest, whose, k, _ALIKE)
        if alike:
            return list(dict.fromkeys(one for text in alike for one in whose[text]))[:k]
    return []


def _texts(
    live: LiveModel, kind: Literal["user", "item"], letters: str
) -> list[tuple[Id, list[str]]]:
    """Ids that have these letters, each as it is written and by its name."""
    ids = find_ids(live, kind, letters, _LOOKED_AT)
    names: dict[Id, str | None] = {}
    if kind == "item":
        said = {one: live.catalogue.get(one) for one in ids}
        names = {one: info.name for one, info in said.items() if info is not None}
        known = [one for one in ids if live.item_row(one) >= 0]
        rows = [live.item_row(one) for one in known]
        names |= dict(zip(known, live.item_names(rows, known), strict=True))
    return [(one, [fold(str(one)), fold(names.get(one) or str(one))]) for one in ids]
