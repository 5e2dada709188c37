"""Methods of a path: what OPTIONS says of them, and the refusal of any other."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from starlette.responses import Response

from xorec.core.printable import quoted
from xorec.service.http.problems import HttpError
from xorec.service.http.routes import Call, Route

if TYPE_CHECKING:
    from xorec.service.service import Service


def _allowed(methods: Iterable[str]) -> str:
    return ", ".join(sorted({*methods, "OPTIONS"}))


def wrong_method(method: str, path: str, methods: Iterable[str]) -> HttpError:
    allowed = _allowed(methods)
    message = f"{path} takes no {quoted(method)[1:-1]}: it takes {allowed}."
    return HttpError(405, message, headers=((b"allow", allowed.encode()),))


def options_route(path: str, methods: Iterable[str]) -> Route:
    """What OPTIONS answers at a path: its methods, and nothing that would let other pages in."""
    headers = {"allow": _allowed(methods)}

    def options(service: Service, call: Call) -> Response:
        return Response(status_code=204, headers=headers)

    return Route(
        method="OPTIONS",
        path=path,
        handler=options,
        role="open",
        limited=False,
        summary="What can be done here.",
    )
