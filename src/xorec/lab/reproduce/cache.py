"""The cache: finished results of a run, each in a file named by everything that went into it.

A result that is there is not computed again, so a run that was stopped goes on where it was, and
runs that have results in common share them. What went in is the data, the settings, the seed and
the code: after a change of what learns or measures all results are computed again. A result is
written in one piece or not at all.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from xorec.core.files import replacing, write_text
from xorec.core.source_digest import source_digest

Key = Mapping[str, Any]
"""All that went in, as JSON."""
Arrays = dict[str, Any]
"""NumPy arrays by name."""
MEASURING = (
    "lab/bench/*.py",
    "lab/reproduce/dataset_run.py",
    "selection/tuning/*.py",
    "selection/comparison.py",
)


@dataclass(frozen=True, eq=False)
class Result:
    """What came out: values that JSON can hold, and arrays."""

    values: dict[str, Any]
    arrays: Arrays = field(default_factory=dict)


@cache
def measuring_digest() -> str:
    """A fingerprint of the code that tunes and times, beside `source_digest`."""
    package, total = Path(__file__).parents[2], hashlib.blake2b(digest_size=16)
    for pattern in MEASURING:
        for path in sorted(package.glob(pattern)):
            total.update(path.read_bytes())
    return total.hexdigest()


class Cache:
    """The finished results in one folder."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def has(self, kind: str, key: Key) -> bool:
        """Whether this result is there."""
        return self.path(kind, key).exists()

    def get(self, kind: str, key: Key, compute: Callable[[], Result]) -> Result:
        """The result of `key`, computed now if it is not there yet."""
        path = self.path(kind, key)
        if not path.exists():
            self._write(path, key, compute())
        return self._read(path)

    def path(self, kind: str, key: Key) -> Path:
        """Its file: the kind, and a digest of the key and of the code."""
        text = json.dumps([key, source_digest(), measuring_digest()], sort_keys=True)
        digest = hashlib.blake2b(text.encode(), digest_size=12).hexdigest()
        return self.folder / f"{kind}-{digest}.json"

    def _write(self, path: Path, key: Key, result: Result) -> None:
        """The arrays first: a result is there when its values are."""
        if result.arrays:
            with replacing(path.with_suffix(".npz")) as temporary, temporary.open("wb") as file:
                np.savez_compressed(file, **result.arrays)
        text = json.dumps({"key": key, "values": result.values, "arrays": bool(result.arrays)})
        write_text(path, text)

    def _read(self, path: Path) -> Result:
        kept = json.loads(path.read_text())
        if not kept["arrays"]:
            return Result(kept["values"])
        with np.load(path.with_suffix(".npz")) as arrays:
            return Result(kept["values"], dict(arrays))
