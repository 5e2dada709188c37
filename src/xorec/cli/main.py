"""The `xorec` command: puts the commands together, and turns errors into one line."""

from __future__ import annotations

import gc
import os
import sys
from contextlib import suppress
from typing import Annotated, Any, NoReturn

import typer
from typer.core import TyperGroup

from xorec import __version__
from xorec.cli import (
    bench,
    compare,
    data,
    demo,
    doctor,
    evaluate,
    explain,
    fit,
    models,
    page,
    recommend,
    reproduce,
    serve,
    sign,
    similar,
    split,
    tune,
    update,
    verify,
)
from xorec.cli.map import item_map
from xorec.cli.usage import UsageError, usage_line
from xorec.core import compiling, interrupts
from xorec.core.errors import XorecError
from xorec.core.memory import is_shortage
from xorec.core.printable import printable


class _OneLineErrors(TyperGroup):
    """A mendable error is one line on standard error and exit code 2; Ctrl-C is 130."""

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
    cls=_OneLineErrors,
    help="Recommendations at the speed of XOR.",
    no_args_is_help=True,
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_ANY_SETTING = {"allow_extra_args": True, "ignore_unknown_options": True}

app.command("demo")(demo.demo)
app.add_typer(data.app, name="data")
app.command("split")(split.split)
app.command("models")(models.models)
app.command("fit", context_settings=_ANY_SETTING)(fit.fit)
app.command("evaluate")(evaluate.evaluate)
app.command("compare", context_settings=_ANY_SETTING)(compare.compare)
app.command("tune", context_settings=_ANY_SETTING)(tune.tune)
app.command("recommend")(recommend.recommend)
app.command("similar")(similar.similar)
app.command("explain")(explain.explain)
app.command("update")(update.update)
app.command("map")(item_map)
app.command("serve")(serve.serve)
app.command("page")(page.page)
app.command("reproduce")(reproduce.reproduce)
app.add_typer(bench.app, name="bench")
app.command("sign")(sign.sign)
app.command("verify")(verify.verify)
app.command("doctor")(doctor.doctor)


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
    try:
        app()
    except _OutOfMemory as end:
        os._exit(int(end.code or 2))
    finally:
        interrupts.forget()
