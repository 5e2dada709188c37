"""Explore: the page shows what the service answers, and what one does there is felt at once."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import httpx
import numpy as np

from tests.support.browsing import (
    ids_of,
    items_of,
    listed,
    open_panel,
    printable,
    settled,
    state_of,
    until,
)
from tests.support.page_shop import HIDDEN

if TYPE_CHECKING:
    from playwright.sync_api import Page, Route

USER = "user 100"


def _best(api: httpx.Client, **query: Any) -> list[Any]:
    return items_of(api, "recommend", **{"explain": True, "k": 10, **query})


def _code(text: str) -> Any:
    return np.unpackbits(np.frombuffer(bytes.fromhex(text), dtype=np.uint8), bitorder="little")


def test_the_list_as_served_with_names_reasons_and_real_bits(page: Page, api: httpx.Client) -> None:
    open_panel(page, "explore", user=USER)
    best = _best(api, user=USER)
    assert listed(page) == ids_of(best)
    codes = api.get("/v1/codes", params={"user": USER, "of": ids_of(best)}).json()
    cards = page.locator(".items > li").all()
    for place, (card, item, code) in enumerate(zip(cards, best, codes["items"], strict=True), 1):
        assert card.locator(".place .number").inner_text() == str(place)
        assert card.locator(".line a.name").inner_text() == item["name"]
        assert card.locator(".far .number").inner_text() == f"distance {item['distance']} of 64"
        names = card.locator(".because a").all_inner_texts()
        assert names == [one["name"] for one in item["because"]]
        same = _code(codes["user"]) == _code(code["code"])
        drawn = {
            kind: [
                (int(x), int(y))
                for x, y in re.findall(
                    r"M(\d+) (\d+)", card.locator(f".bits .{kind}").get_attribute("d") or ""
                )
            ]
            for kind in ("full", "low")
        }
        places = [4 * bit + 2 * (bit // 8) for bit in range(64)]
        assert [x for x, _ in drawn["full"]] == [
            x for x, one in zip(places, same, strict=True) if one
        ]
        assert len(drawn["low"]) == item["distance"]
    assert re.search(r"[\d.]+ ms in the service", page.inner_text(".took"))


def test_history_with_names(page: Page, api: httpx.Client) -> None:
    open_panel(page, "explore", user=USER)
    history = api.get("/v1/users", params={"user": USER}).json()["users"][0]["history"]
    items = items_of(api, "items", item=history)
    shown = page.locator(".has ol a.name").all_inner_texts()
    assert shown == [printable(one["name"]).strip() for one in reversed(items)]


def test_as_if_owned_ranks_anew_and_says_what_moved(page: Page, api: httpx.Client) -> None:
    open_panel(page, "explore", user=USER)
    before = listed(page)
    page.locator(".items > li .own").nth(2).click()
    after = ids_of(_best(api, user=USER, items=[before[2]]))
    until(page, lambda: listed(page) == after)
    assert before[2] not in after
    assert f"Recommended for {USER}, if they also had " in page.inner_text(".took")
    assert state_of(page)["items"] == [before[2]]
    said = [card.locator(".moved").all_inner_texts() for card in page.locator(".items > li").all()]
    wanted = []
    for at, item in enumerate(after):
        if item not in before:
            wanted.append(["new"])
        else:
            old = before.index(item)
            wanted.append([] if old == at else [f"▲{old - at}" if old > at else f"▼{at - old}"])
    assert said == wanted
    assert any(wanted)
    again = page.context.new_page()  # a link opened anew shows the same
    again.goto(page.url)
    again.locator(".items > li").first.wait_for()
    assert listed(again) == after
    assert again.inner_text(".lists .items") == page.inner_text(".lists .items")
    page.get_by_role("button", name="Take away").click()
    until(page, lambda: listed(page) == before)
    assert page.locator(".moved").count() == 0
    page.go_back()
    until(page, lambda: listed(page) == after)


def test_an_item_is_added_by_its_name(page: Page, api: httpx.Client) -> None:
    open_panel(page, "explore", user=USER)
    page.get_by_role("combobox", name="What if they also had").fill("plain tea 3")
    page.get_by_role("option", name="plain tea 3").click()
    found = items_of(api, "items", q="plain tea 3")[0]["id"]
    until(page, lambda: listed(page) == ids_of(_best(api, user=USER, items=[found])))
    assert page.locator(".has ul a.name").all_inner_texts() == ["plain tea 3"]


def test_somebody_new_picks_items(page: Page, api: httpx.Client) -> None:
    page.goto("/")
    popular = items_of(api, "popular", k=24)
    page.locator(".picks button").first.wait_for()
    assert page.locator(".picks button").count() == len(popular)
    page.locator(".picks button").nth(3).click()
    picked = [popular[3]["id"]]
    until(page, lambda: listed(page) == ids_of(_best(api, items=picked)))
    page.locator(".picks button").nth(0).click()
    picked.append(popular[0]["id"])
    until(page, lambda: listed(page) == ids_of(_best(api, items=picked)))
    assert page.locator(".moved").count() > 0
    assert state_of(page) == {"items": picked}


def test_users_to_try(page: Page, api: httpx.Client) -> None:
    page.goto("/")
    link = page.locator("section .plain a.name").nth(2)
    link.wait_for()
    user = link.inner_text()
    link.click()
    until(page, lambda: listed(page) == ids_of(_best(api, user=user)))


def test_filters_by_category(page: Page, api: httpx.Client) -> None:
    open_panel(page, "explore", user=USER)
    page.locator(".categories summary").click()
    page.get_by_role("searchbox", name="Find a category").fill("te")
    page.get_by_role("button", name="only tea", exact=True).click()
    until(page, lambda: listed(page) == ids_of(_best(api, user=USER, category="tea")))
    assert page.locator(".categories li").count() == 1
    page.get_by_role("searchbox", name="Find a category").fill("")
    page.get_by_role("button", name="only wool", exact=True).click()
    both = {"category": ["tea", "wool"], "not_category": ["<i>cat</i> & 'dog'"]}
    page.get_by_role("button", name="not <i>cat</i>").click()
    until(page, lambda: listed(page) == ids_of(_best(api, user=USER, **both)))
    assert state_of(page) == {"user": [USER], **both}
    page.reload()
    until(page, lambda: listed(page) == ids_of(_best(api, user=USER, **both)))
    assert "only tea or wool; not <i>cat</i> & 'dog'" in page.inner_text(".categories summary")


def test_how_many_and_what_they_have_too(page: Page, api: httpx.Client) -> None:
    open_panel(page, "explore", user=USER)
    page.locator("#k").select_option("20")
    until(page, lambda: listed(page) == ids_of(_best(api, user=USER, k=20)))
    page.get_by_label("include items they already have").check()
    until(page, lambda: listed(page) == ids_of(_best(api, user=USER, k=20, seen=True)))
    assert state_of(page) == {"user": [USER], "k": ["20"], "seen": ["true"]}


def test_hidden_items_are_never_listed(page: Page, api: httpx.Client) -> None:
    hidden = items_of(api, "items", q=HIDDEN)[0]["id"]
    open_panel(page, "explore", user=USER, k=300, seen="true")
    assert len(listed(page)) == 239
    assert hidden not in listed(page)
    assert "marked unavailable are left out" in page.inner_text(".filters")


def test_more_goes_on_without_repeats(page: Page, api: httpx.Client) -> None:
    open_panel(page, "explore", user=USER)
    for count in (20, 30):
        page.get_by_role("button", name="10 more").click()
        until(page, lambda: listed(page) == ids_of(_best(api, user=USER, k=count)))  # noqa: B023
    page.reload()
    until(page, lambda: listed(page) == ids_of(_best(api, user=USER, k=30)))


def test_the_list_ends(page: Page) -> None:
    open_panel(page, "explore", user=USER, k=200, category="tea")
    assert "That is all there is." in page.inner_text(".lists")
    open_panel(page, "explore", user=USER, category="tea", not_category="tea")
    assert "the filters leave none" in page.inner_text(".lists")


def test_an_unknown_user_is_told_so_and_gets_popular_items(page: Page, api: httpx.Client) -> None:
    open_panel(page, "explore", user="nobody")
    popular = items_of(api, "popular", k=10)
    assert listed(page) == ids_of(popular)
    assert "Nothing is known of nobody" in page.inner_text(".lists .notice")
    assert page.locator(".far .number").first.inner_text() == f"{popular[0]['score']:.0f} users"
    page.locator(".items > li .own").first.click()
    until(page, lambda: listed(page) == ids_of(_best(api, user="nobody", items=[popular[0]["id"]])))


def test_items_that_the_model_does_not_know_are_named(page: Page, api: httpx.Client) -> None:
    open_panel(page, "explore", user=USER, items=["i100", "no such <b>"])
    assert listed(page) == ids_of(_best(api, user=USER, items=["i100"]))
    assert "does not know: no such <b>" in page.inner_text(".lists .notice")


def test_a_model_without_codes_shows_scores(page: Page, api: httpx.Client) -> None:
    open_panel(page, "explore", user=USER, model="slim")
    best = _best(api, user=USER, model="slim")
    assert listed(page) == ids_of(best)
    bars = page.locator(".bits .full").evaluate_all("all => all.map(e => +e.getAttribute('width'))")
    assert bars == [round(240 * one["score"] / best[0]["score"]) for one in best]
    assert "no codes" in page.inner_text(".legend >> nth=0")


def test_by_the_keyboard_alone(page: Page, api: httpx.Client) -> None:
    page.goto("/")
    page.get_by_role("navigation", name="Panels").wait_for()
    page.keyboard.press("/")
    page.keyboard.type("user 100")
    page.get_by_role("option", name="user 100").wait_for()
    page.keyboard.press("Enter")
    best = ids_of(_best(api, user=USER))
    until(page, lambda: listed(page) == best)
    focused = "document.activeElement.dataset.id ?? ''"
    page.keyboard.press("ArrowDown")
    assert page.evaluate(focused) == best[0]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowUp")
    assert page.evaluate(focused) == best[1]
    page.keyboard.press("o")
    after = ids_of(_best(api, user=USER, items=[best[1]]))
    until(page, lambda: listed(page) == after)
    assert page.evaluate(focused) == after[1]  # the next one has come to its place
    page.keyboard.press("Enter")
    until(page, lambda: "panel=item" in page.url)
    assert state_of(page)["item"] == [after[1]]
    assert state_of(page)["user"] == [USER]
    page.keyboard.press("Alt+1")
    until(page, lambda: listed(page) == after)


def test_cards_glide_unless_the_system_asks_for_calm(page: Page) -> None:
    count = "document.getAnimations().filter(one => !(one instanceof CSSTransition)).length"
    for motion, moving in (("reduce", False), ("no-preference", True)):
        page.emulate_media(reduced_motion=motion)  # type: ignore[arg-type]
        open_panel(page, "explore", user=USER)
        before = listed(page)
        page.evaluate(
            f"""() => {{
                window.most = 0;
                const look = () => {{
                    window.most = Math.max(window.most, {count});
                    requestAnimationFrame(look);
                }};
                look();
            }}"""
        )
        page.locator(".items > li .own").nth(0).click()
        until(page, lambda: listed(page) != before)  # noqa: B023
        settled(page)
        assert (page.evaluate("window.most") > 0) is moving


def test_a_list_that_scores_have_ranked_says_so(page: Page, api: httpx.Client) -> None:
    def turned(route: Route) -> None:
        answer = route.fetch()
        body = answer.json()
        body["items"].reverse()
        route.fulfill(response=answer, json=body)

    page.route("**/v1/recommend*", turned)
    open_panel(page, "explore", user=USER)
    best = _best(api, user=USER)[::-1]
    assert listed(page) == ids_of(best)
    assert "a finer score ranks them" in page.inner_text(".legend >> nth=0")
    assert re.match(
        r"score [\d.]+, distance \d+ of 64", page.locator(".far .number").first.inner_text()
    )


def test_scores_of_a_list_have_the_same_digits(page: Page) -> None:
    page.goto("/")
    script = """async values => {
        const { scored } = await import("/page/js/figures.js");
        return values.map(scored);
    }"""
    found = page.evaluate(script, [0.3, 0.2999, 12.5, 150.25, 1234, -7])
    assert found == ["0.300", "0.300", "12.500", "150.3", "1,234", "-7"]


def test_the_start_says_what_this_is(page: Page) -> None:
    page.goto("/")
    words = page.locator(".intro").inner_text()
    assert page.title() == "Explore · xorec"
    assert "recommends items to users" in words
    assert "320 users and 240 items" in words
    assert "default (dsiml" in words
    assert "slim (slim" in words


def test_the_focus_is_kept_where_a_pick_begins_a_list(page: Page) -> None:
    page.goto("/")
    page.locator(".picks button").nth(3).focus()
    page.keyboard.press("Enter")
    page.locator(".items > li").first.wait_for()
    assert page.evaluate("document.activeElement.id") == "main"


def test_all_of_a_long_history_can_be_seen(page: Page, api: httpx.Client) -> None:
    items = [f"i{row:03}" for row in range(100, 160)]
    events = [{"user": "who has much", "item": item} for item in items]
    assert api.post("/v1/events", json={"events": events}).status_code == 200
    open_panel(page, "explore", user="who has much")
    assert page.locator(".has ol > li").count() == 40
    page.get_by_role("button", name="and 20 before these").click()
    until(page, lambda: page.locator(".has ol > li").count() == 60)
    shown = page.locator(".has ol a.name").all_inner_texts()
    known = items_of(api, "items", item=items)
    assert sorted(shown) == sorted(one["name"] for one in known)
