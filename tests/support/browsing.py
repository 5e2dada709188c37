"""A page in a browser that notices everything that goes wrong."""

from __future__ import annotations

import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlencode, urlsplit

from tests.support.waiting import PATIENCE

if TYPE_CHECKING:
    from collections.abc import Callable

    import httpx
    from playwright.sync_api import ConsoleMessage, Locator, Page, Request

WIDTHS = (390, 1280, 1600)
SCHEMES = ("light", "dark")


@dataclass
class Trouble:
    """What a page has done that it must not: each entry is a line for people."""

    found: list[str] = field(default_factory=list)

    def forgive(self, part: str) -> None:
        """This was meant to happen, and it did: an answer with status 404 is a console error."""
        left = [one for one in self.found if part not in one]
        assert len(left) < len(self.found), f"{part!r} did not happen: {self.found}"
        self.found = left

    def watch(self, page: Page, address: str) -> None:
        """Write down errors, warnings, dialogs, and requests to another place than `address`."""

        def heard(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning"):
                self.found.append(f"console {message.type}: {message.text}")

        def asked(request: Request) -> None:
            if not request.url.startswith(f"{address}/"):
                self.found.append(f"foreign request: {request.url}")

        def spoken(dialog: Any) -> None:
            self.found.append(f"dialog: {dialog.message}")
            dialog.dismiss()

        page.on("console", heard)
        page.on("pageerror", lambda error: self.found.append(f"page error: {error}"))
        page.on("request", asked)
        page.on("dialog", spoken)


def expect(locator: Locator) -> Any:
    """What a locator is to become, soon; `wait_for_function` would be refused by the policy."""
    from playwright.sync_api import expect as expected

    expected.set_options(timeout=1000 * PATIENCE)
    return expected(locator)


_READY = {
    "explore": ".items > li, .notice, #pick",
    "item": "main h1",
    "map": ".legend li",
    "compare": ".lists, .error",
    "live": ".tile b",
}


def open_panel(page: Page, panel: str, **state: Any) -> None:
    """A panel at an address with this state, when it has something to show."""
    given = state if panel == "explore" else {"panel": panel, **state}
    page.goto("/?" + urlencode(given, doseq=True))
    page.locator(_READY[panel]).first.wait_for()


def state_of(page: Page) -> dict[str, list[str]]:
    """What the address says."""
    return parse_qs(urlsplit(page.url).query)


def items_of(api: httpx.Client, path: str, **query: Any) -> list[Any]:
    """The items of an answer of the service."""
    answer = api.get(f"/v1/{path}", params=query)
    assert answer.status_code == 200, answer.text
    items: list[Any] = answer.json()["items"]
    return items


def ids_of(items: list[Any]) -> list[str]:
    """Their ids."""
    return [one["id"] for one in items]


def scrolls_sideways(page: Page) -> bool:
    """Whether the page is wider than the window."""
    wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
    return bool(page.evaluate(wide))


def settled(page: Page, milliseconds: int = 0) -> None:
    """Wait until the page itself has drawn three times more, and what it has put off by so many
    milliseconds has run: its timers run in their order, on a busy machine, too."""
    page.evaluate(
        """milliseconds => new Promise(done => {
            const draw = left => left ? requestAnimationFrame(() => draw(left - 1)) : done();
            setTimeout(() => draw(3), milliseconds);
        })""",
        milliseconds,
    )


def until(page: Page, holds: Callable[[], bool], seconds: float = PATIENCE) -> None:
    """Wait for something that the page comes to by itself."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if holds():
            return
        page.wait_for_timeout(20)
    raise AssertionError(
        f"not within {seconds} s; the page shows: {page.inner_text('body')[:2000]}"
    )


def listed(page: Page) -> list[str]:
    """The ids of the cards, from the first on."""
    ids: list[str] = page.locator(".items > li").evaluate_all("all => all.map(e => e.dataset.id)")
    return ids


def printable(text: str) -> str:
    """As the page writes it: what would hide or turn a line round stands as its number."""
    unseen = (
        (0, 8),
        (0x0B, 0x1F),
        (0x7F, 0x9F),
        (0x200B, 0x200F),
        (0x2028, 0x202E),
        (0x2066, 0x2069),
    )
    return "".join(
        f"\\u{ord(one):04x}" if any(a <= ord(one) <= b for a, b in unseen) else one for one in text
    )
