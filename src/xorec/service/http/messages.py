"""What pydantic refuses, in one line that names the field, the value and the way out."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import Any

from pydantic import BaseModel, ValidationError

from xorec.core.printable import did_you_mean, quoted

_TAG = re.compile(r"int|str|float|bool|datetime|date|dict|none|.*[\[\]()-].*", re.DOTALL)
_BEGINS = ("Value error, ", "Input should be ")


def validation_line(
    error: ValidationError, model: type[BaseModel] | None = None, where: str = "the body"
) -> str:
    """The first thing that is wrong, with all that a union says of the same value.

    model: what was to be filled, for a hint where a name is unknown.

    >>> from xorec.service.schemas.lists import RecommendBody
    >>> try:
    ...     RecommendBody.model_validate_json('{"k": "ten"}')
    ... except ValidationError as error:
    ...     print(validation_line(error))
    k is 'ten': give a valid integer.
    """
    errors = error.errors(include_url=False, include_context=False)
    first = errors[0]
    place = _place(first["loc"])
    name = ".".join(str(part) for part in place) or where
    if first["type"] == "extra_forbidden":
        return f"{where} has a name {quoted(name)} that it should not have.{_hint(model, place)}"
    if first["type"] == "missing":
        return f"{quoted(name)} is missing in {where}: give it."
    same = [one["msg"] for one in errors if _place(one["loc"]) == place]
    wishes = " or ".join(dict.fromkeys(map(_wish, same)))
    verb = "give " if first["msg"].startswith(_BEGINS[1]) else ""
    return f"{quoted(name)[1:-1]} is {quoted(first['input'])}: {verb}{wishes}."


def _place(loc: Iterable[Any]) -> tuple[Any, ...]:
    """Where a value stands, without the names that pydantic gives to the members of a union."""
    parts = list(loc)
    kept = [part for part in parts[1:] if not (isinstance(part, str) and _TAG.fullmatch(part))]
    return (*parts[:1], *kept)


def _wish(message: str) -> str:
    for begin in _BEGINS:
        if message.startswith(begin):
            return message.removeprefix(begin).rstrip(".")
    return message[:1].lower() + message[1:].rstrip(".")


def _hint(model: type[BaseModel] | None, place: Sequence[Any]) -> str:
    if model is None or len(place) != 1:
        return ""
    names = [field.alias or name for name, field in model.model_fields.items()]
    return did_you_mean(str(place[0]), names) or f" Its names: {', '.join(names)}."
