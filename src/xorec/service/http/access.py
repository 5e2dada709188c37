"""Who may ask: the role of an API key, found in constant time; and which web pages may."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import re

from xorec.core.printable import quoted
from xorec.service.config import Config, Keys
from xorec.service.http.problems import HttpError
from xorec.service.http.routes import Role

RANKS: dict[Role, int] = {"open": 0, "read": 1, "write": 2, "admin": 3}
_CHALLENGE = (("www-authenticate", 'Bearer realm="xorec"'),)


class ApiKeys:
    """Compares digests of keys, never keys, and always with all of them."""

    def __init__(self, keys: Keys) -> None:
        roles = ((RANKS["admin"], keys.admin), (RANKS["write"], keys.write), (1, keys.read))
        self._known = [
            (rank, _digest(key.get_secret_value())) for rank, some in roles for key in some
        ]

    def check(self, needed: int, headers: dict[str, str]) -> None:
        """Refuse a request whose key is missing or wrong (401), or of a lower role (403)."""
        if not self._known or needed == 0:
            return
        given = _given(headers)
        if given is None:
            raise HttpError(
                401,
                "a key is needed: send it as `Authorization: Bearer KEY` or `X-API-Key: KEY`.",
                headers=_CHALLENGE,
            )
        digest, rank = _digest(given), 0
        for role, known in self._known:
            rank = max(rank, hmac.compare_digest(digest, known) * role)
        if rank == 0:
            raise HttpError(401, "this key is not known: check it.", headers=_CHALLENGE)
        if rank < needed:
            name = next(role for role, value in RANKS.items() if value == needed)
            raise HttpError(403, f"this key may not do that: a key for {name} is needed.")


def _given(headers: dict[str, str]) -> str | None:
    bearer = headers.get("authorization", "")
    if bearer[:7].lower() == "bearer ":
        return bearer[7:].strip()
    return headers.get("x-api-key")


def _digest(key: str) -> bytes:
    return hashlib.sha256(key.encode()).digest()


_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class Origins:
    """Rejects requests of foreign web pages when the service has no API keys.

    A name that is not ours (`Host`) is a page whose name was made to lead here; a foreign `Origin`
    is a form or a script elsewhere. Neither header is checked where keys are.
    """

    def __init__(self, config: Config) -> None:
        self._open = not config.keys.given
        self._names = {"localhost", config.host, *config.hosts}
        self._seen: set[str] = set()

    def check(self, method: str, headers: dict[str, str]) -> None:
        """Refuse a request that a foreign page may have sent."""
        if not self._open:
            return
        host = headers.get("host", "")
        if host not in self._seen:
            self._learn(host)
        origin = headers.get("origin")
        if origin is not None and method not in _SAFE and origin.partition("://")[2] != host:
            shown = quoted(origin)
            raise HttpError(403, f"the page {shown} may not change anything here: set keys first.")

    def _learn(self, host: str) -> None:
        match = _HOST.fullmatch(host)
        name = "" if match is None else (match[1] or match[2]).lower()
        if host and name not in self._names and not _is_address(name):
            shown = quoted(name or host)
            raise HttpError(
                421, f"{shown} is no name of this service: add it to `hosts`, or set keys."
            )
        if len(self._seen) < 100:
            self._seen.add(host)


_HOST = re.compile(r"(?:\[([0-9a-fA-F:.]+)\]|([^:\[\]]+))(?::[0-9]{1,5})?")
"""An IPv6 address in brackets, or a name or an IPv4 address; then a port."""


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
