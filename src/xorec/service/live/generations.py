"""Generations of a model on the disk: 00000007.xorec beside the others, and CURRENT says which.

A generation is written to a temporary name, synced and renamed, then CURRENT in the same way:
whatever is killed when, the folder has a whole generation to start from.
"""

from __future__ import annotations

import shutil
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from xorec.core.errors import UnknownIdError
from xorec.core.files import replacing, write_text
from xorec.core.progress import logger
from xorec.recommender import storage
from xorec.recommender.recommender import Recommender

_DIGITS = 8


@dataclass(frozen=True)
class Generation:
    """What a file says of itself.

    applied_seq: it knows all events up to this seq of the log. erased_seq: no user is in it who
    was erased up to there.
    """

    number: int
    path: Path
    digest: str
    applied_seq: int
    erased_seq: int
    source: str
    users: int
    items: int
    nbytes: int
    model: str
    gate: dict[str, Any] | None = None


class Generations:
    """The folder of one model."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(parents=True, exist_ok=True)

    def numbers(self) -> list[int]:
        """Of all generations that are there, ascending."""
        stems = (path.stem for path in self.folder.glob("*.xorec"))
        return sorted(int(stem) for stem in stems if stem.isdigit() and len(stem) == _DIGITS)

    def path(self, number: int) -> Path:
        return self.folder / f"{number:0{_DIGITS}}.xorec"

    def describe(self, number: int) -> Generation:
        """What its file says, without loading it."""
        path = self.path(number)
        with storage.opened(path) as file:
            about, nbytes = file.metadata, file.status.st_size
        made = about.get("service", {})
        data = about.get("data", {})
        return Generation(
            number=number,
            path=path,
            digest=about["digest"],
            applied_seq=int(made.get("applied_seq", 0)),
            erased_seq=int(made.get("erased_seq", 0)),
            source=str(made.get("source", "import")),
            users=int(data.get("users", 0)),
            items=int(data.get("items", 0)),
            nbytes=nbytes,
            model=about["model"],
            gate=made.get("gate"),
        )

    def current(self) -> int | None:
        """The generation to serve: CURRENT's, or the newest where that one is missing."""
        numbers = self.numbers()
        number = self._named()
        if number in numbers:
            return number
        if number:
            logger.warning(
                "generation %d is missing in %s: the newest is taken", number, self.folder
            )
        return numbers[-1] if numbers else None

    def require(self, number: int) -> None:
        if number not in self.numbers():
            listed = ", ".join(map(str, self.numbers())) or "none"
            raise UnknownIdError(f"there is no generation {number}: there are {listed}.")

    def activate(self, number: int) -> None:
        """Let CURRENT name this one."""
        self.require(number)
        write_text(self.folder / "CURRENT", f"{number}\n")

    def publish(self, made: Recommender, source: str, applied_seq: int, **about: Any) -> int:
        """Write a recommender as the next generation; it is not served before `activate`."""
        number = max([self._named(), *self.numbers()]) + 1
        service = {"applied_seq": applied_seq, "source": source, **about}
        metadata = {**made.metadata, "service": service}
        replace(made, metadata=metadata).save(self.path(number))
        return number

    def import_file(self, path: Path) -> int | None:
        """Take over a model file that is not here yet, as the next generation; else None."""
        with storage.opened(path) as file:
            digest = file.metadata["digest"]
        mark = self.folder / "IMPORTED"
        if mark.exists() and mark.read_text(encoding="utf-8").strip() == digest:
            return None
        number = max([self._named(), *self.numbers()]) + 1
        with replacing(self.path(number)) as temporary:
            shutil.copyfile(path, temporary)
        self.activate(number)
        write_text(mark, f"{digest}\n")
        return number

    def remove_leftovers(self) -> None:
        """Temporary files of writers that were killed; no process may be writing here."""
        for left in self.folder.glob(".*.tmp"):
            left.unlink(missing_ok=True)
            logger.info("removed %s, left by a process that was killed", left.name)

    def remove_old(self, keep: int, served: set[int]) -> list[int]:
        """Remove the oldest generations beyond `keep`, but none that is served; which they were."""
        safe = served | {self.current()}
        old = [number for number in self.numbers()[:-keep] if number not in safe]
        for number in old:
            self.path(number).unlink(missing_ok=True)
        return old

    def _named(self) -> int:
        """The number in CURRENT, which may name one that is gone; 0 where it names none."""
        try:
            return int((self.folder / "CURRENT").read_text(encoding="ascii"))
        except (OSError, ValueError):
            return 0
