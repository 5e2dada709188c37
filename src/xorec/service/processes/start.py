"""Builds a running Service from the settings, and shuts it down in order.

Worker 0 takes the folder over: imports the model files, opens the log, replays it, runs tasks.
Further workers open the same files for reading and follow the log.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from xorec.core.errors import OptionError
from xorec.core.progress import logger
from xorec.recommender import storage
from xorec.service.config import Config
from xorec.service.jobs.runner import TaskRunner
from xorec.service.jobs.schedule import Schedule, publish, purged_seq
from xorec.service.live.generations import Generations
from xorec.service.live.model import LiveModel
from xorec.service.live.models import Follower, LiveModels
from xorec.service.log.base import StorageFailed
from xorec.service.log.location import LogLocation
from xorec.service.log.records import Change, Exposure, Record
from xorec.service.log.writer import LogWriter, SharedSequence
from xorec.service.metrics import Metrics
from xorec.service.service import Service
from xorec.service.snapshots import is_snapshot, read_about, restore

_PATIENCE = 60.0
"""Seconds for which a worker that starts waits for a database that is away."""


@dataclass
class Started:
    """A service, how many records of the log it has replayed, and how it ends: tasks are ended,
    what waits is written, files are closed."""

    service: Service
    replayed: int
    close: Callable[[], None]


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
    log_location(config).check()
    for path in config.files.values():
        if is_snapshot(path):
            read_about(path)
        else:
            with storage.opened(path):
                pass


def log_location(config: Config) -> LogLocation:
    return LogLocation(config.folder, config.events_address)


def take_over(config: Config) -> list[str]:
    """Make the folder ready, before any worker opens it; the names of the models."""
    folder = config.folder
    folder.mkdir(parents=True, exist_ok=True)
    files = dict(config.files)
    first = files.get("default")
    if first is not None and is_snapshot(first):
        del files["default"]
        if not log_location(config).has_begun:
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
    folder, location = config.folder, log_location(config)
    generations = [Generations(folder / "models" / name) for name in names]
    applied = [one.describe(number).applied_seq for one in generations for number in one.numbers()]
    log = location.open_log(config.durability, max(applied), min(map(purged_seq, generations)))
    sequence = SharedSequence(folder / "sequence")
    reader = location.open_reader()
    models = LiveModels(folder, reader)
    models.machine = location.machine

    def show_place() -> None:
        metrics.sequence.set(models.applied_seq)

    def on_commit(records: list[Record]) -> None:
        models.apply(records)
        events = len(records) - sum(isinstance(one, Change) for one in records)
        metrics.events.inc(events)
        metrics.activity.events(events)
        show_place()

    def on_group(events: int, seconds: float) -> None:
        metrics.flush_seconds.observe(seconds)
        metrics.activity.flush(seconds)
        metrics.group_size.observe(events)

    last = log.last_seq
    replayed = models.open(names)
    models.catch_up(last)
    _show_generations(models, metrics)
    writer = LogWriter(log, sequence, on_commit, on_group)
    service = Service(config, models, reader, sequence, metrics, writer)
    service.tasks = TaskRunner(lambda task: publish(service, task))
    ends = ExitStack()  # from the last to the first
    ends.callback(sequence.close)
    ends.callback(reader.close)
    show_place()
    if service.shares_log:  # other machines write, too
        service.follower = Follower(models, sequence, reader.last_seq, show_place)
        ends.callback(service.follower.close)
    ends.callback(writer.close)
    ends.callback(service.tasks.close)
    ends.callback(Schedule(service).close)
    return Started(service, replayed, ends.close)


def start_follower(
    config: Config, metrics: Metrics, worker: int, hand_on: Callable[[Exposure], None]
) -> Started:
    """The service of a worker that follows the log."""
    location, end = log_location(config), time.monotonic() + _PATIENCE
    with ExitStack() as ends:
        sequence = SharedSequence(config.folder / "sequence")
        ends.callback(sequence.close)
        while True:
            try:
                reader = location.open_reader()
                try:
                    models = LiveModels(config.folder, reader)
                    replayed = models.open(model_names(config))
                except BaseException:
                    reader.close()
                    raise
                break
            except StorageFailed as error:  # a database that is away: the writer was there before
                if location.address is None or time.monotonic() > end:
                    raise
                logger.warning("the worker waits: %s", error)
                time.sleep(0.5)
        ends.callback(reader.close)
        models.machine = location.machine
        _show_generations(models, metrics)
        service = Service(config, models, reader, sequence, metrics, worker=worker, hand_on=hand_on)
        service.follower = Follower(models, sequence)
        ends.callback(service.follower.close)
        return Started(service, replayed, ends.pop_all().close)


def _show_generations(models: LiveModels, metrics: Metrics) -> None:
    """Say which generations are served, now and at every swap."""
    for name in models.names():
        metrics.generation.labels(name).set(models[name].about.number)

    def swapped(live: LiveModel) -> None:
        metrics.generation.labels(live.name).set(live.about.number)
        logger.info("generation %d of %s is served", live.about.number, live.name)

    models.on_swap = swapped
