"""When events become a new generation and when everything is learned again; publishing of both.

A thread looks every second: after so many events, after so many minutes if there are any, or soon
where an item came that no model knows (it is in no list before that). Users whom another machine
has erased, or this one before a kill, are taken out of the files, too.
"""

from __future__ import annotations

import threading
import time
from typing import Any

from xorec.core.progress import logger
from xorec.service.jobs.runner import Task
from xorec.service.jobs.spec import TaskSpec
from xorec.service.live.generations import Generations
from xorec.service.live.model import LiveModel
from xorec.service.service import Service


def spec_for(
    service: Service, kind: str, name: str, until: int | None = None, **more: Any
) -> TaskSpec:
    """The task for one model. until: the last place of the log that counts; default: now."""
    config = service.config
    return TaskSpec(
        kind=kind,
        folder=str(service.models.folder),
        name=name,
        until=service.models.applied_seq if until is None else until,
        gate_drop=config.refit.gate_drop,
        keep=config.update.keep_generations,
        events=None if config.events is None else config.events.get_secret_value(),
        **more,
    )


def publish(service: Service, task: Task) -> None:
    """Serve the generation that a task has made, if it may be; load anew what was rewritten."""
    spec, result = task.spec, task.result or {}
    if spec.kind == "purge":
        current = service.models[spec.name].about.number
        if current in result.get("rewritten", ()):
            activate(service, spec.name, current, reload=True)
        forget_erasures(service)
        return
    if not spec.activate or not result.get("activate"):
        why = (result.get("gate") or {}).get("reason", "as was asked for")
        task.detail = f"generation {result['generation']} is kept but not served: {why}"
        logger.warning("%s", task.detail)
        return
    activate(service, spec.name, int(result["generation"]))


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


_LOOK = 1.0
COLD_SECONDS = 30.0
"""For which an item without a code waits for company, and between two tries of a purge."""
_SAY = 3600.0
"""Seconds after which a machine says again that it is there, to those that share its log."""


class Schedule:
    """A thread of the worker that holds the log."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._ending = threading.Event()
        now = time.monotonic()
        self._updated = dict.fromkeys(service.models.names(), now)
        self._refitted = dict(self._updated)
        self._purged = dict.fromkeys(service.models.names(), 0)
        self._purge_tried = dict.fromkeys(service.models.names(), -COLD_SECONDS)
        self._said = now
        self._cold_since: float | None = None
        self._thread = threading.Thread(target=self._run, name="schedule", daemon=True)
        self._thread.start()

    def close(self) -> None:
        """TaskSpec nothing more."""
        self._ending.set()
        self._thread.join(2)

    def _run(self) -> None:
        while not self._ending.wait(_LOOK):
            try:
                self.look(time.monotonic())
            except Exception:  # tomorrow is another day
                logger.exception("the schedule failed")

    def look(self, now: float) -> None:
        """TaskSpec what is due."""
        models, tasks = self._service.models, self._service.require_tasks()
        self._cold_since = (self._cold_since or now) if models.cold else None
        if self._service.shares_log and now - self._said >= _SAY:
            self._said = now
            forget_erasures(self._service)
        for name in models.names():
            if self._is_purge_due(name, now) and not tasks.is_busy("purge", name):
                self._purge_tried[name] = now
                tasks.add(spec_for(self._service, "purge", name))
            if self._is_refit_due(name, now) and not tasks.is_busy("refit", name):
                self._refitted[name] = self._updated[name] = now
                tasks.add(spec_for(self._service, "refit", name))
            elif self._is_update_due(models[name], now) and not tasks.is_busy("update", name):
                self._updated[name] = now
                tasks.add(spec_for(self._service, "update", name))

    def _is_update_due(self, live: LiveModel, now: float) -> bool:
        settings = self._service.config.update
        recent, applied = live.recent, live.about.applied_seq
        if recent.last_seq <= applied:
            return False
        since = now - self._updated[live.name]
        if recent.last_seq - applied >= settings.events:
            return since >= min(COLD_SECONDS, settings.minutes * 60)
        cold = self._cold_since is not None and now - self._cold_since >= COLD_SECONDS
        return since >= settings.minutes * 60 or (cold and since >= COLD_SECONDS)

    def _is_purge_due(self, name: str, now: float) -> bool:
        models = self._service.models
        last = models.last_erased
        if last <= self._purged[name] or now - self._purge_tried[name] < COLD_SECONDS:
            return False
        self._purged[name] = purged_seq(models.generations(name))
        return last > self._purged[name]

    def _is_refit_due(self, name: str, now: float) -> bool:
        hours = self._service.config.refit.every_hours
        return hours is not None and now - self._refitted[name] >= hours * 3600
