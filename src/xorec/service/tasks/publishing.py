"""Publishing: what a task has made becomes what is served, on every worker."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from xorec.core.progress import logger
from xorec.service.live.generations import Generations
from xorec.service.schemas.admin import TaskOut
from xorec.service.tasks.orders import Order

if TYPE_CHECKING:
    from xorec.service.service import Service


def publish(service: Service, task: TaskOut, order: Order) -> None:
    """Serve the generation that a task has made, if it may be; load anew what was rewritten."""
    result = task.result or {}
    if order.kind == "purge":
        current = service.models[order.name].about.number
        if current in result.get("rewritten", ()):
            activate(service, order.name, current, reload=True)
        forget_erasures(service)
        return
    if not order.activate or not result.get("activate"):
        why = (result.get("gate") or {}).get("reason", "as was asked for")
        task.detail = f"generation {result['generation']} is kept but not served: {why}"
        logger.warning("%s", task.detail)
        return
    activate(service, order.name, int(result["generation"]))


def forget_erasures(service: Service) -> None:
    """Take the names of the erased out of the log, where no file has them any more."""
    done = min(purged_seq(service.models.generations(name)) for name in service.models.names())
    service.require_writer().forget(done).result()


def purged_seq(generations: Generations) -> int:
    """No file of these generations has anybody who was erased up to this place."""
    return min((generations.describe(one).erased_seq for one in generations.numbers()), default=0)


def activate(service: Service, name: str, number: int, *, reload: bool = False) -> int:
    """Serve a generation from now on; gives the place of that in the log.

    It is loaded and made warm before anybody is told; CURRENT is on the disk before the log has it.
    """
    writer = service.require_writer()
    generations = service.models.generations(name)
    if not reload:
        generations.require(number)
        service.models.prepare(name, number)
    generations.activate(number)
    body: dict[str, Any] = {
        "name": name,
        "generation": number,
        **({"reload": True} if reload else {}),
    }
    if service.models.machine is not None:
        body["machine"] = service.models.machine
    return writer.change("activate", body).result()
