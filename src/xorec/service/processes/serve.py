"""The folder of a service belongs to one service at a time."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

from xorec.core import files, interrupts
from xorec.core.errors import OptionError
from xorec.service.config import Config
from xorec.service.http.server import address, listen
from xorec.service.logs import log_to_stderr
from xorec.service.processes.start import check_files
from xorec.service.processes.supervisor import supervise
from xorec.service.processes.worker import Place, ready_facts, run_worker


@contextmanager
def hold_folder(folder: Path) -> Iterator[int]:
    """Hold the folder's lock; the system lets go of it when the process ends, however it does.

    Its descriptor is passed on to workers: the lock lasts until the last of them has ended.
    Where the block fails before anything else is in a folder that was not there, it goes again.
    """
    was_there = folder.exists()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        handle = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o666)
    except OSError as error:
        raise files.cannot_write(folder / "lock", error) from None
    try:
        if files.lock(handle) is False:
            raise OptionError(
                f"another service uses {folder}: end it, or give this one its own --data."
            )
        try:
            yield handle
        except BaseException:
            if not was_there and os.listdir(folder) == ["lock"]:
                (folder / "lock").unlink()
                folder.rmdir()
            raise
    finally:
        os.close(handle)


OnReady = Callable[[str, dict[str, Any]], None]


def serve(config: Config, on_ready: OnReady) -> None:
    """Serve until SIGTERM or SIGINT. on_ready: gets the address and facts about what is served."""
    check_files(config)
    log_to_stderr(config.log_level)
    with ExitStack() as stack:
        lock = stack.enter_context(hold_folder(config.folder))
        listening = stack.enter_context(listen(config))
        where = address(listening)
        interrupts.forget()  # from here on a signal is a wish to end well
        if config.workers == 1:
            run_worker(
                config, listening, Place(), lambda started: on_ready(where, ready_facts(started))
            )
        else:
            supervise(config, listening, lock, lambda facts: on_ready(where, facts))
