"""Catalogue: what people have said of items since the model was made. Newest word wins."""

from __future__ import annotations

import datetime
from bisect import bisect_right
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from xorec.service.events.records import Id

Attribute = str | int | float | bool
_REMEMBERED = 65_536
"""Changes of which is known what they changed."""


@dataclass(frozen=True)
class ItemInfo:
    """What was said of an item. categories: None leaves those of the model.

    from_, until: microseconds since 1970, UTC. deleted: not listed, and nothing known of it.
    """

    name: str | None = None
    categories: tuple[str, ...] | None = None
    attributes: Mapping[str, Attribute] = field(default_factory=dict)
    hidden: bool = False
    from_: int | None = None
    until: int | None = None
    deleted: bool = False
    since: int = 0

    def is_available(self, now: int) -> bool:
        """Whether it may be listed at this time."""
        return not (
            self.hidden
            or self.deleted
            or (self.from_ is not None and now < self.from_)
            or (self.until is not None and now >= self.until)
        )

    @classmethod
    def from_dict(cls, body: Mapping[str, Any]) -> ItemInfo:
        """From a change of the log; the inverse of `to_dict`."""
        known = {name: body[name] for name in cls.__dataclass_fields__ if name in body}
        if known.get("categories") is not None:
            known["categories"] = tuple(known["categories"])
        return cls(**known)

    def to_dict(self) -> dict[str, Any]:
        """For a change of the log: what is not as it comes."""
        values = {name: getattr(self, name) for name in self.__dataclass_fields__}
        return {
            name: list(value) if isinstance(value, tuple) else value
            for name, value in values.items()
            if value not in (None, False, 0, {}) or name == "since"
        }


class Catalogue:
    """Items by id. version: grows with every change, for whoever keeps what follows from it."""

    def __init__(self) -> None:
        self.infos: dict[Id, ItemInfo] = {}
        self.version = 0
        self._labels: set[str] = set()
        self._dated: tuple[int, list[int]] = (-1, [])
        self._latest: deque[tuple[int, Id]] = deque(maxlen=_REMEMBERED)

    def apply(self, body: Mapping[str, Any]) -> None:
        """A change of kind "item": {"id": .., **ItemInfo.to_dict()}."""
        info = ItemInfo.from_dict(body)
        self.infos[body["id"]] = info
        self._labels.update(info.categories or ())
        self._latest.append((self.version + 1, body["id"]))
        self.version += 1

    def changed_since(self, version: int) -> tuple[int, list[Id]]:
        """The version of now, and the items that have changed since another; once each.

        After very many changes: all items.
        """
        if version == self.version:
            return version, []
        latest = list(self._latest)
        now = latest[-1][0]
        if now - version > len(latest):
            return now, list(self.infos)
        return now, list(dict.fromkeys(item for _, item in latest[version - now :]))

    def get(self, item: Id) -> ItemInfo | None:
        """What was said of an item."""
        return self.infos.get(item)

    def has_label(self, label: str) -> bool:
        """Whether somebody ever put an item into this category."""
        return label in self._labels

    def boundary(self, now: int) -> int:
        """How many times of beginning or ending have passed: changes when availability does."""
        version, times = self._dated
        if version != self.version:
            times = sorted(
                time
                for info in list(self.infos.values())
                for time in (info.from_, info.until)
                if time is not None
            )
            self._dated = self.version, times
        return bisect_right(times, now)


def patched(info: ItemInfo, changes: Mapping[str, Any]) -> ItemInfo:
    """With what a PATCH names; what it does not name stays."""
    known = dict(changes)
    if known.get("categories") is not None:
        known["categories"] = tuple(known["categories"])
    return replace(info, deleted=False, **known)


def micros(moment: datetime.datetime | None) -> int | None:
    """Microseconds since 1970, UTC; a time without a zone is UTC.

    >>> micros(datetime.datetime(1970, 1, 1, 0, 0, 1))
    1000000
    """
    if moment is None:
        return None
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=datetime.UTC)
    return round((moment - _EPOCH) / datetime.timedelta(microseconds=1))


def iso(moment: int | None) -> str | None:
    """The time as ISO 8601 in UTC.

    >>> iso(1000000)
    '1970-01-01T00:00:01Z'
    """
    if moment is None:
        return None
    text = (_EPOCH + datetime.timedelta(microseconds=moment)).isoformat()
    return text.replace("+00:00", "Z")


_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.UTC)
