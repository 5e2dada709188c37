"""Names of categories, methods and data sets come from outside: the text of a report, made safe."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass, replace
from typing import Any

FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")
"""What a spreadsheet takes for the beginning of a formula."""


def map_text(thing: Any, change: Callable[[str], str]) -> Any:
    """The same dataclasses, mappings and lists with every text changed.

    >>> map_text({"rows": [("a", 1)]}, str.upper)
    {'ROWS': [('A', 1)]}
    """
    if isinstance(thing, str):
        return change(thing)
    if is_dataclass(thing) and not isinstance(thing, type):
        named = {field.name: getattr(thing, field.name) for field in fields(thing)}
        return replace(thing, **{name: map_text(value, change) for name, value in named.items()})
    if isinstance(thing, Mapping):
        return {map_text(key, change): map_text(value, change) for key, value in thing.items()}
    if isinstance(thing, list | tuple):
        return type(thing)(map_text(one, change) for one in thing)
    return thing


def no_formula(text: str) -> str:
    """A text cell that no spreadsheet computes: an apostrophe before it; numbers stay numbers.

    >>> no_formula("=cmd|' /C calc'!A0"), no_formula("-0.5"), no_formula("tea")
    ("'=cmd|' /C calc'!A0", '-0.5', 'tea')
    """
    if not text.startswith(FORMULA_STARTS):
        return text
    try:
        float(text)
    except ValueError:
        return f"'{text}"
    return text
