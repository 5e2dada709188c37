"""Where a user's caches are kept on this platform."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def user_cache() -> Path:
    """xorec's folder among the caches of the user; it need not exist."""
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "xorec"
