"""What a model file says of itself: the JSON under the key "xorec", checked as it is read.

Plain checks: importing pydantic would take longer than opening a file.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from xorec.core.bits import MOST_BITS
from xorec.recommender.header import parse_object

Check = Callable[[Any], bool]


def _whole(least: int, most: int) -> Check:
    return lambda value: type(value) is int and least <= value <= most


def _text(least: int = 1) -> Check:
    return lambda value: isinstance(value, str) and least <= len(value) <= 200


def _number(value: Any) -> bool:
    return type(value) in (int, float) and abs(value) < float("inf")


def _interval(value: Any) -> bool:
    """Two numbers, or none where they are not known."""
    return isinstance(value, list) and len(value) in (0, 2) and all(map(_number, value))


def _settings(value: Any) -> bool:
    """Names that a model takes as keywords; what they may be is the model's to say."""
    return isinstance(value, dict) and all(name.isidentifier() and name != "self" for name in value)


_COUNT = _whole(0, 2**63 - 1)
_FORMAT: Mapping[str, Check] = {"format": _whole(1, 2**31)}
_REQUIRED: Mapping[str, Check] = {
    "digest": _text(least=0),
    "model": _text(),
    "representation": _text(),
}
_OPTIONAL: Mapping[str, Check] = {
    "config": _settings,
    "seed": _whole(-(2**63), 2**64 - 1),
    "updates": _COUNT,
}
_OBJECTS: Mapping[str, Mapping[str, Check]] = {
    "data": {"users": _COUNT, "items": _COUNT, "pairs": _COUNT, "digest": _text()},
    "codes": {"bits": _whole(1, MOST_BITS), "digest": _text()},
    "id_kinds": {"user_ids": _text(), "item_ids": _text()},
    "validation": {
        "metric": _text(),
        "value": _number,
        "interval": _interval,
        "users": _COUNT,
        "judged_on": _text(least=0),
    },
    "map": {"layout": _text()},
}
"""What each object has, where it stands in a file. `docs/file-format.md` says what they mean."""


def parse_metadata(text: Any) -> tuple[dict[str, Any], int]:
    """The metadata and their format, the only thing that is checked: of newer ones none is known.

    What is wrong is a ValueError.
    """
    if not isinstance(text, str):
        raise ValueError(f"its metadata are {type(text).__name__} and not text")
    found = parse_object(text)
    _check(found, _FORMAT)
    return found, found["format"]


def check_metadata(found: Mapping[str, Any]) -> None:
    """Refuse with a ValueError that names what is wrong. Others may stand beside the known."""
    optional = {name: check for name, check in _OPTIONAL.items() if name in found}
    _check(found, {**_REQUIRED, **optional})
    for name in _OBJECTS.keys() & found.keys():
        if not isinstance(found[name], dict):
            raise ValueError(f"{name} in its metadata is not an object")
        _check(found[name], _OBJECTS[name], f"{name}.")


def _check(found: Mapping[str, Any], checks: Mapping[str, Check], prefix: str = "") -> None:
    for name, is_right in checks.items():
        if name not in found:
            raise ValueError(f"{prefix}{name} is missing in its metadata")
        if not is_right(found[name]):
            value = repr(found[name])
            shown = value if len(value) <= 80 else f"{value[:80]}..."
            raise ValueError(f"{prefix}{name} cannot be {shown}")
