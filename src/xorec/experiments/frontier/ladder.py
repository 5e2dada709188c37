"""The ladder of the trade: from 20 bits an item to the recipe that is served."""

from __future__ import annotations

from collections.abc import Sequence

EASE_ITEMS = 8_000
"""With more items EASE, all items by all items, has no place: half a gigabyte, and minutes."""


def ladder(items: int, bits: Sequence[int] = ()) -> tuple[str, ...]:
    """The models to compare on a catalogue of so many items; bits: in place of 20, 32 and 64.

    >>> ladder(50_000, bits=[16])[:4]
    ('popularity', 'dsiml:bits=16', 'dsiml:bits=64:shortlist=200', 'slim:keep=int8')
    """
    return (
        "popularity",
        *(f"dsiml:bits={length}" for length in bits or (20, 32, 64)),
        "dsiml:bits=64:shortlist=200",
        "slim:keep=int8",
        "slim",
        *(["ease"] if items <= EASE_ITEMS else []),
        "siml",
        "blend:bits=64",
    )
