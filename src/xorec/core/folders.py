"""Where a user's caches are kept on this platform."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def user_cache() -> Path:
    """xorec's folder among the caches of the user; it need not exist.

    Raises RuntimeError where there is no home folder.
    """
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA") or Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        chosen = Path(os.environ.get("XDG_CACHE_HOME", ""))
        base = chosen if chosen.is_absolute() else _home() / ".cache"
    return base / "xorec"


def _home() -> Path:
    """The user's home; that of the system's user database where HOME is set to nothing."""
    return Path.home() if os.environ.get("HOME", "-") else Path(f"~{_user()}").expanduser()


def _user() -> str:
    import pwd

    try:
        return pwd.getpwuid(os.getuid()).pw_name
    except KeyError:
        raise RuntimeError("this user has no home folder") from None
