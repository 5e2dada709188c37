"""Requests as curl and Python: what is shown runs, and asks for what the page asked for."""

from __future__ import annotations

import json
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import httpx
import pytest

from tests.support.browsing import ids_of, listed, open_panel
from tests.support.page_shop import HARM

if TYPE_CHECKING:
    from playwright.sync_api import Page


def _text(page: Page, language: str) -> str:
    if not page.locator(".requests").evaluate("e => e.open"):
        page.locator(".requests summary").click()
    page.locator(".choice").get_by_text(language, exact=True).click()
    return page.locator(".requests code").evaluate("e => e.textContent")  # type: ignore[no-any-return]


def _run(command: list[str], text: str) -> str:
    done = subprocess.run(
        command, input=text, capture_output=True, text=True, timeout=60, check=False
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def _run_curl(line: str) -> Any:
    return json.loads(_run(["bash"], line.replace("curl ", "curl -sS --fail ", 1)))


@pytest.mark.parametrize("user", ["user 100", *HARM])
def test_curl_asks_for_the_same(page: Page, user: str) -> None:
    state = {"user": user, "items": list(HARM), "category": ["tea", "<i>cat</i> & 'dog'"], "k": 5}
    open_panel(page, "explore", **state)
    text = _text(page, "curl").split("\n")
    assert [line[:1] for line in text] == ["#", "c"] * 3  # what each is for, and the line
    lines = text[1::2]
    answer, *_ = map(_run_curl, lines)
    assert answer["user"] == user
    assert ids_of(answer["items"]) == listed(page)


@pytest.mark.parametrize(
    "user", ["user 100", '\'; echo "$(id)" `id` \\', "abc\u202edef", "nul\x00nul"]
)
def test_python_asks_for_the_same(page: Page, user: str) -> None:
    filters = {"category": "tea", "not_category": "wool", "seen": "true"}
    state = {"user": user, "items": list(HARM), "k": 5, **filters}
    open_panel(page, "explore", **state)
    text = _text(page, "Python")
    assert "\u202e" not in text
    tell = "\nimport json; print(json.dumps([recommend.user, [one.id for one in recommend.items]]))"
    assert json.loads(_run([sys.executable, "-"], text + tell)) == [user, listed(page)]


def test_python_of_an_item_and_of_the_start(page: Page) -> None:
    open_panel(page, "item", item="a/b")
    text = _text(page, "Python")
    tell = "\nprint(item.items[0].id, len(similar.items), len(histogram.counts), codes.bits)"
    assert _run([sys.executable, "-"], text + tell).split() == ["a/b", "10", "65", "64"]
    page.goto("/")
    page.locator(".picks button").first.wait_for()
    text = _text(page, "Python")
    assert _run([sys.executable, "-"], text + "\nprint(len(popular.items))").split() == ["24"]


def test_whole_numbers_stay_numbers(page: Page) -> None:
    page.goto("/")
    made = """async () => {
        const { asPython } = await import("/page/js/request_text.js");
        const { request } = await import("/page/js/api.js");
        const asked = request("/v1/recommend", { user: "7", items: ["1", "2"], k: 3 });
        asked.answer = { user: 7, items: [{ id: 5 }] };
        return asPython([asked]);
    }"""
    text = page.evaluate(made)
    assert "client.recommend(user=7, items=[1, 2], k=3)" in text


def test_bodies_and_other_paths(page: Page, api: httpx.Client) -> None:
    page.goto("/")
    made = """async () => {
        const { asPython, asCurl } = await import("/page/js/request_text.js");
        const { request } = await import("/page/js/api.js");
        const body = { queries: [{ user: "it's \\u202e", k: 2, seen: true }] };
        const asked = [request("/v1/recommend/batch", {}, { method: "POST", body })];
        return [asCurl(asked), asPython(asked)];
    }"""
    curl, python = page.evaluate(made)
    wanted = api.post(
        "/v1/recommend/batch", json={"queries": [{"user": "it's \u202e", "k": 2, "seen": True}]}
    ).json()["results"][0]["answer"]["items"]
    by_curl = _run_curl(curl)
    assert by_curl["results"][0]["answer"]["items"] == wanted
    tell = "\nimport json; print(json.dumps(answer['results'][0]['answer']['items']))"
    assert json.loads(_run([sys.executable, "-"], python + tell)) == wanted


def test_copy(page: Page) -> None:
    page.context.grant_permissions(["clipboard-read", "clipboard-write"])
    open_panel(page, "explore", user="user 100")
    text = _text(page, "curl")
    page.get_by_role("button", name="Copy").click()
    page.get_by_text("copied", exact=True).wait_for()
    assert page.evaluate("navigator.clipboard.readText()") == text


def test_a_key_is_named_and_never_shown(page: Page) -> None:
    page.goto("/")
    page.evaluate("sessionStorage.setItem('xorec-key', 'the-secret-of-this-shop')")
    open_panel(page, "explore", user="user 100")
    for language in ("curl", "Python"):
        text = _text(page, language)
        assert "the-secret" not in text
        assert "XOREC_KEY" in text


@pytest.mark.parametrize("panel", ["map", "compare"])
def test_python_of_other_panels_runs_and_keeps_every_answer(page: Page, panel: str) -> None:
    page.goto(f"/?panel={panel}&user=user%20100&items=i100&colour=user")
    page.locator(".requests").wait_for()
    text = _text(page, "Python")
    assert text.startswith("# pip install 'xorec[client]'\n")
    tell = {
        "map": "print(len(places.x), len(map_colours.colours))",
        "compare": "print(compare.users, len(recommend_a.items), len(recommend_b.items))",
    }[panel]
    done = _run([sys.executable, "-"], f"{text}\n{tell}").split()
    assert done == {"map": ["239", "320"], "compare": ["200", "10", "10"]}[panel]


def test_python_of_a_stream_reads_it_line_by_line(page: Page) -> None:
    page.goto("/?panel=live")
    text = _text(page, "Python")
    printed = 'print(live.data["recent"])'
    once = text.replace(printed, f"{printed}\n        break")
    assert "requests_per_second" in _run([sys.executable, "-"], once)


def test_all_requests_are_one_link_away(page: Page) -> None:
    page.goto("/")
    page.locator(".requests summary").click()
    page.get_by_role("link", name="OpenAPI").click()
    page.wait_for_url("**/openapi.json")
