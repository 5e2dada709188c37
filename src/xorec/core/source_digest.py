"""Digests of xorec's own source: a cached result is keyed by the source that made it."""

from __future__ import annotations

import hashlib
from functools import cache
from importlib.resources import files
from pathlib import Path

ROOMS: tuple[str, ...] = ("core", "databases", "data", "representations")
ROOMS += ("search", "evaluation", "training", "models")
"""The rooms that a learned result, or its evaluation, can depend on."""


@cache
def source_digest(parts: tuple[str, ...] = ROOMS, package: Path | None = None) -> str:
    """A fingerprint of the .py files in these files and folders of a package (xorec by default).

    It changes with any line and any name of a file; the text is read once in a process.
    """
    folder, total = package or Path(str(files("xorec"))), hashlib.blake2b(digest_size=16)
    for part in parts:
        path = folder / part
        for file in sorted(path.rglob("*.py")) if path.is_dir() else [path]:
            text = file.read_bytes()
            total.update(f"{file.relative_to(folder).as_posix()} {len(text)}\n".encode())
            total.update(text)
    return total.hexdigest()
