"""The field that finds while one types: by keyboard, without storms, never an old answer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from tests.support.browsing import open_panel, printable, settled, until
from tests.support.page_shop import HARM

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route


def _start(page: Page) -> None:
    open_panel(page, "explore", user="user 100")
    page.keyboard.press("/")


def _options(page: Page) -> list[str]:
    return page.locator("#search-found [role=option] .what").all_inner_texts()


def test_groups_and_marked_letters(page: Page, api: httpx.Client) -> None:
    _start(page)
    page.keyboard.type("tea")
    wanted = _wanted(api, "tea", ("users", "items"))
    until(page, lambda: _groups(page) == wanted)  # "t" and "te" were asked for before
    marks = page.locator("#search-found mark").all_inner_texts()
    assert marks
    assert {one.lower() for one in marks} == {"tea"}


def _groups(page: Page) -> list[Any]:
    found: list[Any] = page.locator("#search-found [role=group]").evaluate_all(
        """all => all.map(group => [
            group.getAttribute("aria-label"), group.querySelectorAll("[role=option]").length])"""
    )
    return found


def _wanted(api: httpx.Client, letters: str, order: tuple[str, str]) -> list[Any]:
    """What begins with the letters, of both kinds; then what has them elsewhere."""
    begin: list[Any] = []
    contain: list[Any] = []
    for kind in order:
        found = api.get(f"/v1/{kind}", params={"q": letters, "k": 8}).json()[kind]
        texts = [f"{one['id']}\n{one.get('name') or ''}".lower().split("\n") for one in found]
        count = sum(any(text.startswith(letters) for text in some) for some in texts)
        begin += [[kind, count]] if count else []
        rest = len(found) - count
        contain += [[f"{kind} that contain it", rest]] if rest else []
    return begin + contain


@pytest.mark.parametrize("letters", ["tea", "i1", "user", "a", "er"])
def test_what_begins_with_the_letters_comes_first_of_both_kinds(
    page: Page, api: httpx.Client, letters: str
) -> None:
    for panel, order in (("explore", ("users", "items")), ("item", ("items", "users"))):
        page.goto(f"/?panel={panel}")
        page.get_by_role("navigation", name="Panels").wait_for()
        page.keyboard.press("/")
        page.keyboard.type(letters)
        wanted = _wanted(api, letters, order)
        until(page, lambda: _groups(page) == wanted)  # noqa: B023


def test_what_may_be_meant_is_offered_and_not_taken_unasked(page: Page) -> None:
    _start(page)
    page.keyboard.type("plian")
    page.locator(".none", has_text="Nothing contains “plian”. Did you mean:").wait_for()
    assert page.locator("[role=option][aria-selected=true]").count() == 0
    before = page.url
    page.keyboard.press("Enter")
    assert page.url == before
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    until(page, lambda: "item=" in page.url)


def test_words_in_any_order(page: Page) -> None:
    _start(page)
    page.keyboard.type("3 tea plain")
    page.locator(".none", has_text="Did you mean").wait_for()
    assert all("plain tea" in one and "3" in one for one in _options(page))


def test_letters_are_marked_without_regard_to_case_and_accents(page: Page) -> None:
    page.goto("/")
    made = """async ([text, letters]) => {
        const { marked } = await import("/page/js/combobox.js");
        const parts = [marked(text, letters)].flat();
        const found = parts.find((one) => one instanceof Node);
        return [parts.map((one) => one.textContent ?? one).join(""), found?.textContent ?? null];
    }"""
    for text, letters, wanted in (
        ("Crème brûlée", "BRULE", "brûlé"),
        ("Cre\u0300me", "creme", "Cre\u0300me"),
        ("ﬁne tea", "in", "ﬁn"),
        ("🍵🍵 tea", "🍵", "🍵"),
        ("tea", "coffee", None),
    ):
        assert page.evaluate(made, [text, letters]) == [text, wanted]


def test_the_combobox_tells_its_state(page: Page) -> None:
    _start(page)
    field = page.get_by_role("combobox", name="Find a user or an item")
    assert field.get_attribute("aria-expanded") == "false"
    page.keyboard.type("user 1")
    page.get_by_role("option").first.wait_for()
    assert field.get_attribute("aria-expanded") == "true"
    chosen = "document.getElementById(document.activeElement.getAttribute('aria-activedescendant'))"
    first = page.evaluate(f"{chosen}.textContent")
    page.keyboard.press("ArrowDown")
    assert page.evaluate(f"{chosen}.getAttribute('aria-selected')") == "true"
    assert page.evaluate(f"{chosen}.textContent") != first
    page.keyboard.press("ArrowUp")
    page.keyboard.press("ArrowUp")  # round to the last one
    assert page.evaluate(f"{chosen} === [...document.querySelectorAll('[role=option]')].at(-1)")
    assert page.locator("[role=option][aria-selected=true]").count() == 1
    page.keyboard.press("Escape")
    assert field.get_attribute("aria-expanded") == "false"
    assert page.locator("#search-found").is_hidden()
    assert field.input_value() == ""


def test_enter_opens_a_user_and_an_item(page: Page) -> None:
    _start(page)
    page.keyboard.type("user 123")
    page.get_by_role("option", name="user 123").wait_for()
    page.keyboard.press("Enter")
    until(page, lambda: page.locator(".has h2").inner_text() == "user 123")
    page.keyboard.press("/")
    page.keyboard.type("plain tea 3")
    page.get_by_role("option", name="plain tea 3").wait_for()
    page.keyboard.press("Enter")
    until(page, lambda: page.locator("h1").inner_text() == "plain tea 3")


def test_enter_before_the_answer_waits_for_it(page: Page) -> None:
    """What was found by fewer letters is not what Enter means."""
    _start(page)
    page.keyboard.type("plain tea")
    page.get_by_role("option").first.wait_for()

    held: list[Route] = []
    holds = [True]

    def hold(route: Route) -> None:
        if holds[0]:
            held.append(route)
        else:
            route.continue_()

    page.route("**/v1/items?*", hold)
    page.keyboard.type(" 3")
    page.keyboard.press("Enter")
    until(page, lambda: bool(held))
    holds[0] = False
    for route in held:
        route.continue_()
    until(page, lambda: page.locator("h1").inner_text() == "plain tea 3")


def test_one_request_at_a_time_and_never_an_old_answer(page: Page) -> None:
    _start(page)
    held: dict[str, list[Route]] = {"/v1/items": [], "/v1/users": []}

    def hold(route: Route) -> None:
        parts = urlsplit(route.request.url)
        if "q" in parse_qs(parts.query):
            held[parts.path].append(route)
        else:
            route.continue_()

    page.route("**/v1/items*", hold)
    page.route("**/v1/users*", hold)
    page.keyboard.type("tea 1", delay=10)
    until(page, lambda: all(held.values()))
    settled(page, 300)
    assert {len(some) for some in held.values()} == {1}
    for some in held.values():
        some.pop().continue_()
    until(page, lambda: all(held.values()))
    assert page.locator("#search-found").is_hidden()  # the answer to "t" is not shown
    for some in held.values():
        (route,) = some
        assert parse_qs(urlsplit(route.request.url).query)["q"] == ["tea 1"]
        route.continue_()
    page.get_by_role("option").first.wait_for()
    assert all("tea 1" in one for one in _options(page))


def test_nothing_found_and_a_service_that_does_not_answer(page: Page, trouble: Any) -> None:
    _start(page)
    page.keyboard.type("zzzzzz")
    until(page, lambda: "Nothing contains “zzzzzz”." in page.inner_text("#search-found"))
    page.route("**/v1/users?q*", lambda route: route.abort())

    def one_more_letter() -> bool:
        page.keyboard.type("z")
        page.wait_for_timeout(200)
        return "does not answer" in page.inner_text("#search-found")

    until(page, one_more_letter)
    trouble.forgive("ERR_FAILED")


def test_what_means_harm_is_found_and_stays_text(page: Page) -> None:
    _start(page)
    for harm in HARM:
        # a field of one line takes neither lines nor what cannot be typed
        letters = harm.split("\x00")[0].strip().split("\n")[0]
        wanted = printable(letters)
        page.locator("#search").fill(letters)
        until(page, lambda: any(wanted in one for one in _options(page)))  # noqa: B023
        bad = "#search-found img, #search-found script, #search-found b"
        assert page.locator(bad).count() == 0, harm
        page.keyboard.press("Escape")
