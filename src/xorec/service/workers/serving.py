"""serve: from the settings to the end of the service, in one process or in several."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from xorec.core import interrupts
from xorec.service.folder import held
from xorec.service.http.server import address, listen
from xorec.service.settings.config import Config
from xorec.service.telemetry.logs import log_to_stderr
from xorec.service.workers.start import check_files
from xorec.service.workers.supervisor import supervise
from xorec.service.workers.worker import Place, ready_facts, run_worker

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
