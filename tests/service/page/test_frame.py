"""The frame of the page: head, tabs, keys, colours, what happens at the edges."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.support.browsing import (
    SCHEMES,
    WIDTHS,
    Trouble,
    expect,
    ids_of,
    items_of,
    listed,
    open_panel,
    printable,
    scrolls_sideways,
    until,
)
from tests.support.page_shop import HARM

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route


STATES: tuple[tuple[str, dict[str, Any]], ...] = (
    ("explore", {}),
    ("explore", {"user": "user 100"}),
    ("explore", {"user": "🍵 tea", "items": HARM, "k": 50, "seen": "true"}),
    ("explore", {"user": "x" * 1024}),
    ("explore", {"items": ["🍵 tea", "a/b"], "model": "slim"}),
    ("item", {}),
    *(("item", {"item": item}) for item in ("i100", *HARM[:3], "🍵 tea")),
    ("map", {"colour": "category"}),
    ("compare", {"user": "user 100"}),
    ("live", {}),
)


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_nothing_hangs_over_the_edge(page: Page, width: int, scheme: str) -> None:
    for panel, state in STATES:
        open_panel(page, panel, **state)
        for details in page.locator("main details").all():
            if not details.evaluate("e => e.open"):
                details.locator("summary").click()
        assert not scrolls_sideways(page), (panel, state)
    ground = page.evaluate("getComputedStyle(document.body).backgroundColor")
    assert (sum(map(int, re.findall(r"\d+", ground)[:3])) > 384) is (scheme == "light")


@pytest.mark.parametrize("panel", ["explore", "item", "compare", "map"])
def test_ids_that_mean_harm_stay_text(page: Page, api: httpx.Client, panel: str) -> None:
    for harm in HARM:
        own = {"user": harm, "items": [harm], "k": 50, "seen": True}
        asked: dict[str, tuple[dict[str, Any], str, dict[str, Any]]] = {
            "explore": ({**own, "seen": "true"}, "recommend", own),
            "item": ({"item": harm}, "similar", {"item": harm}),
            "compare": ({"user": harm}, "recommend", {"user": harm, "model": "slim"}),
            "map": ({"item": harm, "colour": "item"}, "items", {"item": harm}),
        }
        state, path, query = asked[panel]
        open_panel(page, panel, **state)
        wanted = items_of(api, path, **query)
        if panel == "compare":
            links = page.locator(".side").nth(1).locator("li a:first-of-type")
            assert links.evaluate_all("all => all.map(e => e.title)") == ids_of(wanted), harm
        elif panel == "map":
            card = page.get_by_role("region", name="Marked item")
            expect(card.locator("li")).to_have_count(1)
        else:
            assert listed(page) == ids_of(wanted), harm
            title = page.locator(".has h2" if panel == "explore" else ".facts .id")
            assert title.evaluate("e => e.textContent") == printable(harm)
        assert page.locator("main :is(img, script, i), main b > *").count() == 0, harm
        if panel in ("explore", "item"):
            assert page.locator("main b").count() == 0, harm
        assert not scrolls_sideways(page), harm


def test_a_link_with_a_state_is_the_page(page: Page) -> None:
    answer = page.goto("/?panel=explore&items=i100&items=i101&user=user%20100")
    assert answer is not None
    assert answer.status == 200
    page.get_by_role("navigation", name="Panels").wait_for()


def test_tabs_keep_the_focus_and_keys_change_panels(page: Page) -> None:
    open_panel(page, "explore", user="user 100")
    page.get_by_role("link", name="Item", exact=True).focus()
    page.keyboard.press("Enter")
    page.get_by_role("heading", name="Look at an item").wait_for()
    assert page.evaluate("document.activeElement.textContent") == "Item"
    assert page.get_by_role("link", name="Item", exact=True).get_attribute("aria-current") == "page"
    page.keyboard.press("Alt+1")
    page.locator(".items > li").first.wait_for()
    assert "user=user+100" in page.url


def test_colours_can_be_chosen_and_stay(page: Page) -> None:
    page.goto("/")
    ground = "getComputedStyle(document.body).backgroundColor"
    light = page.evaluate(ground)
    button = page.get_by_role("button", name="Colours")
    button.click()
    button.click()
    dark = page.evaluate(ground)
    assert dark != light
    page.reload()
    button.wait_for()
    assert page.evaluate(ground) == dark


def test_the_other_model_is_one_choice_away(page: Page, api: httpx.Client) -> None:
    open_panel(page, "explore", user="user 100")
    page.get_by_label("Model").select_option("slim")
    best = ids_of(items_of(api, "recommend", user="user 100", model="slim"))
    until(page, lambda: listed(page) == best)
    page.reload()
    until(page, lambda: listed(page) == best)


def test_a_service_with_keys_asks_for_one(page: Page, trouble: Trouble) -> None:
    def guard(route: Route) -> None:
        if route.request.headers.get("x-api-key") == "a-key-of-the-shop":
            route.continue_()
            return
        problem = {"title": "Unauthorized", "status": 401, "detail": "give a key."}
        route.fulfill(status=401, json=problem, content_type="application/problem+json")

    page.route("**/v1/**", guard)
    page.goto("/?user=user%20100")
    page.get_by_label("This service asks for a key").fill("a-key-of-the-shop")
    page.keyboard.press("Enter")
    page.locator(".items > li").first.wait_for()
    assert page.locator("#key-form").count() == 0
    assert "a-key" not in page.url
    trouble.forgive("401")


def test_a_service_that_does_not_answer_is_said_in_words(page: Page, trouble: Trouble) -> None:
    open_panel(page, "explore", user="user 100")
    page.route("**/v1/recommend*", lambda route: route.abort())
    page.locator(".items > li .own").first.click()
    page.get_by_role("alert").wait_for()
    assert "does not answer" in page.get_by_role("alert").inner_text()
    assert len(listed(page)) == 10  # what was there stays
    page.unroute("**/v1/recommend*")
    page.go_back()
    page.get_by_role("alert").wait_for(state="detached")
    trouble.forgive("ERR_FAILED")


def test_a_model_that_is_not_there_has_a_way_out(page: Page) -> None:
    for panel in ("explore", "item", "map"):
        page.goto(f"/?panel={panel}&user=user%20100&item=i100&model=nothing")
        page.get_by_role("alert").wait_for()
        assert "no model “nothing”" in page.get_by_role("alert").inner_text()
        page.get_by_role("link", name="Use default").click()
        page.get_by_role("alert").wait_for(state="detached")
        page.locator(".items > li, .legend li").first.wait_for()
        assert "model" not in page.url


def test_letters_do_not_change_the_model_and_the_search_is_one_key_away(page: Page) -> None:
    page.goto("/?user=user%20100")
    menu = page.get_by_label("Model")
    menu.focus()
    page.keyboard.type("sli")
    assert menu.input_value() == "default"
    assert "model" not in page.url
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.press("Alt+4")
    page.locator(".lists").wait_for()
    assert page.locator(".picker select").is_disabled()


def test_skipping_to_the_panel_and_to_the_list(page: Page) -> None:
    open_panel(page, "explore", user="user 100")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the panel"
    page.keyboard.press("Enter")
    until(page, lambda: page.evaluate("document.activeElement.id") == "main")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the list"
    page.keyboard.press("Enter")
    first = page.evaluate("document.activeElement.dataset.id ?? ''")
    assert first == listed(page)[0]
