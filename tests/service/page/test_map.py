"""The Map panel in a browser: what is drawn, picked, listed and kept in the address."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any
from urllib.parse import parse_qs, urlparse

import httpx
import pytest

from xorec.testing.browsing import SCHEMES, scrolls_sideways
from xorec.testing.page_shop import HARM, HIDDEN

if TYPE_CHECKING:
    from playwright.sync_api import Page

DRAWN = ".legend li"
USER = "user 020"


def opened(page: Page, **query: Any) -> None:
    """The panel with its points drawn."""
    page.goto(f"/?{httpx.QueryParams({'panel': 'map', **query})}")
    page.wait_for_selector(DRAWN)
    page.wait_for_selector("canvas.points")


def address(page: Page) -> dict[str, str]:
    return {name: value[0] for name, value in parse_qs(urlparse(page.url).query).items()}


def colours_drawn(page: Page) -> dict[str, int]:
    """How many pixels have each colour; the commonest is the ground. A copy is read: who reads the
    canvas itself again and again gets a warning of the browser."""
    found: dict[str, int] = page.evaluate(
        """() => {
          const canvas = document.querySelector("canvas.points"), found = {};
          const copy = new OffscreenCanvas(canvas.width, canvas.height);
          const context = copy.getContext("2d", { willReadFrequently: true });
          context.drawImage(canvas, 0, 0);
          const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
          for (let at = 0; at < data.length; at += 4) {
            const key = `${data[at]},${data[at + 1]},${data[at + 2]}`;
            found[key] = (found[key] ?? 0) + 1;
          }
          return found;
        }"""
    )
    return found


def legend(page: Page) -> list[tuple[str, int]]:
    rows = page.locator(DRAWN).all()
    return [
        (row.locator(".what").inner_text(), int(row.locator(".number").last.inner_text()))
        for row in rows
    ]


def place_of(page: Page, api: httpx.Client, item: str) -> tuple[float, float]:
    """Where an item is on the screen while all is shown."""
    answer = api.get("/v1/map").json()
    at = answer["items"].index(item)
    box = page.locator("canvas.points").bounding_box()
    assert box is not None
    scale = 0.48 * min(box["width"], box["height"]) / 32768
    x = box["x"] + box["width"] / 2 + answer["x"][at] * scale
    return x, box["y"] + box["height"] / 2 - answer["y"][at] * scale


@pytest.mark.parametrize("scheme", SCHEMES)
def test_all_listed_items_are_drawn_with_a_legend(page: Page, api: httpx.Client) -> None:
    opened(page)
    listed = len(api.get("/v1/map").json()["items"])
    assert listed == 239  # one is hidden
    assert sum(count for _, count in legend(page)) == listed
    assert f"{listed} items" in page.locator("#map-says").inner_text()
    page.wait_for_timeout(300)
    drawn = colours_drawn(page)
    ground = max(drawn, key=lambda one: drawn[one])
    assert ground == (
        "27,32,31"
        if page.evaluate("matchMedia('(prefers-color-scheme: dark)').matches")
        else "255,255,255"
    )
    assert sum(drawn.values()) - drawn[ground] > 2 * listed


def test_categories_have_names_numbers_and_counts(page: Page, api: httpx.Client) -> None:
    opened(page)
    page.locator(".tools select").select_option("category")
    page.wait_for_function("() => document.querySelector('.legend .what').textContent.length < 10")
    assert address(page)["colour"] == "category"
    answer = api.get("/v1/map/colours", params={"by": "category"}).json()
    assert legend(page) == [(band["label"], band["count"]) for band in answer["legend"]]
    before = len(colours_drawn(page))
    page.locator(DRAWN).nth(1).get_by_role("button").click()
    page.wait_for_selector('.legend button[aria-pressed="true"]')
    assert address(page)["only"] == str(answer["legend"][1]["first"])
    page.wait_for_timeout(200)
    assert len(colours_drawn(page)) == 3 < before  # ground, the class, all others


def test_a_click_marks_an_item_and_a_link_shows_it_again(page: Page, api: httpx.Client) -> None:
    opened(page)
    item = api.get("/v1/map").json()["items"][0]
    page.mouse.click(*place_of(page, api, item))
    card = page.get_by_role("region", name="Marked item")
    card.wait_for()
    marked = address(page)["item"]
    name = card.get_by_role("link").first.inner_text()
    page.goto(page.url)
    page.get_by_role("region", name="Marked item").wait_for()
    assert (
        page.get_by_role("region", name="Marked item").get_by_role("link").first.inner_text()
        == name
    )
    page.locator(".tools select").select_option("item")
    page.wait_for_function(
        "() => document.querySelector('.legend .what').textContent.includes('bits')"
    )
    answer = api.get("/v1/map/colours", params={"by": "distance", "item": marked}).json()
    assert legend(page)[0][0] == answer["legend"][0]["label"]
    page.get_by_role("region", name="Marked item").get_by_role("link").first.click()
    page.wait_for_function("() => new URLSearchParams(location.search).get('panel') === 'item'")
    assert address(page)["item"] == marked


def test_keys_and_buttons_move_the_view_which_stands_in_the_address(page: Page) -> None:
    opened(page)
    canvas = page.locator("canvas.points")
    canvas.focus()
    page.keyboard.press("+")
    page.keyboard.press("+")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => location.search.includes('zoom=1.00')")
    seen = address(page)
    assert float(seen["x"]) > 0
    page.goto(page.url)
    page.wait_for_selector(DRAWN)
    page.locator("canvas.points").focus()
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("-")
    page.keyboard.press("-")
    page.keyboard.press("0")
    page.wait_for_function("() => !location.search.includes('zoom')")
    page.get_by_role("button", name="Zoom in").click()
    page.wait_for_function("() => location.search.includes('zoom=1.00')")


def test_the_wheel_keeps_what_is_under_the_pointer(page: Page, api: httpx.Client) -> None:
    opened(page)
    places = api.get("/v1/map").json()
    x, y = place_of(page, api, places["items"][3])
    page.mouse.move(x, y)
    for _ in range(8):
        page.mouse.wheel(0, -120)
    page.wait_for_function("() => /zoom=[2-4]/.test(location.search)")  # a busy browser joins turns
    page.wait_for_timeout(500)
    seen, box = address(page), page.locator("canvas.points").bounding_box()
    assert box is not None
    scale = 2 ** float(seen["zoom"]) * 0.48 * min(box["width"], box["height"]) / 32768
    under = float(seen["x"]) + (x - box["x"] - box["width"] / 2) / scale
    assert under == pytest.approx(places["x"][3], abs=100)


def test_a_lasso_gives_the_list_of_what_is_inside(page: Page, api: httpx.Client) -> None:
    opened(page)
    box = page.locator("canvas.points").bounding_box()
    assert box is not None
    page.get_by_role("button", name=re.compile("^Lasso")).click()
    left, top = box["x"] + 3, box["y"] + 3
    middle, bottom = box["x"] + box["width"] / 2, box["y"] + box["height"] - 3
    page.mouse.move(left, top)
    page.mouse.down()
    for x, y in ((middle, top), (middle, bottom), (left, bottom), (left, top)):
        page.mouse.move(x, y, steps=4)
    page.mouse.up()
    card = page.get_by_role("region", name="In the lasso")
    card.wait_for()
    places = api.get("/v1/map").json()
    inside = [one for one, x in zip(places["items"], places["x"], strict=True) if x < 0]
    count = int(card.locator("h2 .number").inner_text())
    assert abs(count - len(inside)) <= 2
    assert card.locator("li").count() == min(count, 200)
    counts = [int(text) for text in card.locator("li .number").all_inner_texts()]
    assert counts == sorted(counts, reverse=True)


def test_by_keyboard_alone_items_in_view_become_a_list(page: Page) -> None:
    opened(page)
    page.locator("canvas.points").focus()
    page.keyboard.press("l")
    card = page.get_by_role("region", name="In view")
    card.wait_for()
    assert card.locator("h2 .number").inner_text() == "239"
    assert card.locator("li").count() == 200
    assert HIDDEN not in card.inner_text()
    page.keyboard.press("Escape")
    card.wait_for(state="detached")


def test_a_user_has_history_and_list_on_the_map(page: Page, api: httpx.Client) -> None:
    opened(page, user=USER, colour="user")
    best = api.get("/v1/recommend", params={"user": USER, "k": 20}).json()["items"]
    card = page.get_by_role("region", name=f"List for {USER}")
    card.wait_for()
    assert card.locator("li").count() == len(best)
    shown = [link.inner_text() for link in card.locator("li a:first-child").all()]
    assert shown[3] == best[3]["name"]
    own = api.get("/v1/map/items", params={"user": USER}).json()["items"]
    assert page.get_by_role("region", name=f"History of {USER}").locator("li").count() == len(own)
    assert legend(page)[0][0].endswith("bits")
    painted = """() => {
      const canvas = document.querySelector("canvas.marks"), context = canvas.getContext("2d");
      return context.getImageData(0, 0, canvas.width, canvas.height).data.some(Boolean);
    }"""
    assert page.evaluate(painted)


def test_ids_that_mean_harm_stay_text(page: Page) -> None:
    for item in HARM:
        opened(page, item=item, colour="item")
        card = page.get_by_role("region", name="Marked item")
        card.wait_for()
        assert card.locator("li").count() == 1
        assert card.locator("script, img").count() == 0


def test_what_is_found_is_shown_on_the_map(page: Page) -> None:
    opened(page)
    page.keyboard.press("/")
    page.keyboard.type("green tea")
    page.get_by_role("option").first.wait_for()
    page.keyboard.press("Enter")
    page.get_by_role("region", name="Marked item").wait_for()
    assert address(page)["panel"] == "map"


def test_a_model_without_codes_has_a_map_but_no_bits(page: Page, trouble: Any) -> None:
    opened(page, model="slim", user=USER, colour="user")
    assert legend(page)[0][0] == "the best 0.1 %"
    page.locator(".tools select").select_option("bit")
    page.get_by_role("alert").wait_for()
    assert "has no codes" in page.get_by_role("alert").inner_text()
    trouble.forgive("422")


def test_one_bit(page: Page) -> None:
    opened(page, colour="bit", bit=5)
    assert {label for label, _ in legend(page)} == {"bit 5 is 0", "bit 5 is 1"}
    page.locator(".tools input").fill("9")
    page.locator(".tools input").press("Enter")
    page.wait_for_function("() => document.querySelector('.legend').textContent.includes('bit 9')")
    assert address(page)["bit"] == "9"


def test_what_is_pointed_at_is_named(page: Page, api: httpx.Client) -> None:
    opened(page)
    item = api.get("/v1/map").json()["items"][5]
    x, y = place_of(page, api, item)
    page.mouse.move(x - 40, y - 40)
    page.mouse.move(x, y)
    page.wait_for_selector(".tip:not([hidden])")
    assert re.search(r"\d+ users", page.locator(".tip").inner_text())


@pytest.mark.parametrize("width", [390])
def test_a_narrow_window_with_touch(page: Page, api: httpx.Client) -> None:
    opened(page, colour="category")
    assert not scrolls_sideways(page)
    x, y = place_of(page, api, api.get("/v1/map").json()["items"][0])
    page.touchscreen.tap(x, y)
    page.get_by_role("region", name="Marked item").wait_for()
    assert not scrolls_sideways(page)


def test_the_canvas_has_words(page: Page) -> None:
    opened(page)
    canvas = page.get_by_role("application")
    assert "Map of items" in (canvas.get_attribute("aria-label") or "")
    assert canvas.get_attribute("aria-describedby") == "map-says"
