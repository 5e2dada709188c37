"""The surroundings of a test run: the same whatever terminal, user or script has started it."""

from __future__ import annotations

import atexit
import os
import shutil
import signal
import tempfile

from xorec.core.kernel_cache import kernel_folder

_OF_THE_TERMINAL = {
    "CLICOLOR", "CLICOLOR_FORCE", "COLORTERM", "COLUMNS", "FORCE_COLOR", "LINES", "NO_COLOR",
    "PY_COLORS", "TERM", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "_TYPER_FORCE_DISABLE_TERMINAL",
}  # fmt: skip
_OF_PYTHON = {"PYTHONOPTIMIZE", "PYTHONWARNINGS", "PYTHONSTARTUP", "PYTHONINSPECT"}
_OF_GITHUB = {"GITHUB_ACTIONS"}
"""rich takes its runners for terminals with colours."""


def make_neutral() -> None:
    """Take out of the environment what changes answers; give the run a home of its own.

    Kernels stay where they are: they are keyed by content.
    """
    if "PYTEST_XDIST_WORKER" in os.environ:  # the process that started it has done so
        _pass_on_no_ignored_signals()
        return
    kernels = kernel_folder()
    for name in list(os.environ):
        foreign = name.startswith("XOREC_") or name.lower().endswith("_proxy")
        if foreign or name in _OF_THE_TERMINAL | _OF_PYTHON | _OF_GITHUB:
            del os.environ[name]
    home = tempfile.mkdtemp(prefix="xorec-home-")
    atexit.register(shutil.rmtree, home, ignore_errors=True)
    for name in [name for name in os.environ if name.startswith("XDG_")]:
        del os.environ[name]
    os.environ["HOME"] = home
    os.environ["XOREC_STAMPS"] = "off"
    if kernels is not None:
        os.environ["NUMBA_CACHE_DIR"] = str(kernels)
    _pass_on_no_ignored_signals()


def _pass_on_no_ignored_signals() -> None:
    """Children do not ignore the signals that nohup or a shell's `&` makes this process ignore.

    A handler is not inherited, `ignored` is: so this process answers them, by doing nothing.
    """
    for number in (signal.SIGHUP, signal.SIGINT, signal.SIGQUIT):
        if signal.getsignal(number) == signal.SIG_IGN:
            signal.signal(number, lambda *_: None)
