"""A fit in one piece, as one task of a remote engine: models whose steps cannot be cut run there.

SGD reads what the step before has written, so its blocks would send kilobytes for every pair. Such
a fit goes to one executor with all the pairs, and comes back fitted: the very same code, the very
same bytes. Where executors see the folder of the checkpoint, the task writes it there as it goes: a
task that is lost with its executor goes on from it, and so does a new driver with `resume`. Where
they do not see it, a lost task starts anew.
"""

from __future__ import annotations

import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xorec.core.engine import Arrays, Engine
from xorec.core.options import RunOptions
from xorec.core.pickles import pickled, unpickled
from xorec.data.interactions import Interactions

if TYPE_CHECKING:
    from xorec.models.base import Model


def fit_as_task(
    model: Model[Any],
    train: Interactions,
    validation: Interactions | None,
    options: RunOptions,
    engine: Engine,
) -> Model[Any]:
    """The model, fitted on the engine."""
    from xorec.models.model_state import opened_model, packed_model

    work = {"model": packed_model(model), "parts": pickled((train, validation))}
    settings: dict[str, Any] = {"seed": options.seed}
    settings["threads"] = options.threads or engine.task_threads
    with _marked(options) as checkpoint:
        (made,) = engine.map_blocks(fit_block, [{}], [work], **settings, **checkpoint)
    return opened_model(made["model"])


def fit_block(
    block: Arrays,
    shared: Arrays,
    seed: int,
    threads: int,
    checkpoint: str | None = None,
    token: str = "",
) -> Arrays:
    """Fit what is shared."""
    from xorec.models.model_state import opened_model, packed_model

    train, validation = unpickled(shared["parts"])
    path = None if checkpoint is None else Path(checkpoint)
    if path is not None and not _sees(path, token):
        path = None
    options = RunOptions(seed=seed, threads=threads, checkpoint=path, resume=path is not None)
    fitted = opened_model(shared["model"]).fit(train, validation, options)
    return {"model": packed_model(fitted)}


@contextmanager
def _marked(options: RunOptions) -> Iterator[dict[str, str]]:
    """Where the task keeps its checkpoint, and a file beside it by which it knows the folder."""
    path = options.checkpoint
    if path is None:
        yield {}
        return
    if not options.resume:
        path.unlink(missing_ok=True)
    path = path.resolve()
    token, mark = secrets.token_hex(8), _mark(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    mark.write_text(token, encoding="utf-8")
    try:
        yield {"checkpoint": str(path), "token": token}
    finally:
        mark.unlink(missing_ok=True)


def _sees(path: Path, token: str) -> bool:
    try:
        return _mark(path).read_text(encoding="utf-8") == token
    except OSError:
        return False


def _mark(path: Path) -> Path:
    return Path(f"{path}.shared")
