"""Finding by letters as one would write it down: the oracle of the tests."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any


def plain(text: str) -> str:
    """Without case and accents, all of it at once."""
    text = "".join("'" if one in "\u2018\u2019\u201a\u201b\u2032" else one for one in text)
    text = unicodedata.normalize("NFKD", unicodedata.normalize("NFKD", text).casefold())
    return "".join(_plain_character(one) for one in text if not unicodedata.combining(one))


def _plain_character(one: str) -> str:
    if ord(one) < 128:
        return one
    kind = unicodedata.category(one)
    if kind == "Cf":
        return ""
    return "-" if kind == "Pd" else " " if kind[0] == "Z" or kind == "Cc" else one


def how(texts: Iterable[str], letters: str) -> int | None:
    """1: a text begins with the letters, 2: a word does, 3: they are inside; None: nowhere."""
    best = None
    for text in texts:
        for at in range(len(text) - len(letters) + 1):
            if text[at : at + len(letters)] == letters:
                before = text[at - 1] if at else None
                inside = before is not None and (before.isalnum() or ord(before) > 127)
                kind = 1 if before is None else 3 if inside else 2
                best = kind if best is None else min(best, kind)
    return best


def naive_find(entries: list[tuple[Any, str | None]], letters: str, k: int) -> list[Any]:
    """entries: (id, name), the most popular first."""
    bare = letters.strip()
    exact = [one for text in (letters, bare) for one, _ in entries if str(one) == text]
    wanted = plain(bare)
    found = []
    for place, (one, name) in enumerate(entries):
        if not bare:
            found.append((1, place, one))
        elif wanted:
            kind = how((plain(str(one)), plain(name or "")), wanted)
            if kind is not None:
                found.append((kind, place, one))
    order = [one for _, _, one in sorted(found, key=lambda hit: hit[:2])]
    return list(dict.fromkeys([*exact, *order]))[:k]
