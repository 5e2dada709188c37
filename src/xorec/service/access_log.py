"""The access log: a JSON line a request, without ids, queries or keys."""

from __future__ import annotations

from typing import Protocol

from xorec.service.exchange import Request


class AccessLog(Protocol):
    def add(self, request: Request, path: str, status: int, took_us: int, nbytes: int) -> None: ...
