"""Item: facts, similar items, owners, the tie at the end of the list: as the service has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

import httpx
import numpy as np
import pytest

from tests.support.browsing import (
    Trouble,
    expect,
    ids_of,
    items_of,
    listed,
    open_panel,
    printable,
    until,
)
from tests.support.page_shop import HIDDEN, shop_data

if TYPE_CHECKING:
    from playwright.sync_api import Page

ITEM = "i100"


def _facts(page: Page) -> dict[str, str]:
    rows = page.locator(".facts tr").all()
    return {row.locator("th").inner_text(): row.locator("td").inner_text() for row in rows}


def test_facts(page: Page, api: httpx.Client) -> None:
    open_panel(page, "item", item=ITEM)
    known = items_of(api, "items", item=ITEM)[0]
    assert page.locator("h1").inner_text() == known["name"]
    assert _facts(page) == {
        "id": ITEM,
        "categories": "\n".join(known["categories"]),
        "users": f"{known['count']} have it",
        "popularity": f"place {known['rank']} of 240",
        "available": "yes",
    }


def test_similar_items_and_the_way_to_them(page: Page, api: httpx.Client) -> None:
    open_panel(page, "item", item=ITEM, k=20)
    near = items_of(api, "similar", item=ITEM, k=20)
    assert listed(page) == ids_of(near)
    far = page.locator(".items .far .number").all_inner_texts()
    assert far == [f"distance {one['distance']} of 64" for one in near]
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    page.keyboard.press("Enter")
    until(page, lambda: page.locator("h1").inner_text() == near[1]["name"])


@pytest.mark.parametrize("k", [3, 10, 50])
def test_the_size_of_the_tie_where_the_list_ends(page: Page, api: httpx.Client, k: int) -> None:
    open_panel(page, "item", item=ITEM, k=k)
    near = [one["distance"] for one in items_of(api, "similar", item=ITEM, k=k)]
    ids = [str(one) for one in shop_data().items]
    codes = items_of(api, "codes", of=ids)
    bits = np.array([np.frombuffer(bytes.fromhex(one["code"]), np.uint8) for one in codes])
    others = np.delete(bits, ids.index(ITEM), axis=0)
    distances = np.bitwise_count(others ^ bits[ids.index(ITEM)]).sum(axis=1)
    tie, part = int((distances == near[-1]).sum()), near.count(near[-1])
    words = page.inner_text(".histogram figcaption")
    assert f"ends at distance {near[-1]}: there {'is' if tie == 1 else 'are'} {tie} item" in words
    if part < tie:
        assert f"{part} of them" in words
    titles = page.locator(".histogram rect title").all_text_contents()
    assert len(titles) == len(set(distances.tolist()))
    for distance in set(distances.tolist()):
        count = int((distances == distance).sum())
        assert f"distance {distance}: {count} item{'' if count == 1 else 's'}" in titles


def test_its_code_is_drawn(page: Page, api: httpx.Client) -> None:
    open_panel(page, "item", item=ITEM)
    code = items_of(api, "codes", of=ITEM)[0]["code"]
    count = int.from_bytes(bytes.fromhex(code)).bit_count()
    assert f"{count} of 64 bits are set" in page.inner_text(".own-code")
    cells = page.locator(".own-code .full").get_attribute("d") or ""
    assert cells.count("M") == count


def test_who_has_it_leads_to_them(page: Page, api: httpx.Client) -> None:
    open_panel(page, "item", item=ITEM)
    users = api.get("/v1/users", params={"item": ITEM, "k": 30}).json()["users"]
    links = page.locator("details .plain a.name")
    assert links.all_inner_texts() == [one["id"] for one in users]
    links.nth(1).click()
    page.locator(".has h2").wait_for()
    assert page.locator(".has h2").inner_text() == users[1]["id"]


def test_a_list_for_somebody_who_has_it(page: Page, api: httpx.Client) -> None:
    open_panel(page, "item", item=ITEM, user="user 100")
    page.get_by_role("link", name="List for somebody who has it").click()
    best = items_of(api, "recommend", items=ITEM)
    until(page, lambda: listed(page) == ids_of(best))


def test_a_model_without_codes_says_so(page: Page, api: httpx.Client) -> None:
    open_panel(page, "item", item=ITEM, model="slim")
    assert listed(page) == [
        one["id"] for one in items_of(api, "similar", item=ITEM, k=10, model="slim")
    ]
    assert "no codes" in page.inner_text("main")
    assert page.locator(".histogram").count() == 0


def test_an_item_that_is_not_there(page: Page, trouble: Trouble) -> None:
    page.goto("/?panel=item&item=nothing")
    page.get_by_role("alert").wait_for()
    assert "'nothing'" in page.inner_text(".error")
    trouble.forgive("404")


def test_hidden_and_cold_items(page: Page, api: httpx.Client) -> None:
    hidden = items_of(api, "items", q=HIDDEN)[0]["id"]
    open_panel(page, "item", item=hidden)
    assert _facts(page)["available"].startswith("no: hidden")
    cold = {"id": "cold", "name": "cold thing", "attributes": {"colour": "<b>"}}
    assert api.put("/v1/items", json=cold).status_code == 200
    open_panel(page, "item", item="cold")
    assert _facts(page)["popularity"] == "no place yet"
    assert _facts(page)["colour"] == "<b>"
    assert "next update" in page.inner_text("main")


def test_without_an_item_there_are_some_to_take(page: Page, api: httpx.Client) -> None:
    open_panel(page, "item")
    popular = items_of(api, "popular", k=24)
    page.locator(".plain a.name").nth(4).click()
    until(page, lambda: page.locator("h1").inner_text() == popular[4]["name"])


def test_everybody_who_has_it_can_be_seen(page: Page, api: httpx.Client) -> None:
    most = items_of(api, "popular", k=1)[0]["id"]
    open_panel(page, "item", item=most)
    users = api.get("/v1/users", params={"item": most, "k": 1000}).json()["users"]
    assert len(users) > 30
    assert page.locator("details .plain a.name").count() == 30
    page.get_by_role("button", name="Show all").click()
    links = page.locator("details .plain a.name")
    until(page, lambda: links.count() == len(users))
    assert links.all_text_contents() == [printable(one["id"]) for one in users]
    expect(page.get_by_role("button", name="Show all")).to_have_count(0)
