"""The files of the page: all there, small, and sent with a policy that allows nothing foreign."""

from __future__ import annotations

import posixpath
import re
from typing import Any

import httpx
import pytest

from xorec.service.page.files import page_routes, static_files

FILES = static_files()


def test_every_file_has_its_address_and_type() -> None:
    routes = {route.path: route for route in page_routes()}
    addresses = {"/" if path == "index.html" else f"/page/{path}" for path in FILES}
    assert set(routes) == addresses | {"/favicon.ico"}
    types = {
        "html": "text/html",
        "js": "text/javascript",
        "css": "text/css",
        "svg": "image/svg+xml",
        "ico": "image/svg+xml",
    }
    for path, route in routes.items():
        reply: Any = route.handler(None)
        ending = "html" if path == "/" else path.rpartition(".")[2]
        assert reply.media_type.startswith(types[ending])
        policy = dict(reply.headers)["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "unsafe" not in policy
        assert route.role == "open"
        assert not route.limited


@pytest.mark.process
def test_a_browser_finds_an_icon_beside_what_is_no_page(service: str) -> None:
    """Chromium asks for it when somebody opens openapi.json."""
    answer = httpx.get(f"{service}/favicon.ico", timeout=120)
    assert answer.status_code == 200
    assert answer.headers["content-type"] == "image/svg+xml"
    assert answer.content == static_files()["icon.svg"]


def test_the_page_weighs_less_than_150_kb() -> None:
    assert sum(map(len, FILES.values())) < 150_000


@pytest.mark.parametrize("path", [path for path in FILES if path.endswith(".js")])
def test_no_script_makes_html_of_text_or_asks_elsewhere(path: str) -> None:
    text = FILES[path].decode()
    forbidden = r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|\beval\(|new Function"
    assert re.search(forbidden, text) is None
    assert re.search(r"https?://(?!www\.w3\.org/2000/svg)", text) is None


@pytest.mark.parametrize("path", [path for path in FILES if path.endswith(".js")])
def test_what_a_script_imports_is_there(path: str) -> None:
    for name in re.findall(r"""from ["'](\.[^"']+)["']""", FILES[path].decode()):
        assert posixpath.normpath(posixpath.join(posixpath.dirname(path), name)) in FILES, name


def test_the_first_file_has_nothing_inline() -> None:
    text = FILES["index.html"].decode()
    assert re.search(r"<script(?![^>]*\bsrc=)", text) is None
    assert re.search(r"\bon\w+=|style=|<style", text) is None
    for address in re.findall(r'(?:src|href)="/page/([^"]+)"', text):
        assert address in FILES
