"""Where the log goes when the service runs: lines on standard error."""

from __future__ import annotations

import logging
import sys
import time

from xorec.core.progress import logger


class _Lines(logging.Formatter):
    def __init__(self, worker: int) -> None:
        super().__init__(
            f"%(asctime)sZ %(levelname)s w{worker} %(message)s", datefmt="%Y-%m-%dT%H:%M:%S"
        )
        self.converter = time.gmtime


def log_to_stderr(level: str, worker: int = 0) -> None:
    """Show what the library and the service have to say; uvicorn only what is an error."""
    handler = logging.StreamHandler(sys.stderr)
    handler.setFormatter(_Lines(worker))
    logger.setLevel(level.upper())
    logger.addHandler(handler)
    for name in ("uvicorn", "asyncio"):
        other = logging.getLogger(name)
        other.setLevel(logging.ERROR)
        other.addHandler(handler)
        other.propagate = False
