"""The digest of the code that learns: what a kept result is keyed by, beside data and settings."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from pathlib import Path

ROOMS = ("core", "data", "representations", "search", "evaluation", "training", "models")
"""The rooms that a learned result, or its evaluation, can depend on."""


@cache
def code_digest(package: str = "xorec") -> str:
    """A fingerprint of the source text of those rooms: another one wherever a line has changed.

    >>> len(code_digest())
    32
    """
    return folder_digest(Path(str(files(package))))


def folder_digest(folder: Path) -> str:
    """The same of a package in `folder`: the relative paths and the bytes of its .py files."""
    total = hashlib.blake2b(digest_size=16)
    for room in ROOMS:
        for path in sorted((folder / room).rglob("*.py")):
            text = path.read_bytes()
            total.update(f"{path.relative_to(folder).as_posix()} {len(text)}\n".encode())
            total.update(text)
    return total.hexdigest()
