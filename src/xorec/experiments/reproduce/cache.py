"""The cache: finished parts of a run, each in a file named by everything that went into it.

A part that is there is not done again, so a run that was stopped goes on where it was, and runs
that have parts in common share them. A part is written in one piece or not at all.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from xorec.core.files import replacing

Arrays = dict[str, Any]
"""NumPy arrays by name."""


@dataclass(frozen=True, eq=False)
class Part:
    """What came out: facts that JSON can hold, and arrays."""

    facts: dict[str, Any]
    arrays: Arrays = field(default_factory=dict)


class Cache:
    """The finished parts in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def has(self, kind: str, about: Mapping[str, Any]) -> bool:
        """Whether this part is finished."""
        return self.path(kind, about).exists()

    def get(self, kind: str, about: Mapping[str, Any], make: Callable[[], Part]) -> Part:
        """The part of `about`, made now if it is not there yet."""
        path = self.path(kind, about)
        if not path.exists():
            self._write(path, about, make())
        return self._read(path)

    def path(self, kind: str, about: Mapping[str, Any]) -> Path:
        """Its file: the kind, and a digest of what it is about."""
        text = json.dumps(about, sort_keys=True)
        digest = hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
        return self.folder / f"{kind}-{digest}.json"

    def _write(self, path: Path, about: Mapping[str, Any], part: Part) -> None:
        """The arrays first: a part is there when its facts are."""
        if part.arrays:
            with replacing(path.with_suffix(".npz")) as temporary, temporary.open("wb") as file:
                np.savez_compressed(file, **part.arrays)
        text = json.dumps({"about": about, "facts": part.facts, "arrays": bool(part.arrays)})
        with replacing(path) as temporary:
            temporary.write_text(text)

    def _read(self, path: Path) -> Part:
        kept = json.loads(path.read_text())
        if not kept["arrays"]:
            return Part(kept["facts"])
        with np.load(path.with_suffix(".npz")) as arrays:
            return Part(kept["facts"], dict(arrays))
