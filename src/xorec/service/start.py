"""Start: out of the settings a Service that answers; and its end, in the right order.

Worker 0 takes the folder over: imports the model files, opens the log, replays it, runs tasks.
Further workers open the same files for reading and follow the log.
"""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from xorec.core.errors import OptionError
from xorec.core.log import logger
from xorec.recommender import storage
from xorec.service.config import Config
from xorec.service.events.log import EventLog
from xorec.service.events.reader import LogReader
from xorec.service.events.records import Change, Exposure, Record
from xorec.service.events.sequence import SharedSequence
from xorec.service.live.generations import Generations
from xorec.service.live.model import LiveModel
from xorec.service.live.models import LiveModels
from xorec.service.metrics import Metrics
from xorec.service.service import Service
from xorec.service.snapshots import is_snapshot, read_about, restore
from xorec.service.tasks.publishing import publish
from xorec.service.tasks.runner import TaskRunner
from xorec.service.tasks.schedule import Schedule
from xorec.service.writing import LogWriter


@dataclass
class Started:
    """A service, how many records of the log it has replayed, and what must be closed."""

    service: Service
    replayed: int
    _close: Callable[[], None]

    def close(self) -> None:
        """End tasks, write what waits, close files."""
        self._close()


def model_names(config: Config) -> list[str]:
    """Of all models that are served: those of the settings, and those that a snapshot brought."""
    names = list(config.files)
    if not names and (config.folder / "models").is_dir():
        names = sorted(path.name for path in (config.folder / "models").iterdir())
    if "default" not in names:
        raise OptionError("say what to serve: `xorec serve shop.xorec`.")
    return names


def check_files(config: Config) -> None:
    """Refuse what cannot be served before anything is made: files that are not there, or no models.

    Their values are checked when they are loaded.
    """
    model_names(config)
    for path in config.files.values():
        if is_snapshot(path):
            read_about(path)
        else:
            with storage.opened(path):
                pass


def take_over(config: Config) -> list[str]:
    """Make the folder ready, before any worker opens it; the names of the models."""
    folder = config.folder
    folder.mkdir(parents=True, exist_ok=True)
    files = dict(config.files)
    first = files.get("default")
    if first is not None and is_snapshot(first):
        del files["default"]
        if not (folder / "events.db").exists():
            restore(first, folder)
    for name, path in files.items():
        generations = Generations(folder / "models" / name)
        generations.remove_leftovers()
        number = generations.import_file(Path(path))
        if number is not None:
            logger.info("%s is generation %d of %s", path, number, name)
    return model_names(config)


def start_writer(config: Config, metrics: Metrics) -> Started:
    """The service of worker 0, which holds the log."""
    names = take_over(config)
    folder = config.folder
    generations = [Generations(folder / "models" / name) for name in names]
    applied = [one.describe(number).applied_seq for one in generations for number in one.numbers()]
    log = EventLog(folder / "events.db", config.durability, floor=max(applied))
    sequence = SharedSequence(folder / "sequence")
    reader = LogReader(folder / "events.db")
    models = LiveModels(folder, reader)
    _show_generations(models, metrics)

    def on_commit(records: list[Record]) -> None:
        models.apply(records)
        events = len(records) - sum(isinstance(one, Change) for one in records)
        metrics.events.inc(events)
        metrics.activity.events(events)
        metrics.sequence.set(models.applied_seq)

    def on_group(events: int, seconds: float) -> None:
        metrics.flush_seconds.observe(seconds)
        metrics.activity.flush(seconds)
        metrics.group_size.observe(events)

    replayed = models.open(names)
    writer = LogWriter(log, sequence, on_commit, on_group)
    service = Service(config, models, reader, sequence, metrics, writer)
    service.tasks = tasks = TaskRunner(lambda task, order: publish(service, task, order))
    schedule = Schedule(service)
    metrics.sequence.set(models.applied_seq)

    def close() -> None:
        schedule.close()
        tasks.close()
        writer.close()
        reader.close()
        sequence.close()

    return Started(service, replayed, close)


def start_follower(
    config: Config, metrics: Metrics, worker: int, hand_on: Callable[[Exposure], None]
) -> Started:
    """The service of a worker that follows the log."""
    folder = config.folder
    sequence, reader = SharedSequence(folder / "sequence"), LogReader(folder / "events.db")
    models = LiveModels(folder, reader)
    _show_generations(models, metrics)
    replayed = models.open(model_names(config))
    service = Service(config, models, reader, sequence, metrics, worker=worker, hand_on=hand_on)
    ending = threading.Event()

    def keep_up() -> None:
        """Follow also while nobody asks, so that the next request does not wait for it."""
        while not ending.wait(0.05):
            try:
                service.follow()
            except Exception:
                logger.exception("worker %d cannot follow the log", worker)

    follower = threading.Thread(target=keep_up, name="follow", daemon=True)
    follower.start()

    def close() -> None:
        ending.set()
        follower.join(2)
        reader.close()
        sequence.close()

    return Started(service, replayed, close)


def _show_generations(models: LiveModels, metrics: Metrics) -> None:
    def swapped(live: LiveModel) -> None:
        metrics.generation.labels(live.name).set(live.about.number)
        logger.info("generation %d of %s is served", live.about.number, live.name)

    models.on_swap = swapped
