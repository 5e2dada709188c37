"""Where the service is and how it is asked: what both clients are made from."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from typing import Any

import httpx

from xorec.client.exchange import Memory
from xorec.client.request import Request
from xorec.client.retries import Retries
from xorec.core.errors import OptionError

URL = "http://127.0.0.1:8080"


@dataclass(frozen=True)
class Connection:
    """timeout: seconds for each try."""

    url: str
    key: str | None = field(repr=False)
    timeout: float
    retries: Retries
    memory: Memory = field(default_factory=Memory)

    @classmethod
    def of(
        cls, url: str | None, key: str | None, timeout: float, retries: int | Retries
    ) -> Connection:
        """url, key: or XOREC_URL and XOREC_KEY of the environment."""
        url = (url or os.environ.get("XOREC_URL") or URL).rstrip("/")
        if not url.startswith(("http://", "https://")):
            raise OptionError(f"url is {url!r}: give an address such as {URL}.")
        if isinstance(retries, int):
            retries = Retries(count=retries)
        return cls(url, key or os.environ.get("XOREC_KEY") or None, timeout, retries)

    def settings(self, transport: Any) -> dict[str, Any]:
        """Of httpx's client."""
        headers = {"accept": "application/json, application/problem+json, */*"}
        if self.key:
            headers["authorization"] = f"Bearer {self.key}"
        found = {"base_url": self.url, "headers": headers, "timeout": self.timeout}
        return found if transport is None else {**found, "transport": transport}

    def arguments(self, request: Request[Any], stream: bool = False) -> dict[str, Any]:
        """Of `build_request`. A stream may be silent for as long as it likes."""
        content = request.content
        found: dict[str, Any] = {
            "method": request.method,
            "url": request.path,
            "params": list(request.params),
            "content": content,
        }
        if content is not None:
            found["headers"] = {"content-type": "application/json"}
        if stream:
            found["timeout"] = httpx.Timeout(self.timeout, read=None)
        return found
