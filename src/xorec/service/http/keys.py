"""Who asks: the role of a key, found in a time that tells nothing about any key."""

from __future__ import annotations

import hashlib
import hmac

from xorec.service.http.problems import HttpError
from xorec.service.http.routes import Role
from xorec.service.settings.config import Keys

RANKS: dict[Role, int] = {"open": 0, "read": 1, "write": 2, "admin": 3}
_CHALLENGE = ((b"www-authenticate", b'Bearer realm="xorec"'),)


class Gate:
    """Compares digests of keys, never keys, and always with all of them."""

    def __init__(self, keys: Keys) -> None:
        roles = ((RANKS["admin"], keys.admin), (RANKS["write"], keys.write), (1, keys.read))
        self._known = [
            (rank, _digest(key.get_secret_value().encode())) for rank, some in roles for key in some
        ]

    def check(self, needed: int, headers: dict[bytes, bytes]) -> None:
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


def _given(headers: dict[bytes, bytes]) -> bytes | None:
    bearer = headers.get(b"authorization", b"")
    if bearer[:7].lower() == b"bearer ":
        return bearer[7:].strip()
    return headers.get(b"x-api-key")


def _digest(key: bytes) -> bytes:
    return hashlib.sha256(key).digest()
