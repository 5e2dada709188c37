"""Live: the figures of the stream, how it is in words, and a stream that comes back."""

from __future__ import annotations

import json
import re
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.browsing import expect, settled, until

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    import httpx
    from playwright.sync_api import Page, Request, Route


def _open(page: Page) -> None:
    page.goto("/?panel=live")
    page.locator(".tile b").first.wait_for()
    expect(page.locator(".live-state")).not_to_be_empty()


def _stats(api: httpx.Client) -> Any:
    return api.get("/v1/stats").json()["stats"]


def _canned(page: Page, *answers: Any) -> None:
    """The stream gives these, then ends."""
    body = "".join(f"event: stats\ndata: {json.dumps(one)}\n\n" for one in answers)

    def fulfil(route: Route) -> None:
        route.fulfill(body=body, content_type="text/event-stream")

    page.route("**/v1/live*", fulfil)


@contextmanager
def _asking(api: httpx.Client) -> Iterator[None]:
    """Somebody asks for lists all the time."""
    stop = threading.Event()

    def ask() -> None:
        while not stop.wait(0.02):
            api.get("/v1/recommend", params={"user": "user 100"})

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()


def test_it_shows_what_happens(page: Page, api: httpx.Client) -> None:
    with _asking(api):
        _open(page)
        expect(page.locator(".tile b").first).to_have_text(re.compile(r"^([1-9]|\d\d)"))
    names = page.locator(".tile > span").all_inner_texts()
    latency = ["Latency, p50", "Latency, p99"]
    assert names == ["Requests", *latency, "Errors (5xx)", "Events", "Flush, p99"]
    assert page.locator(".tile .spark path").first.get_attribute("d")
    models = page.get_by_role("region", name="Generations").inner_text()
    assert "default: dsiml, generation 1 (import), served since" in models
    assert "slim: slim, generation 1" in models


def test_the_sparkline_has_the_seconds_before_the_page_was_opened(
    page: Page, api: httpx.Client
) -> None:
    stats = _stats(api)
    history = stats["recent"]["history"]
    columns = {name: [0] * 119 for name in history if name != "from"}
    columns["requests"] = [*([0] * 60), *([50] * 59)]
    stats["recent"]["history"] = {"from": 1_000_000, **columns}
    later = json.loads(json.dumps(stats))
    later["recent"]["history"] = {"from": 1_000_118, **{name: [7, 9] for name in columns}}
    _canned(page, stats, later)
    _open(page)
    label = page.locator(".tile .spark").first.get_attribute("aria-label")
    assert label == "Requests in the last two minutes, at most 50 /s"
    path = page.locator(".tile .spark path").first.get_attribute("d") or ""
    ends = [part.split(" ") for part in path.replace("h0.6", "").replace("L", "M").split("M")[1:]]
    assert len(ends) == 120
    assert [int(x) for x, _ in ends] == list(range(1, 121))
    assert float(ends[-1][1]) == pytest.approx(31 - 30 * 9 / 50, abs=0.06)
    assert float(ends[-2][1]) == pytest.approx(31 - 30 * 7 / 50, abs=0.06)
    assert float(ends[-3][1]) == 1.0


HEALTHY: dict[str, Any] = {
    "recent": {"errors_per_second": 0, "requests_per_second": 42.5, "p99_ms": 2.5, "seconds": 10},
    "tasks": [],
    "seq": 5,
    "log_seq": 5,
}


def _with(**recent: Any) -> Any:
    return {**HEALTHY, "recent": {**HEALTHY["recent"], **recent}}


FAILED = {"kind": "refit", "state": "failed", "detail": "no memory", "gate": None}
KEPT = {"kind": "refit", "state": "done", "detail": "it is kept", "gate": {"passed": False}}


@pytest.mark.parametrize(
    ("stats", "level", "said"),
    [
        (
            HEALTHY,
            "good",
            "Healthy: no errors in the last 10 seconds; 42.5 requests a second, 99 %",
        ),
        (_with(requests_per_second=0.3), "good", "10 seconds; 3 requests, the slowest 2.5 ms."),
        (_with(requests_per_second=0.1), "good", "10 seconds; 1 request, the slowest 2.5 ms."),
        (_with(requests_per_second=9.9, p99_ms=250), "good", "99 requests, the slowest 250 ms."),
        (_with(requests_per_second=0, p99_ms=None), "good", "10 seconds; nobody asks."),
        (_with(errors_per_second=0.5), "bad", "Not well: 0.5 requests a second fail"),
        (_with(p99_ms=250), "warn", "Look at this: 1 % of the requests take longer than 250 ms"),
        ({**HEALTHY, "log_seq": 5000}, "bad", "4,995 records behind the log"),
        ({**HEALTHY, "tasks": [FAILED]}, "warn", "the last refit failed: no memory"),
        ({**HEALTHY, "tasks": [KEPT]}, "warn", "it is kept"),
        ({**HEALTHY, "tasks": [{**KEPT, "gate": {"passed": True}}]}, "good", "Healthy"),
    ],
)
def test_how_it_is_in_words(page: Page, stats: Any, level: str, said: str) -> None:
    page.goto("/")
    script = "async stats => (await import('/page/js/live.js')).health(stats)"
    found = page.evaluate(script, stats)
    assert found["level"] == level
    assert said in found["text"]


def test_tasks_races_and_slow_requests(page: Page, api: httpx.Client) -> None:
    stats = _stats(api)
    harm = "<img src=x onerror=alert(1)>"
    gate = {"passed": False, "reason": "worse", "served_ndcg@10": 0.5, "made_ndcg@10": 0.25}
    task = {"id": "x", "kind": "refit", "name": "default", "state": "running", "ended": None}
    told = {"detail": harm, "facts": {"loss": 0.5}, "notes": ["siml: settings", harm]}
    when = {"started": "2026-11-17T12:00:00Z", "progress": 0.25}
    stats["tasks"] = [{**task, **told, **when, "gate": {**gate, "users": 30}}]
    rows = [
        {"label": "slim", "validation_ndcg@10": 0.25, "bytes_per_item": 99, "note": ""},
        {"label": harm, "validation_ndcg@10": 0.5, "bytes_per_item": 9, "note": ""},
    ]
    stats["models"]["default"]["race"] = {"why": "it won", "rows": rows}
    slow = {"route": "/v1/map", "method": "GET", "status": 200, "ms": 81.5}
    stats["recent"]["slow"] = [{**slow, "at": "2026-11-17T12:00:00Z"}]
    _canned(page, stats)
    _open(page)
    tasks = page.get_by_role("region", name="Tasks")
    assert page.get_by_role("progressbar").get_attribute("value") == "0.25"
    text = tasks.inner_text()
    for part in (harm, "loss 0.5", "not passed (worse)", "0.2500, the served one has 0.5000"):
        assert part in text
    page.get_by_text("The race that chose it: it won").click()
    cells = page.locator("details table tbody td").all_inner_texts()
    assert cells[:6] == [harm, "0.5000", "9", "slim", "0.2500", "99"]
    assert "GET /v1/map" in page.get_by_role("region", name="Slow requests").inner_text()
    assert page.locator("#main img").count() == 0


def test_the_key_goes_in_a_header_and_not_in_the_address(page: Page) -> None:
    page.add_init_script("sessionStorage.setItem('xorec-key', 'a-secret')")
    with page.expect_request("**/v1/live*") as asked:
        page.goto("/?panel=live")
    assert asked.value.headers["x-api-key"] == "a-secret"
    assert "secret" not in asked.value.url


def test_a_stream_that_breaks_comes_back(page: Page, trouble: Any) -> None:
    problem = json.dumps({"title": "busy", "status": 503, "detail": "come again."})
    page.route("**/v1/live*", lambda route: route.fulfill(status=503, body=problem), times=1)
    page.goto("/?panel=live")
    page.get_by_text("come again. Trying again in 1 s.").wait_for()
    page.locator(".live-state.good, .live-state.warn").wait_for()
    trouble.forgive("503")


def test_a_hidden_tab_asks_nothing_and_catches_up(page: Page) -> None:
    asked: list[str] = []

    def note(what: str) -> Callable[[Request], None]:
        return lambda request: asked.append(what) if "/v1/live" in request.url else None

    page.on("request", note("began"))
    page.on("requestfailed", note("ended"))
    _open(page)
    hide = """hidden => {
        Object.defineProperty(document, "hidden", { value: hidden, configurable: true });
        document.dispatchEvent(new Event("visibilitychange"));
    }"""
    page.evaluate(hide, True)
    until(page, lambda: len(asked) > 1)
    settled(page, 1500)  # it would try again after a second
    assert asked[1:] == ["ended"]
    page.evaluate(hide, False)
    until(page, lambda: len(asked) > 2)
    settled(page, 500)
    assert asked[2:] == ["began"]
    page.get_by_role("link", name="Explore").click()
    until(page, lambda: len(asked) > 3)
    settled(page, 300)
    assert asked[3:] == ["ended"]  # who leaves the panel ends the stream


def test_only_changes_are_said_aloud(page: Page) -> None:
    _open(page)
    settled(page, 300)
    page.evaluate("""() => {
        const all = { childList: true, characterData: true, subtree: true };
        globalThis.said = globalThis.drawn = 0;
        const drawn = new MutationObserver(() => { globalThis.drawn += 1; });
        drawn.observe(document.querySelector(".live"), { ...all, attributes: true });
        const seen = new MutationObserver(() => { globalThis.said += 1; });
        seen.observe(document.getElementById("said"), all);
    }""")
    until(page, lambda: page.evaluate("globalThis.drawn") >= 3)  # figures came again and again
    assert page.evaluate("globalThis.said") <= 1
    assert page.locator(".live [aria-live], .live [role=status]:not(.requests *)").count() == 0


def test_figures_that_are_not_there_are_said_in_words_and_times_have_a_zone(
    page: Page, api: httpx.Client
) -> None:
    stats = _stats(api)
    stats["recent"] |= {"p50_ms": None, "p99_ms": None, "flush_p99_ms": None}
    stats["models"]["default"]["since"] = "2020-02-03T04:05:06Z"
    _canned(page, stats)
    page.clock.set_system_time("2026-11-17T12:00:00Z")
    _open(page)
    tiles = page.locator(".tile").all_inner_texts()
    assert "no requests" in tiles[2]
    assert "no events yet" in tiles[5]
    models = page.get_by_role("region", name="Generations").inner_text()
    assert re.search(r"served since 2020-02-0\d \d\d:\d5:06 \S+ ", models)
