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
from xorec.service.jobs.runner import Task, TaskSpec
from xorec.service.live.generations import Generations
from xorec.service.live.model import LiveModel
from xorec.service.service import Service


def spec_for(service: Service, kind: str, name: str, **more: Any) -> TaskSpec:
    """The task for one model, with all that the log has now."""
    config = service.config
    settings = {
        "until": service.models.applied_seq,
        "gate_drop": config.refit.gate_drop,
        "keep": config.update.keep_generations,
        "events": config.events_secret,
    }
    return TaskSpec(kind, str(service.models.folder), name, **{**settings, **more})


def publish(service: Service, task: Task) -> None:
    """Serve the generation that a task has made, if it may be; load again what was rewritten."""
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
    """No file of these generations has anybody who was erased up to this seq."""
    return min((generations.describe(one).erased_seq for one in generations.numbers()), default=0)


def activate(service: Service, name: str, number: int, *, reload: bool = False) -> int:
    """Serve a generation from now on; gives the seq of that in the log.

    It is loaded and made warm before anybody is told; CURRENT is on the disk before the log has it.
    """
    writer, models = service.require_writer(), service.models
    generations = models.generations(name)
    body: dict[str, Any] = {"name": name, "generation": number}
    if reload:
        body["reload"] = True
    if models.machine is not None:
        body["machine"] = models.machine
    with models.activating:
        if not reload:
            generations.require(number)
            models.prepare(name, number)
        generations.activate(number)
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
        self._ordered: dict[tuple[str, str], float] = {}
        """By kind and model: when it was last ordered."""
        self._purged: dict[str, int] = {}
        """By model: the seq up to which its files were seen to be purged."""
        for name in service.models.names():
            self._ordered |= {(kind, name): now for kind in ("update", "refit")}
            self._ordered["purge", name] = -COLD_SECONDS
            self._purged[name] = 0
        self._said = now
        self._cold_since: float | None = None
        self._thread = threading.Thread(target=self._run, name="schedule", daemon=True)
        self._thread.start()

    def close(self) -> None:
        self._ending.set()
        self._thread.join(2)

    def _run(self) -> None:
        while not self._ending.wait(_LOOK):
            try:
                self.look(time.monotonic())
            except Exception:  # tomorrow is another day
                logger.exception("the schedule failed")

    def look(self, now: float) -> None:
        models, tasks = self._service.models, self._service.require_tasks()
        self._cold_since = (self._cold_since or now) if models.cold else None
        if self._service.shares_log and now - self._said >= _SAY:
            self._said = now
            forget_erasures(self._service)
        for name in models.names():
            for kind, is_due in (
                ("purge", self._is_purge_due),
                ("refit", self._is_refit_due),
                ("update", self._is_update_due),
            ):
                since = now - self._ordered[kind, name]
                if is_due(models[name], since, now) and not tasks.is_busy(kind, name):
                    self._ordered[kind, name] = now
                    if kind == "refit":  # it learns the events, too
                        self._ordered["update", name] = now
                    tasks.add(spec_for(self._service, kind, name))

    def _is_update_due(self, live: LiveModel, since: float, now: float) -> bool:
        settings = self._service.config.update
        events = live.recent.last_seq - live.about.applied_seq
        if events <= 0:
            return False
        if events >= settings.events:
            return since >= min(COLD_SECONDS, settings.minutes * 60)
        cold = self._cold_since is not None and now - self._cold_since >= COLD_SECONDS
        return since >= settings.minutes * 60 or (cold and since >= COLD_SECONDS)

    def _is_purge_due(self, live: LiveModel, since: float, now: float) -> bool:
        models, name = self._service.models, live.name
        last = models.last_erased
        if last <= self._purged[name] or since < COLD_SECONDS:
            return False
        self._purged[name] = purged_seq(models.generations(name))
        return last > self._purged[name]

    def _is_refit_due(self, live: LiveModel, since: float, now: float) -> bool:
        hours = self._service.config.refit.every_hours
        return hours is not None and since >= hours * 3600
