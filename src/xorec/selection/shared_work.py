"""What several fits share: an object for all tasks of an engine, vectors to start from."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np

from xorec.core.engine import Engine, Shared, pickled, unpickled
from xorec.core.files import temporary_folder
from xorec.core.options import RunOptions


@contextmanager
def shared_object(engine: Engine, name: str, thing: Any) -> Iterator[Shared]:
    """Bring an object to the engine, for all calls inside: tasks find its path by `name`."""
    with temporary_folder() as folder:
        path = folder / name
        path.write_bytes(pickled(thing).tobytes())
        with engine.share_file(name, path) as shared:
            yield shared


def read_shared(path: str) -> Any:
    """The object, in a task."""
    return unpickled(np.fromfile(path, np.uint8))


def task_options(path: str, seed: int) -> RunOptions:
    """Options of a fit in a task: one thread, and vectors to start from are kept beside `path`."""
    starts = Path(f"{path}.starts")
    starts.mkdir(exist_ok=True)
    return RunOptions(seed=seed, threads=1, cache=starts)


@contextmanager
def vectors_learned_once(options: RunOptions) -> Iterator[RunOptions]:
    """Options for several fits: vectors that more than one of them starts from are kept.

    The first one's seconds then have them, those of the others do not. Without options.cache they
    go when all is done; beside a checkpoint they stay until then for a run that goes on.
    """
    if options.cache is not None:
        yield options
    elif options.checkpoint is None:
        with temporary_folder() as folder:
            yield replace(options, cache=folder)
    else:
        folder = Path(f"{options.checkpoint}.vectors")
        folder.mkdir(parents=True, exist_ok=True)
        yield replace(options, cache=folder)
        shutil.rmtree(folder, ignore_errors=True)
