"""Progress of a job by Spark's own count of finished tasks."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from xorec.core.progress import SILENT, Progress, Task

_EVERY = 0.5
"""Seconds between two looks at Spark's stages."""


@contextmanager
def watching_stages(session: Any, name: str, progress: Progress) -> Iterator[None]:
    """Show how many tasks of the jobs inside the block are done."""
    if progress is SILENT or not hasattr(session, "_jsparkSession"):
        yield
        return
    tracker, over = session.sparkContext.statusTracker(), threading.Event()
    with progress.task(f"spark: {name}", None) as task:
        watcher = threading.Thread(target=_watch, args=(tracker, task, over), daemon=True)
        watcher.start()
        try:
            yield
        finally:
            over.set()
            watcher.join()


def _watch(tracker: Any, task: Task, over: threading.Event) -> None:
    told: dict[int, int] = {}
    while not over.wait(_EVERY):
        for stage in tracker.getActiveStageIds():
            info = tracker.getStageInfo(stage)
            if info is not None and info.numCompletedTasks > told.get(stage, 0):
                task.advance(
                    info.numCompletedTasks - told.get(stage, 0),
                    stage=str(stage),
                    tasks=f"{info.numCompletedTasks}/{info.numTasks}",
                )
                told[stage] = info.numCompletedTasks
