"""Raw ids in JSON: text and whole numbers as they are, other kinds by their text."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from xorec.core.errors import DataError
from xorec.core.printable import jsonable, quoted
from xorec.data.ids import Ids

JsonId = Annotated[
    int | str | float, Field(description="A raw id: of the type that the model's ids have.")
]

LONGEST = 1024
"""Characters of an id that a request may name."""


def from_json(ids: Ids, value: Any, what: str) -> Any:
    """The raw id that a JSON value means; a DataError where it is of another type.

    >>> from_json(Ids.of([1, 2]), 3, "user")
    3
    >>> from_json(Ids.of([1, 2]), "3", "user")
    Traceback (most recent call last):
    xorec.core.errors.DataError: user '3' is text, the ids of the model are integers: give 3.
    """
    integers = ids.kind in ("int64", "int")
    if isinstance(value, str):
        if len(value) > LONGEST:
            raise DataError(
                f"{what} {quoted(value)} has {len(value):,} characters: {LONGEST} at most."
            )
        if ids.kind == "str":
            return value
        meant = ids.parse(value)
        if integers or type(meant) is str:
            hint = f": give {meant}." if type(meant) is int else "."
            raise DataError(
                f"{what} {quoted(value)} is text, the ids of the model are {ids.type_name}{hint}"
            )
        return meant
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise DataError(f"{what} {quoted(value)} is no id: ids are {ids.type_name}.")
    if integers and isinstance(value, int):
        if ids.kind == "int64" and not -(2**63) <= value < 2**63:
            raise DataError(
                f"{what} {quoted(value)} is too large: ids are whole numbers of 64 bits."
            )
        return value
    if ids.kind == "float":
        return float(value)
    raise DataError(
        f"{what} {quoted(value)} is a number, the ids of the model are {ids.type_name}: "
        f'give "{value}".'
    )


def id_of(ids: Ids, value: Any, what: str) -> Any:
    """The id that a JSON value of a request means, as JSON has it: checked and read once."""
    return jsonable(from_json(ids, value, what))


def id_of_text(ids: Ids, text: str, what: str) -> Any:
    """The id that a query string means, likewise: in the type of the model's ids.

    >>> id_of_text(Ids.of([1, 2]), "3", "user"), id_of_text(Ids.of(["a"]), "3", "user")
    (3, '3')
    """
    if ids.kind == "bool":
        return text == "True"
    is_number = ids.kind in ("int64", "int") and len(text) <= LONGEST
    return id_of(ids, ids.parse(text) if is_number else text, what)


PLAIN_KINDS = ("int64", "int", "str", "float", "bool")
"""Kinds of ids that JSON has as they are."""


def raw_id(ids: Ids, value: Any) -> Any:
    """The raw id behind its JSON form."""
    return value if ids.kind in PLAIN_KINDS else ids.parse(str(value))
