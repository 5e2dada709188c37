"""Waiting in tests: for an event, never for a time. The limit ends a hang, and proves nothing."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

PATIENCE = 120.0
"""Seconds after which something is taken for hung, however busy the machine is."""


def until(happened: Callable[[], Any], seconds: float = PATIENCE, *, pause: float = 0.005) -> None:
    """Wait for something that another thread or process does."""
    end = time.monotonic() + seconds
    while not happened():
        assert time.monotonic() < end, f"it did not happen in {seconds:g} seconds"
        time.sleep(pause)
