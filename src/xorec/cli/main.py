"""The `xorec` command: puts the commands together, and turns errors into one line."""

from __future__ import annotations

import gc
import os
import sys
import warnings
from contextlib import suppress
from importlib import import_module
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup
from typer.main import get_group

from xorec import __version__
from xorec.cli.settings import UsageError, usage_line
from xorec.core import interrupts
from xorec.core.errors import XorecError
from xorec.core.kernels import compiling
from xorec.core.memory import is_shortage
from xorec.core.printable import printable

_MODULES = {
    "split": "data",
    "models": "settings",
    "explain": "similar",
    "page": "map",
    "verify": "sign",
}
"""The module of a command; of all others it has the command's name."""
_COMMANDS = (
    *("demo", "data", "split", "models", "plan", "fit", "evaluate", "compare", "tune"),
    *("recommend", "similar", "explain", "update", "map", "page", "export", "serve"),
    *("reproduce", "bench", "sign", "verify", "doctor"),
)
"""In the order of the help: each is a function of this name, or the app of its module."""
_TAKE_ANY_SETTING = ("plan", "fit", "compare", "tune")


def _command(name: str) -> Any:
    """A command as click has it."""
    module = import_module(f"xorec.cli.{_MODULES.get(name, name)}")
    alone = typer.Typer(rich_markup_mode=None)
    if name not in _MODULES and hasattr(module, "app"):
        alone.add_typer(module.app, name=name)
    else:
        free = name in _TAKE_ANY_SETTING
        settings = {"allow_extra_args": free, "ignore_unknown_options": free}
        alone.command(name, context_settings=settings)(getattr(module, name))
    return get_group(alone).commands[name]


class _Commands(TyperGroup):
    """Imports a command when it is asked for: a service that starts needs one of them.

    A mendable error is one line on standard error and exit code 2; Ctrl-C is 130.
    """

    def list_commands(self, ctx: Any) -> list[str]:
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        wanted = [cmd_name] if cmd_name in _COMMANDS else _COMMANDS  # all: to guess what was meant
        self.commands.update((one, _command(one)) for one in wanted if one not in self.commands)
        return super().get_command(ctx, cmd_name)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        try:
            return super().parse_args(ctx, args)
        except UsageError as error:
            _stop(f"error: {usage_line(error)}", 2)

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except UsageError as error:
            _stop(f"error: {usage_line(error)}", 2)
        except XorecError as error:
            _stop(f"error: {error}", 2)
        except KeyboardInterrupt as interrupt:
            hint = f" {interrupt}" if str(interrupt) else ""
            _stop(f"interrupted.{hint}", 130)
        except BrokenPipeError:  # the reader of our output went away: no news
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            sys.exit(0)
        except BaseException as error:  # a panic of polars is no Exception
            if not is_shortage(error):
                raise
            with suppress(SystemExit):
                _stop("error: out of memory: take fewer rows, dimensions or threads.", 2)
            raise _OutOfMemory(2) from None


class _OutOfMemory(SystemExit):
    """Leave at once: Python's own tidying up would want memory, too, and may hang for it."""


def _stop(message: str, code: int) -> NoReturn:
    sys.stdout.flush()
    sys.stderr.write(printable(" ".join(message.splitlines())) + "\n")
    sys.exit(code)


app = typer.Typer(
    cls=_Commands,
    help="Recommendations at the speed of XOR.",
    no_args_is_help=True,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"xorec {__version__}")
        raise typer.Exit


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """Recommendations at the speed of XOR."""


def main() -> None:
    """Run the command that the words after `xorec` ask for (`xorec.__main__` calls this)."""
    gc.set_threshold(100_000, 50, 50)  # collecting among what imports make is a tenth of a start
    interrupts.listen()
    if not {"-q", "--quiet"} & set(sys.argv):
        compiling.listen(lambda line: print(line, file=sys.stderr, flush=True))  # noqa: T201
        warnings.filterwarnings("default", category=DeprecationWarning, module="xorec")
        warnings.formatwarning = lambda message, *rest, **more: f"xorec: {message}\n"
    try:
        app()
    except _OutOfMemory as end:
        os._exit(int(end.code or 2))
    finally:
        interrupts.forget()
