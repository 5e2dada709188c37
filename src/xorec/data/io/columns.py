"""Which column holds what: by the names that were given, else by the names that people use."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from xorec.core.errors import DataError
from xorec.core.printable import listed, quoted
from xorec.core.suggestions import did_you_mean

ROLES = ("user", "item", "rating", "time", "split")
"""What a column can be for; the argument that names it is the role + "_column"."""

# The first of these that a file has is taken; compared without case, blanks and punctuation.
_KNOWN = {
    "user": "user userid uid userkey reviewerid customerid customer visitorid memberid accountid "
    "playerid profileid readerid listenerid username reviewer person personid sessionid session",
    "item": "item itemid iid itemkey movieid movie parentasin asin productid product businessid "
    "gmapid bookid isbn songid song trackid track artistid artist gameid game appid newsid "
    "articleid article videoid video recipeid beerid placeid venueid poiid courseid sku",
    "rating": "rating ratings overall stars star score rate reviewscore reviewoverall",
    "time": "timestamp time unixreviewtime unixtime unixtimestamp ts datetime date ratedat "
    "createdat reviewtime reviewdate",
    "split": "split part subset",
    "name": "name title itemname productname itemtitle movietitle producttitle",
    "category": "category categories genre genres class tag tags section maincategory",
}


@dataclass(frozen=True)
class Columns:
    """The column of each role, None where there is none, and what was guessed, in words."""

    user: str
    item: str
    rating: str | None = None
    time: str | None = None
    split: str | None = None
    notes: tuple[str, ...] = ()

    def in_use(self) -> dict[str, str]:
        """Role and name of the columns that there are."""
        names = {role: getattr(self, role) for role in ROLES}
        return {role: name for role, name in names.items() if name is not None}


def is_known_name(name: str) -> bool:
    """Whether a field looks like the name of a column, rather than a value."""
    return any(_plain(name) in names.split() for names in _KNOWN.values())


def guess(role: str, names: Sequence[str]) -> str | None:
    """The column among `names` that people use for this role."""
    plain = {_plain(name): name for name in reversed(names)}
    return next((plain[known] for known in _KNOWN[role].split() if known in plain), None)


def choose_columns(
    names: Sequence[str], wanted: Mapping[str, str | None], place: str, positions: Sequence[str]
) -> Columns:
    """The column of every role.

    wanted: the name asked for, by role; "" means "none of them". positions: the roles of the
    columns in their order where a file has no header, else empty.
    """
    chosen: dict[str, str | None] = {}
    guessed: list[str] = []
    by_position = dict(zip(positions, names, strict=False))
    for role in ROLES:
        name = wanted.get(role)
        if name:
            _require(name, role, names, place)
        elif name is None:
            name = by_position.get(role) if positions else guess(role, names)
            name = None if name in wanted.values() else name
            if name is not None:
                guessed.append(role)
        chosen[role] = name or None
    if len(names) == 2:
        guessed += _take_what_is_left(chosen, names)
    for role in ("user", "item"):
        if chosen[role] is None:
            raise DataError(
                f"{place}: which column holds the {role}s? Name it with {role}_column "
                f"(--{role}-column); there are: {listed(names)}."
            )
    _refuse_doubles(chosen, place)
    notes = _report(chosen, guessed)
    return Columns(str(chosen["user"]), str(chosen["item"]), *_rest(chosen), notes)


def _rest(chosen: Mapping[str, str | None]) -> tuple[str | None, str | None, str | None]:
    return chosen["rating"], chosen["time"], chosen["split"]


def _take_what_is_left(chosen: dict[str, str | None], names: Sequence[str]) -> list[str]:
    """Of two columns, those that have no role are user and item, in this order."""
    left = [name for name in names if name not in chosen.values()]
    missing = [role for role in ("user", "item") if chosen[role] is None]
    taken = missing if len(missing) == len(left) else []
    chosen.update(zip(taken, left, strict=False))
    return taken


def _require(name: str, role: str, names: Sequence[str], place: str) -> None:
    if name in names:
        return
    raise DataError(
        f"{place} has no column {quoted(name)} ({role}_column); there are: {listed(names)}."
        f"{did_you_mean(name, names)}"
    )


def _refuse_doubles(chosen: Mapping[str, str | None], place: str) -> None:
    roles = [role for role in ROLES if chosen[role] is not None]
    for index, role in enumerate(roles):
        for other in roles[:index]:
            if chosen[role] == chosen[other]:
                raise DataError(
                    f"{place}: column {quoted(chosen[role])} cannot be {other} and {role} at once; "
                    f"name another one with {role}_column."
                )


def _report(chosen: Mapping[str, str | None], guessed: Sequence[str]) -> tuple[str, ...]:
    if not guessed:
        return ()
    pairs = ", ".join(f"{role} = {chosen[role]}" for role in ROLES if role in guessed)
    return (f"columns guessed: {pairs}",)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.lower())
