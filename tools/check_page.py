"""Look at the page of a running service as people would: pictures, times, and what axe finds.

    npm pack axe-core && tar xf axe-core-*.tgz            # package/axe.min.js
    python tools/check_page.py http://127.0.0.1:8080 --axe package/axe.min.js --pictures shots/

Every panel at 390 and 1280 pixels, light and dark. Times: first paint, and from the last letter of
a search to what is shown. Needs playwright and a chromium; ends with 1 for a serious finding.
"""

from __future__ import annotations

import argparse
import json
import shutil
import sys
from pathlib import Path
from statistics import median
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

from playwright.sync_api import Browser, Page, sync_playwright

WIDTHS, SCHEMES = (390, 1280), ("light", "dark")
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


def asked(address: str, path: str, **query: Any) -> Any:
    """The answer of the service."""
    with urlopen(f"{address}{path}?{urlencode(query)}", timeout=30) as reply:
        return json.load(reply)


def states(address: str) -> dict[str, dict[str, str]]:
    """An address of every panel, with ids that the service has."""
    item = str(asked(address, "/v1/popular", k=1)["items"][0]["id"])
    user = str(asked(address, "/v1/users", q="", k=1)["users"][0]["id"])
    names = [one["name"] for one in asked(address, "/v1/models")["models"]]
    found: dict[str, dict[str, str]] = {
        "start": {},
        "explore": {"user": user},
        "as-if-owned": {"user": user, "items": item},
        "item": {"panel": "item", "item": item},
        "map": {"panel": "map", "user": user},
        "compare": {"panel": "compare", "user": user},
        "live": {"panel": "live"},
    }
    if len(names) > 1:
        found["compare"] |= {"a": names[0], "b": names[1]}
    return found


def opened(browser: Browser, address: str, query: dict[str, str], width: int, scheme: Any) -> Page:
    """The page in that state, at rest."""
    context = browser.new_context(
        viewport={"width": width, "height": 900}, color_scheme=scheme, reduced_motion="reduce"
    )
    page = context.new_page()
    page.goto(f"{address}/?{urlencode(query)}" if query else f"{address}/")
    page.wait_for_selector("main h1", state="attached")
    page.wait_for_timeout(1500)  # a stream never lets the network rest
    return page


def first_paints(browser: Browser, address: str, query: dict[str, str]) -> list[float]:
    """Milliseconds until something was seen, of five loads."""
    found = []
    for _ in range(5):
        page = opened(browser, address, query, 1280, "light")
        script = "performance.getEntriesByName('first-contentful-paint')[0].startTime"
        found.append(float(page.evaluate(script)))
        page.context.close()
    return found


_CLOCK = """() => {
  window.took = [];
  let began = 0;
  document.addEventListener("input", () => { began = performance.now(); }, true);
  new MutationObserver(() => requestAnimationFrame(() => {
    if (began) window.took.push(performance.now() - began);
    began = 0;
  })).observe(document.querySelector(".search .found"), { childList: true });
}"""
"""From a letter to the frame that shows what was found, by the page's own clock."""


def search_times(browser: Browser, address: str, letters: str) -> list[float]:
    """Milliseconds from a letter to what is found, letter by letter."""
    page = opened(browser, address, {}, 1280, "light")
    page.evaluate(_CLOCK)
    page.keyboard.press("/")
    for number in range(len(letters)):
        page.keyboard.type(letters[number])
        page.wait_for_function(f"() => window.took.length > {number}")
    found: list[float] = page.evaluate("window.took")
    page.context.close()
    return found


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("address")
    parser.add_argument("--axe", type=Path, help="axe.min.js of axe-core")
    parser.add_argument("--pictures", type=Path, help="a folder for a PNG of every state")
    parser.add_argument("--letters", default="lib")
    given = parser.parse_args()
    address = given.address.rstrip("/")
    serious = 0
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"]
        )
        for name, query in states(address).items():
            for width in WIDTHS:
                for scheme in SCHEMES:
                    page = opened(browser, address, query, width, scheme)
                    wide = page.evaluate("document.documentElement.scrollWidth")
                    if wide > width:
                        print(f"{name} at {width} {scheme}: {wide} pixels wide")
                        serious += 1
                    if given.pictures:
                        given.pictures.mkdir(parents=True, exist_ok=True)
                        page.screenshot(path=given.pictures / f"{name}-{width}-{scheme}.png")
                    if given.axe:
                        serious += _axe(page, given.axe, f"{name} at {width} {scheme}")
                    page.context.close()
        paints = first_paints(browser, address, states(address)["explore"])
        print(f"first paint: {', '.join(f'{ms:.0f}' for ms in paints)} ms")
        times = search_times(browser, address, given.letters)
        print(f"search: median {median(times):.0f} ms of {', '.join(f'{t:.0f}' for t in times)}")
        browser.close()
    print(f"serious findings: {serious}")
    return 1 if serious else 0


def _axe(page: Page, script: Path, where: str) -> int:
    """What axe finds; how much of it is serious or worse."""
    page.evaluate(script.read_text(encoding="utf-8"))  # past the policy, as an extension is
    options = {"resultTypes": ["violations"], "runOnly": RULES}
    found = page.evaluate("options => axe.run(document, options)", options)["violations"]
    for one in found:
        nodes = [node["target"] for node in one["nodes"]][:3]
        print(f"{where}: {one['impact']} {one['id']} ({len(one['nodes'])}): {nodes}")
    return sum(one["impact"] in ("serious", "critical") for one in found)


if __name__ == "__main__":
    sys.exit(main())
