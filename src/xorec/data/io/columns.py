"""The column of each role: by the names that were given, else by names in common use."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

from xorec.core.errors import DataError
from xorec.core.printable import did_you_mean, listed, quoted

ROLES = ("user", "item", "rating", "weight", "time", "split")
"""Uses of a column; the argument that names it is the role + "_column"."""

REPEATS = "repeats"
"""Named as the column of weights where no column is called so: how often each pair comes."""

# The first of these that a file has is taken; compared without case, blanks and punctuation.
_KNOWN = {
    "user": "user userid uid userkey reviewerid customerid customer visitorid memberid accountid "
    "playerid profileid readerid listenerid username reviewer person personid clientid "
    "client buyerid buyer shopperid sessionid session",
    "item": "item itemid iid itemkey movieid movie parentasin asin productid product businessid "
    "gmapid bookid isbn songid song trackid track artistid artist gameid game appid newsid "
    "articleid article videoid video recipeid beerid placeid venueid poiid courseid sku "
    "skuid productsku itemsku productcode itemcode stockcode",
    "rating": "rating ratings overall stars star score rate reviewscore reviewoverall userrating "
    "bookrating feedback",
    "weight": "weight weights strength confidence count counts plays playcount listens listencount "
    "views viewcount clicks clickcount purchases quantity qty hours hoursplayed playtime minutes "
    "watchtime frequency",
    "time": "timestamp time unixreviewtime unixtime unixtimestamp ts datetime date ratedat "
    "createdat reviewtime reviewdate orderedat orderdate ordertime purchasedat purchasedate "
    "invoicedate eventtime eventdate boughtat clickedat viewedat",
    "split": "split part subset",
    "name": "name title itemname productname itemtitle movietitle producttitle",
    "category": "category categories genre genres class tag tags section maincategory",
}

# Ids of rows, visits and orders, not of users or items.
_OTHER_IDS = (
    "id ids rowid eventid sessionid visitid orderid invoiceid transactionid reviewid ratingid "
    "requestid queryid deviceid storeid shopid categoryid genreid brandid timeid"
)
_NO_IDS = "paid unpaid valid bid grid said android"
"""Words that end like an id."""
_NUMBERED = {
    "user": "customer user client member account buyer",
    "item": "article product item sku",
}
_NUMBERS = ("no", "nr", "num", "number")
"""What stands for "id" behind these words: `customer_no`, `articleNumber`."""


@dataclass(frozen=True)
class Columns:
    """The column of each role, None where there is none, and notes on what was guessed."""

    user: str
    item: str
    rating: str | None = None
    weight: str | None = None
    time: str | None = None
    split: str | None = None
    notes: tuple[str, ...] = ()

    def in_use(self) -> dict[str, str]:
        """Role and name of the columns that there are."""
        names = {role: getattr(self, role) for role in ROLES}
        return {role: name for role, name in names.items() if name is not None}


def is_known_name(name: str) -> bool:
    """Whether a field looks like the name of a column, rather than a value."""
    return any(_plain(name) in _known_names(role) for role in _KNOWN)


def is_known_time(name: str) -> bool:
    """Whether a column has a name that is known for times."""
    return _plain(name) in _KNOWN["time"].split()


def guess(role: str, names: Sequence[str]) -> str | None:
    """The column among `names` that is called as people call this role."""
    plain = {_plain(name): name for name in reversed(names)}
    return next((plain[known] for known in _known_names(role) if known in plain), None)


def _known_names(role: str) -> list[str]:
    """The known names of a role; those with a number for an id (customerno, articlenr) last."""
    words = _NUMBERED.get(role, "").split()
    return [*_KNOWN[role].split(), *(word + number for word in words for number in _NUMBERS)]


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
        if role == "weight" and name == REPEATS and REPEATS not in names:
            name = ""
        if name and name not in names:
            raise DataError(
                f"{place} has no column {quoted(name)} ({role}_column); "
                f"there are: {listed(names)}.{did_you_mean(name, names)}"
            )
        if name is None:
            name = by_position.get(role) if positions else guess(role, names)
            name = None if name in wanted.values() or _is_doubtful(role, chosen, names) else name
            if name is not None:
                guessed.append(role)
        chosen[role] = name or None
    if len(names) == 2:
        guessed += _take_what_is_left(chosen, names)
    ids = [name for name in _id_columns(names) if name not in chosen.values()]
    for role, other in (("user", "item"), ("item", "user")):
        if chosen[role] is None and chosen[other] is not None and len(ids) == 1:
            chosen[role] = ids[0]
            guessed.append(role)
    for role in ("user", "item"):
        if chosen[role] is None:
            perhaps = f"perhaps {' or '.join(ids)}; " if ids else ""
            raise DataError(
                f"{place}: which column holds the {role}s? Name it with {role}_column "
                f"(--{role}-column); {perhaps}there are: {listed(names)}."
            )
    in_use = [(role, name) for role, name in chosen.items() if name is not None]
    for (other, taken), (role, name) in combinations(in_use, 2):
        if taken == name:
            raise DataError(
                f"{place}: column {quoted(name)} cannot be {other} and {role} at once; "
                f"name another one with {role}_column."
            )
    rest = {role: chosen[role] for role in ROLES[2:]}
    notes = _report(chosen, guessed, names)
    return Columns(str(chosen["user"]), str(chosen["item"]), **rest, notes=notes)


def _is_doubtful(role: str, chosen: Mapping[str, str | None], names: Sequence[str]) -> bool:
    """Beside ratings, or as one of two columns, a count is not guessed to be a weight."""
    return role == "weight" and (chosen["rating"] is not None or len(names) == 2)


def _id_columns(names: Sequence[str]) -> list[str]:
    """The columns that are called an id of something: `Anime_ID`, `beerId`, `sid`.

    Where some are set off as these two, words that merely end in "id" are left aside.
    """
    others = [*_OTHER_IDS.split(), *_NO_IDS.split()]
    ids = [name for name in names if re.search("ids?$", _plain(name))]
    ids = [name for name in ids if _plain(name) not in others]
    set_off = [name for name in ids if re.search(r"([^A-Za-z](?i:ids?)|[a-z]I[Dd]s?)$", name)]
    return set_off or ids


def _take_what_is_left(chosen: dict[str, str | None], names: Sequence[str]) -> list[str]:
    """Of two columns, those that have no role are user and item, in this order."""
    left = [name for name in names if name not in chosen.values()]
    missing = [role for role in ("user", "item") if chosen[role] is None]
    taken = missing if len(missing) == len(left) else []
    chosen.update(zip(taken, left, strict=False))
    return taken


def _report(
    chosen: Mapping[str, str | None], guessed: Sequence[str], names: Sequence[str]
) -> tuple[str, ...]:
    """One line: the columns that were guessed, and those that are not used."""
    pairs = ", ".join(f"{role} = {chosen[role]}" for role in ROLES if role in guessed)
    unused = ", ".join(name for name in names if name not in chosen.values())
    parts = [f"columns guessed: {pairs}"] if pairs else []
    if unused:
        parts.append(f"not used: {unused}" if pairs else f"columns not used: {unused}")
    return ("; ".join(parts),) if parts else ()


def _plain(name: str) -> str:
    """For comparison; "userId:token", as RecBole writes it, is "userid"."""
    return re.sub(r"[^a-z0-9]", "", re.sub(r":(token|float)(_seq)?$", "", name.lower()))
