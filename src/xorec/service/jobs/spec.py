"""TaskSpec: what a child process has to do, as the configuration has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from xorec.service.live.generations import Generations
from xorec.service.log.location import LogLocation


@dataclass(frozen=True)
class TaskSpec:
    """What is to be done. until: the last place of the log that counts."""

    kind: str
    folder: str
    name: str = "default"
    until: int = 0
    recipe: str | None = None
    settings: Mapping[str, Any] | None = None
    gate_drop: float = 0.02
    keep: int = 5
    threads: int = 1
    checkpoint: str = ""
    activate: bool = True
    events: str | None = field(default=None, repr=False)
    """Where the events are, if not in the folder: an address, with its secrets."""

    @property
    def log(self) -> LogLocation:
        """The event log."""
        return LogLocation.of(Path(self.folder), self.events)

    @property
    def generations(self) -> Generations:
        """Of the model."""
        return Generations(Path(self.folder) / "models" / self.name)
