"""Pages: which lists were shown, so that /v1/next goes on without repeats."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xorec.core.errors import UnknownIdError
from xorec.core.printable import quoted
from xorec.service.events.records import Id

if TYPE_CHECKING:
    from xorec.service.endpoints.asking import Asked

_MOST = 20_000
"""Lists that a worker remembers."""
_MOST_SHOWN = 10_000
"""Items that one request may page through."""


@dataclass(frozen=True, slots=True)
class Page:
    """A list that was shown, and everything that went on after it."""

    model: str
    asked: Asked
    shown: list[Id]


class Pages:
    """The last lists of a worker, by request id."""

    def __init__(self) -> None:
        self._pages: OrderedDict[str, Page] = OrderedDict()

    def __contains__(self, request_id: str) -> bool:
        return request_id in self._pages

    def remember(self, request_id: str, model: str, asked: Asked, shown: list[Id]) -> None:
        """A list that was made."""
        self._pages[request_id] = Page(model, asked, shown)
        if len(self._pages) > _MOST:
            self._pages.popitem(last=False)

    def get(self, request_id: str) -> Page:
        """The list of a request; UnknownIdError where it is too long ago, or never was."""
        page = self._pages.get(request_id)
        if page is None:
            raise UnknownIdError(
                f"no list of request {quoted(request_id)} is remembered: ask /v1/recommend anew."
            )
        return page

    def go_on(self, request_id: str, shown: list[Id]) -> None:
        """More was shown."""
        page = self.get(request_id)
        more = [*page.shown, *shown][-_MOST_SHOWN:]
        self._pages[request_id] = replace(page, shown=more)

    def forget(self, user: Id) -> None:
        """Erase a user's lists."""
        for request_id, page in list(self._pages.items()):
            if page.asked.user == user:
                del self._pages[request_id]
