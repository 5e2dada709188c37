"""Web pages of others: a browser on this machine must not carry their orders to an open service."""

from __future__ import annotations

import ipaddress

from xorec.core.printable import quoted
from xorec.service.http.problems import HttpError
from xorec.service.settings.config import Config

_SAFE = frozenset({"GET", "HEAD", "OPTIONS"})


class Origins:
    """Without keys, whoever reaches the service may use it: so no page of another origin may.

    A name that is not ours (`Host`) is a page whose name was made to lead here; a foreign `Origin`
    is a form or a script elsewhere. Neither header is checked where keys are.
    """

    def __init__(self, config: Config) -> None:
        self._open = not config.keys.given
        self._names = {"localhost", config.host, *config.hosts}
        self._seen: set[bytes] = set()

    def check(self, method: str, headers: dict[bytes, bytes]) -> None:
        """Refuse a request that a foreign page may have sent."""
        if not self._open:
            return
        host = headers.get(b"host", b"")
        if host not in self._seen:
            self._learn(host)
        origin = headers.get(b"origin")
        if origin is not None and method not in _SAFE and origin.partition(b"://")[2] != host:
            shown = quoted(origin.decode("latin-1"))
            raise HttpError(403, f"the page {shown} may not change anything here: set keys first.")

    def _learn(self, host: bytes) -> None:
        name = _name(host.decode("latin-1"))
        if host and name not in self._names and not _is_address(name):
            raise HttpError(
                421, f"{quoted(name)} is no name of this service: add it to `hosts`, or set keys."
            )
        if len(self._seen) < 100:
            self._seen.add(host)


def _name(host: str) -> str:
    """Without the port.

    >>> _name("localhost:8080"), _name("[::1]:8080")
    ('localhost', '::1')
    """
    if host.startswith("["):
        return host[1:].partition("]")[0]
    return host.partition(":")[0].lower()


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True
