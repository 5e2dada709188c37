"""The frame of the page: head, tabs, keys, colours, what happens at the edges."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import pytest

from tests.support.browsing import SCHEMES, WIDTHS, Trouble, listed, scrolls_sideways, until

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("scheme", SCHEMES)
def test_it_opens(page: Page, width: int, scheme: str) -> None:
    page.goto("/")
    page.get_by_role("navigation", name="Panels").wait_for()
    assert page.title() == "Explore · xorec"
    assert not scrolls_sideways(page)


def test_a_link_with_a_state_is_the_page(page: Page) -> None:
    answer = page.goto("/?panel=explore&items=i100&items=i101&user=user%20100")
    assert answer is not None
    assert answer.status == 200
    page.get_by_role("navigation", name="Panels").wait_for()


def test_tabs_keep_the_focus_and_keys_change_panels(page: Page) -> None:
    page.goto("/?user=user%20100")
    page.locator(".items > li").first.wait_for()
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
    page.goto("/?user=user%20100")
    page.locator(".items > li").first.wait_for()
    page.get_by_label("Model").select_option("slim")
    best = api.get("/v1/recommend", params={"user": "user 100", "model": "slim"}).json()["items"]
    until(page, lambda: listed(page) == [one["id"] for one in best])
    page.reload()
    until(page, lambda: listed(page) == [one["id"] for one in best])


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
    page.goto("/?user=user%20100")
    page.locator(".items > li").first.wait_for()
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
    page.goto("/?user=user%20100")
    page.locator(".items > li").first.wait_for()
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the panel"
    page.keyboard.press("Enter")
    until(page, lambda: page.evaluate("document.activeElement.id") == "main")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the list"
    page.keyboard.press("Enter")
    first = page.evaluate("document.activeElement.dataset.id ?? ''")
    assert first == listed(page)[0]
