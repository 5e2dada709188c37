"""The files of the page, each at an address of its own: read once, sent with a strict policy."""

from __future__ import annotations

from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from xorec.service.http.exchange import Headers, Reply
from xorec.service.http.routes import Route

_TYPES = {
    "html": "text/html; charset=utf-8",
    "js": "text/javascript; charset=utf-8",
    "css": "text/css; charset=utf-8",
    "svg": "image/svg+xml",
}
POLICY: Headers = (
    (
        "content-security-policy",
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    ),
    ("referrer-policy", "no-referrer"),
    ("cross-origin-opener-policy", "same-origin"),
)


@cache
def static_files() -> dict[str, bytes]:
    """All files by their path below `static`, as "js/app.js"."""
    return dict(_files_below(files(__package__) / "static", ""))


def _files_below(folder: Traversable, prefix: str) -> list[tuple[str, bytes]]:
    found: list[tuple[str, bytes]] = []
    for entry in sorted(folder.iterdir(), key=lambda one: one.name):
        path = prefix + entry.name
        if entry.is_dir():
            found += _files_below(entry, path + "/")
        elif entry.name.rpartition(".")[2] in _TYPES:
            found.append((path, entry.read_bytes()))
    return found


def page_routes() -> tuple[Route, ...]:
    """`/` is index.html; the others stand below `/page/`. The icon is also where a browser looks
    for one when it opens what is no page (openapi.json)."""
    own = [_route(_address(path), path, content) for path, content in static_files().items()]
    return (*own, _route("/favicon.ico", "icon.svg", static_files()["icon.svg"]))


def _address(path: str) -> str:
    return "/" if path == "index.html" else f"/page/{path}"


def _route(address: str, path: str, content: bytes) -> Route:
    reply = Reply(200, content, _TYPES[path.rpartition(".")[2]], POLICY)
    is_first = address == "/"
    return Route(
        method="GET",
        path=address,
        handler=lambda service: reply,
        role="open",
        limited=False,
        media_type=reply.media_type.partition(";")[0],
        tag="health",
        summary="A page for people." if is_first else "A file of the page.",
        documented=is_first,
        any_query=is_first,
    )
