"""Orders: what a child process is to do, as the configuration has it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xorec.service.events.location import LogLocation
from xorec.service.live.generations import Generations

if TYPE_CHECKING:
    from xorec.service.service import Service


@dataclass(frozen=True)
class Order:
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


def order_for(
    service: Service, kind: str, name: str, until: int | None = None, **more: Any
) -> Order:
    """An order for one model. until: the last place of the log that counts; default: now."""
    config = service.config
    return Order(
        kind=kind,
        folder=str(service.models.folder),
        name=name,
        until=service.models.applied_seq if until is None else until,
        gate_drop=config.refit.gate_drop,
        keep=config.update.keep_generations,
        events=None if config.events is None else config.events.get_secret_value(),
        **more,
    )
