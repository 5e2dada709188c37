"""The client of the service: every endpoint as a method, plain or async, with typed answers."""

from xorec.core.errors import MissingExtraError

try:
    import httpx as _httpx  # noqa: F401
except ImportError:  # pragma: no cover
    raise MissingExtraError("xorec.client needs httpx: pip install 'xorec[client]'.") from None

from xorec.client.client import AsyncClient, Client
from xorec.client.errors import ClientError, UnreachableError

__all__ = ["AsyncClient", "Client", "ClientError", "UnreachableError"]
