"""Orders: what a child process is to do, as the configuration has it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xorec.service.tasks.work import Order

if TYPE_CHECKING:
    from xorec.service.service import Service


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
        **more,
    )
