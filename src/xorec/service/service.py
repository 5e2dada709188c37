"""Service: what the handlers work with. One in each worker."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from xorec.service.config import Config
    from xorec.service.events.reader import LogReader
    from xorec.service.live.models import LiveModels
    from xorec.service.metrics import Metrics
    from xorec.service.writing import LogWriter


@dataclass
class Service:
    """config: as it is in force. models: what is served, by name. reader: questions to the log.
    writer: appends to it; None in a worker that follows. worker: its number, 0 holds the log.
    """

    config: Config
    models: LiveModels
    reader: LogReader
    metrics: Metrics
    writer: LogWriter | None = None
    worker: int = 0
    extra: dict[str, Any] = field(default_factory=dict)
