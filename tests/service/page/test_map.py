"""The Map panel in a browser: what is drawn, picked, listed and kept in the address."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.support.browsing import (
    SCHEMES,
    expect,
    items_of,
    open_panel,
    scrolls_sideways,
    settled,
    state_of,
    until,
)
from tests.support.page_shop import HIDDEN

if TYPE_CHECKING:
    from playwright.sync_api import Page

DRAWN = ".legend li"
USER = "user 020"


def opened(page: Page, **query: Any) -> None:
    """The panel with its points drawn."""
    open_panel(page, "map", **query)
    page.wait_for_selector("canvas.points")


def address(page: Page) -> dict[str, str]:
    return {name: values[0] for name, values in state_of(page).items()}


def pixels(page: Page, canvas: str) -> dict[str, int]:
    """How many pixels of a canvas have each colour. A copy is read: who reads the canvas itself
    again and again gets a warning of the browser."""
    found: dict[str, int] = page.evaluate(
        """name => {
          const canvas = document.querySelector(name), found = {};
          const copy = new OffscreenCanvas(canvas.width, canvas.height);
          const context = copy.getContext("2d", { willReadFrequently: true });
          context.drawImage(canvas, 0, 0);
          const { data } = context.getImageData(0, 0, canvas.width, canvas.height);
          for (let at = 0; at < data.length; at += 4) {
            if (data[at + 3] === 0) continue;
            const key = `${data[at]},${data[at + 1]},${data[at + 2]}`;
            found[key] = (found[key] ?? 0) + 1;
          }
          return found;
        }""",
        canvas,
    )
    return found


def colours_drawn(page: Page) -> dict[str, int]:
    """Of the points; the commonest is the ground."""
    return pixels(page, "canvas.points")


def _painted(page: Page) -> int:
    """How many pixels the marks have."""
    return sum(pixels(page, "canvas.marks").values())


def legend(page: Page) -> list[tuple[str, int]]:
    found = []
    for row in page.locator(DRAWN).all():
        count = row.locator(".number").last.inner_text().split()[0]
        found.append((row.locator(".what").inner_text(), int(count)))
    return found


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
def test_all_listed_items_are_drawn_with_a_legend(
    page: Page, api: httpx.Client, scheme: str
) -> None:
    opened(page)
    listed = len(api.get("/v1/map").json()["items"])
    assert listed == 239  # one is hidden
    assert sum(count for _, count in legend(page)) == listed
    assert f"{listed} items" in page.locator("#map-says").inner_text()

    def points() -> int:
        drawn = colours_drawn(page)
        return sum(drawn.values()) - max(drawn.values())

    until(page, lambda: points() > 2 * listed)
    drawn = colours_drawn(page)
    ground = max(drawn, key=lambda one: drawn[one])
    assert ground == {"dark": "27,32,31", "light": "255,255,255"}[scheme]


def test_categories_have_names_numbers_and_counts(page: Page, api: httpx.Client) -> None:
    opened(page)
    page.locator(".tools select").select_option("category")
    page.wait_for_function("() => document.querySelector('.legend .what').textContent.length < 10")
    assert address(page)["colour"] == "category"
    answer = api.get("/v1/map/colours", params={"by": "category"}).json()
    assert legend(page) == [(band["label"], band["count"]) for band in answer["legend"]]
    until(page, lambda: len(colours_drawn(page)) > 3)
    page.locator(DRAWN).nth(1).get_by_role("button").click()
    page.wait_for_selector('.legend button[aria-pressed="true"]')
    assert address(page)["only"] == str(answer["legend"][1]["first"])
    until(page, lambda: len(colours_drawn(page)) == 3)  # ground, the class, all others


def test_a_click_marks_an_item_and_a_link_shows_it_again(page: Page, api: httpx.Client) -> None:
    opened(page)
    item = api.get("/v1/map").json()["items"][0]
    page.mouse.click(*place_of(page, api, item))
    link = page.get_by_role("region", name="Marked item").get_by_role("link").first
    link.wait_for()
    marked, name = address(page)["item"], link.inner_text()
    page.goto(page.url)
    expect(link).to_have_text(name)
    page.locator(".tools select").select_option("item")
    page.wait_for_function(
        "() => document.querySelector('.legend .what').textContent.includes('bits')"
    )
    answer = api.get("/v1/map/colours", params={"by": "distance", "item": marked}).json()
    assert legend(page)[0][0] == answer["legend"][0]["label"]
    link.click()
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
    settled(page, 500)
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
    counts = [int(text.split()[0]) for text in card.locator("li .number").all_inner_texts()]
    assert counts == sorted(counts, reverse=True)
    outline = _painted(page)  # it stays, with rings around what is inside
    assert outline > 2000
    card.get_by_role("button", name="Close").click()
    card.wait_for(state="detached")
    until(page, lambda: _painted(page) < outline / 10)


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
    best = items_of(api, "recommend", user=USER, k=20)
    card = page.get_by_role("region", name=f"Recommended to {USER}")
    card.wait_for()
    assert card.locator("li").count() == len(best)
    shown = [link.inner_text() for link in card.locator("li a:first-child").all()]
    assert shown[3] == best[3]["name"]
    own = items_of(api, "map/items", user=USER)
    assert page.get_by_role("region", name=f"History of {USER}").locator("li").count() == len(own)
    assert legend(page)[0][0].endswith("bits")
    assert _painted(page)


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


def test_what_if_they_also_had_counts_here_too(page: Page, api: httpx.Client) -> None:
    more = ["i100", "i101"]
    opened(page, user=USER, items=more, colour="user")
    card = page.get_by_role("region", name=f"Recommended to {USER} if they also had")
    card.wait_for()
    query = {"user": USER, "items": more}
    best = items_of(api, "recommend", **query, k=20)
    assert card.locator("li a:first-child").all_inner_texts() == [one["name"] for one in best]
    answer = api.get("/v1/map/colours", params={"by": "distance", **query}).json()
    assert legend(page) == [(band["label"], band["count"]) for band in answer["legend"]]
    had = page.get_by_role("region", name="What if they also had")
    assert had.locator("li").count() == 2
    had.get_by_role("button", name="Close").click()
    page.get_by_role("region", name=f"Recommended to {USER}: numbered squares").wait_for()
    assert "items" not in address(page)


@pytest.mark.parametrize("scheme", SCHEMES)
def test_a_pressed_button_can_be_read_under_the_pointer(page: Page) -> None:
    opened(page, colour="category")
    page.get_by_role("button", name=re.compile("^Lasso")).click()
    page.locator(DRAWN).nth(1).get_by_role("button").click()
    pressed = page.locator('.tools [aria-pressed="true"], .legend [aria-pressed="true"]')
    assert pressed.count() == 2
    for button in pressed.all():
        button.hover()
        ratio = button.evaluate(
            """button => {
              const light = (text) => {
                const parts = text.match(/[\\d.]+/g).slice(0, 3).map((part) => part / 255);
                const [r, g, b] = parts.map((c) => ((c + .055) / 1.055) ** 2.4);
                return .2126 * r + .7152 * g + .0722 * b + .05;
              };
              const { color, backgroundColor } = getComputedStyle(button);
              const both = [light(color), light(backgroundColor)];
              return Math.max(...both) / Math.min(...both);
            }"""
        )
        assert ratio > 4.5


def test_show_centres_an_item_and_keeps_the_zoom(page: Page, api: httpx.Client) -> None:
    opened(page, zoom="2.00", x="0", y="0")
    page.get_by_role("button", name="List what is in view").click()
    card = page.get_by_role("region", name="In view")
    card.wait_for()
    link = card.locator(".find").nth(3)
    name = card.locator("li a:first-child").nth(3).inner_text()
    link.click()
    page.get_by_role("region", name="Marked item").get_by_role("link", name=name).first.wait_for()
    seen, places = address(page), api.get("/v1/map").json()
    at = places["items"].index(seen["item"])
    assert seen["zoom"] == "2.00"
    assert (int(seen["x"]), int(seen["y"])) == (places["x"][at], places["y"][at])


def test_the_list_of_what_is_in_view_follows_the_view(page: Page) -> None:
    opened(page)
    page.get_by_role("button", name="List what is in view").click()
    count = page.get_by_role("region", name="In view").locator("h2 .number")
    count.wait_for()
    assert count.inner_text() == "239"
    for _ in range(3):
        page.get_by_role("button", name="Zoom in").click()
    page.wait_for_function("() => location.search.includes('zoom=3')")
    until(page, lambda: int(count.inner_text()) < 239)
    page.get_by_role("button", name="Show all").click()
    until(page, lambda: count.inner_text() == "239")


def test_classes_have_letters_and_other_bands_no_sign(page: Page) -> None:
    opened(page, colour="category")
    signs = page.locator(".legend .mono").all_inner_texts()
    assert signs == [chr(65 + at) for at in range(page.locator(DRAWN).count())]
    opened(page)
    assert page.locator(".legend .mono").count() == 0


@pytest.mark.parametrize("width", [390, 1280])
def test_hands_mice_and_readers_are_told_what_they_can_do(page: Page, width: int) -> None:
    opened(page)
    canvas = page.get_by_role("application")
    assert "Map of items" in (canvas.get_attribute("aria-label") or "")
    assert canvas.get_attribute("aria-describedby") == "map-says"
    words = page.locator("#map-says").inner_text()
    assert "alike" in words
    assert "lasso" in words
    assert ("pinch" in words) == page.evaluate("matchMedia('(hover: none)').matches")
