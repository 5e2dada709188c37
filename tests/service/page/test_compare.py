"""Compare: lists side by side as the API has them, and words that claim no more than figures."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

from tests.support.browsing import expect, ids_of, items_of, until

if TYPE_CHECKING:
    import httpx
    from playwright.sync_api import Page

USER = "user 100"
ADDRESS = "/?panel=compare&a=default&b=slim&user=user+100"


def _lists(api: httpx.Client, user: str = USER, **query: Any) -> list[list[str]]:
    return [
        ids_of(items_of(api, "recommend", user=user, **query, **model))
        for model in ({}, {"model": "slim"})
    ]


def _open(page: Page, address: str = ADDRESS) -> None:
    page.goto(address)
    page.get_by_role("region", name="Lists side by side").wait_for()


def _sides(page: Page) -> list[list[tuple[str, str]]]:
    """What stands in both lists: the id of each item, and where it stands on the other side."""
    read = """side => [...side.querySelectorAll("li")].map(line => [
        line.querySelector("a").title, line.querySelector(".where").textContent])"""
    return [[tuple(one) for one in side.evaluate(read)] for side in page.locator(".side").all()]


@pytest.mark.parametrize("width", [390, 1280])
def test_lists_are_those_of_the_models_and_the_same_items_are_joined(
    page: Page, api: httpx.Client, width: int
) -> None:
    _open(page)
    a, b = _lists(api)
    left, right = _sides(page)
    assert [item for item, _ in left] == a
    assert [item for item, _ in right] == b
    for own, other, letter in ((left, b, "b"), (right, a, "a")):
        for item, where in own:
            there = f"{letter}: {other.index(item) + 1}" if item in other else f"not in {letter}"
            assert where == there
    shared = set(a) & set(b)
    assert f"{len(shared)} of 10 items are in both lists" in page.content()
    lines = page.locator(".lines line")
    assert lines.count() == len(shared)
    assert page.locator(".lines").is_visible() == (width > 800)


def test_a_line_goes_from_place_to_place(page: Page, api: httpx.Client) -> None:
    _open(page)
    a, b = _lists(api)
    box = page.locator(".lines").bounding_box()
    rows = [side.locator("li") for side in page.locator(".side").all()]
    assert box is not None
    item = next(one for one in a if one in b)
    at = [one for one in a if one in b].index(item)
    line = page.locator(".lines line").nth(at)
    ends = line.evaluate("line => [line.y1, line.y2].map(y => y.baseVal.value)")
    joined = rows[0].nth(a.index(item)), rows[1].nth(b.index(item))
    for end, row in zip(ends, joined, strict=True):
        target = row.bounding_box()
        assert target is not None
        drawn = box["y"] + end / 100 * box["height"]
        assert target["y"] < drawn < target["y"] + target["height"]


def test_everything_stands_in_the_address(page: Page, api: httpx.Client) -> None:
    _open(page, "/?panel=compare")
    found = api.get("/v1/compare", params={"a": "default", "b": "slim"}).json()
    first = found["differ"][0]["user"]
    assert [item for item, _ in _sides(page)[0]] == _lists(api, first)[0]
    other = found["differ"][3]["user"]
    table = page.get_by_role("region", name="Users whose lists differ most")
    table.locator("a").nth(3).click()
    page.wait_for_url("**user=**")
    page.get_by_label("Items").select_option("20")
    page.wait_for_url("**k=20**")
    page.get_by_role("link", name="Change sides").click()
    page.wait_for_url("**b=default**")
    expect(page.locator(".side li")).to_have_count(40)
    wanted = _lists(api, other, k=20)[::-1]
    until(page, lambda: [[item for item, _ in side] for side in _sides(page)] == wanted)
    shown = _sides(page)
    page.reload()
    expect(page.locator(".side li")).to_have_count(40)
    assert _sides(page) == shown


def test_choosing_the_same_model_changes_sides(page: Page) -> None:
    _open(page)
    page.get_by_label("Model a").select_option("slim")
    expect(page.locator(".side h3").first).to_have_text("a: slim")
    assert "a=slim" in page.url
    assert "b=default" in page.url


def test_the_search_of_the_head_finds_another_user(page: Page, api: httpx.Client) -> None:
    _open(page)
    page.keyboard.press("/")
    page.keyboard.type("user 207")
    page.get_by_role("option").filter(has_text="user 207").first.wait_for()
    page.keyboard.press("Enter")
    page.wait_for_url("**panel=compare**user=user+207**")
    page.get_by_role("link", name="user user 207").wait_for()
    expect(page.locator(".lists")).not_to_contain_text("user 100")
    assert [item for item, _ in _sides(page)[0]] == _lists(api, "user 207")[0]


MEASURED: dict[str, Any] = {
    "metric": "ndcg@10",
    "measured_on": "newest events",
    "how": "<b>what was held out</b>",
    "a": {"value": 0.5, "low": 0.4, "high": 0.6, "users": 44},
    "b": {"value": 0.25, "low": 0.2, "high": 0.3, "users": 44},
    "comparable": True,
    "difference": {"value": 0.25, "low": 0.1, "high": 0.4, "p_value": 0.0004},
}
VALIDATED = {**MEASURED, "measured_on": "validation", "difference": None}
OVERLAPPING = {**VALIDATED, "b": {"value": 0.45, "low": 0.35, "high": 0.55, "users": 44}}
CHANCE = {**MEASURED, "difference": {**MEASURED["difference"], "p_value": 0.2}}
WORSE = {**MEASURED, "difference": {**MEASURED["difference"], "value": -0.25}}


@pytest.mark.parametrize(
    ("metrics", "said", "not_said"),
    [
        ([MEASURED], "default ranks what users took last better than slim", "not known"),
        ([WORSE], "slim ranks what users took last better than default", "not known"),
        ([CHANCE], "no difference that could not be chance", "better than"),
        ([VALIDATED], "On validation default was ahead by more than chance", "not known"),
        ([OVERLAPPING], "it may be chance", "more than chance"),
        ([{**VALIDATED, "comparable": False}], "figures are of different pairs", "ahead"),
        ([{**VALIDATED, "b": None}], "is better is not known", "ahead"),
        ([], "is better is not known. The newest events cannot tell: 3 users", "ahead"),
    ],
)
def test_what_is_said_is_what_was_measured(
    page: Page, api: httpx.Client, metrics: list[Any], said: str, not_said: str
) -> None:
    answer = api.get("/v1/compare", params={"a": "default", "b": "slim"}).json()
    answer |= {"metrics": metrics, "not_measured": None if MEASURED in metrics else "3 users"}
    page.route("**/v1/compare?*", lambda route: route.fulfill(json=answer))
    _open(page)
    verdict = page.locator(".verdict").inner_text()
    assert said in verdict
    assert not_said not in verdict
    if metrics:
        shown = page.locator(".metric").inner_text()
        assert "0.5000" in shown
        assert "0.4000 to 0.6000" in shown
        assert "<b>what was held out</b>" in page.locator(".better").inner_text()


def test_one_model_alone_is_told_how_to_get_another(page: Page, api: httpx.Client) -> None:
    answer = api.get("/v1/models").json()
    answer["models"] = answer["models"][:1]
    page.route("**/v1/models", lambda route: route.fulfill(json=answer))
    page.goto("/?panel=compare")
    page.get_by_role("heading", name="One model is served").wait_for()
    assert "xorec serve shop.xorec --config serve.toml" in page.locator("pre").inner_text()


def test_an_error_is_said_and_goes_when_it_is_over(page: Page, trouble: Any) -> None:
    problem = {"title": "busy", "status": 503, "detail": "another comparison is being made."}
    page.route("**/v1/compare?*", lambda route: route.fulfill(status=503, json=problem), times=1)
    page.goto(ADDRESS)
    page.get_by_role("alert").wait_for()
    assert page.get_by_role("alert").inner_text() == problem["detail"]
    trouble.forgive("503")
    page.get_by_label("Items").select_option("20")
    page.get_by_role("region", name="Lists side by side").wait_for()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_a_service_that_is_full_is_asked_again(page: Page, trouble: Any) -> None:
    refused: list[str] = []

    def full(route: Any) -> None:
        refused.append(route.request.url)
        route.fulfill(status=503, headers={"retry-after": "1"}, body="{}")

    page.route("**/v1/compare?*", full, times=2)
    _open(page)
    assert len(refused) == 2
    expect(page.get_by_role("alert")).to_have_count(0)
    trouble.forgive("503")


def test_what_if_they_also_had_counts_here_too(page: Page, api: httpx.Client) -> None:
    _open(page, f"{ADDRESS}&items=i100&items=i101")
    wanted = _lists(api, items=["i100", "i101"])
    assert wanted != _lists(api)
    expect(page.locator(".lists h2")).to_contain_text("if they also had ")
    assert [[item for item, _ in side] for side in _sides(page)] == wanted
    page.get_by_role("link", name="without").click()
    expect(page.locator(".lists h2")).not_to_contain_text("also had")
    assert [[item for item, _ in side] for side in _sides(page)] == _lists(api)


def test_somebody_new_can_be_compared(page: Page, api: httpx.Client) -> None:
    _open(page, "/?panel=compare&items=i100")
    expect(page.locator(".lists h2")).to_contain_text("somebody new who has ")
    best = items_of(api, "recommend", items="i100")
    assert [item for item, _ in _sides(page)[0]] == ids_of(best)


def test_where_nothing_is_measured_the_files_are_asked_and_a_way_is_shown(
    page: Page, api: httpx.Client
) -> None:
    answer = api.get("/v1/compare", params={"a": "default", "b": "slim"}).json()
    page.route("**/v1/compare?*", lambda route: route.fulfill(json={**answer, "metrics": []}))
    stats = api.get("/v1/stats").json()
    rows = [
        {"model": "dsiml", "label": "dsiml", "note": "", "validation_ndcg@10": 0.25},
        {"model": "dsiml", "label": "dsiml 2", "note": "", "validation_ndcg@10": 0.5},
        {"model": "slim", "label": "slim", "note": "", "validation_ndcg@10": 0.75},
    ]
    stats["stats"]["models"]["default"]["race"] = {"why": "it won", "rows": rows}
    page.route("**/v1/stats", lambda route: route.fulfill(json=stats))
    _open(page)
    said = page.locator(".better").inner_text()
    assert "default: ndcg@10 0.5000; slim: not measured" in said
    assert "/v1/events" in said


def test_a_tint_only_where_lists_are_alike_in_part(page: Page, api: httpx.Client) -> None:
    def nothing_shared(route: Any) -> None:
        answer = route.fetch()
        body = answer.json()
        if "model=slim" in route.request.url:
            body["items"] = [{**one, "id": f"not {one['id']}"} for one in body["items"]]
        route.fulfill(response=answer, json=body)

    _open(page)
    assert page.locator(".side .only").count() > 0
    page.route("**/v1/recommend*", nothing_shared)
    _open(page, f"{ADDRESS}&k=20")
    assert page.locator(".side .only").count() == 0
