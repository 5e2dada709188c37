"""serve: from the settings to the end of the service, in one process or in several."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from xorec.core import interrupts
from xorec.service.config import Config
from xorec.service.folder import held
from xorec.service.logs import log_to_stderr
from xorec.service.server import address, listen
from xorec.service.start import check_files
from xorec.service.worker import Place, ready_facts, run_worker
from xorec.service.workers import supervise

OnReady = Callable[[str, dict[str, Any]], None]


def serve(config: Config, on_ready: OnReady) -> None:
    """Serve until SIGTERM or SIGINT. on_ready: gets the address and facts about what is served."""
    check_files(config)
    log_to_stderr(config.log_level)
    with ExitStack() as stack:
        lock = stack.enter_context(held(config.folder))
        listening = stack.enter_context(listen(config))
        where = address(listening)
        interrupts.forget()  # from here on a signal is a wish to end well
        if config.workers == 1:
            run_worker(
                config, listening, Place(), lambda started: on_ready(where, ready_facts(started))
            )
        else:
            supervise(config, listening, lock, lambda facts: on_ready(where, facts))
