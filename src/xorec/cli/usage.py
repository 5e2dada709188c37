"""What typer says of a wrong command line, in one line like every other error."""

from __future__ import annotations

from typing import Any

import typer

from xorec.core.printable import did_you_mean

UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""Of click, which typer brings along under a name of its own."""


def usage_line(error: Any) -> str:
    """The error in one line; raises it again where it only stands for the help text."""
    if type(error).__name__ == "NoArgsIsHelpError":
        raise error
    message, command = " ".join(error.format_message().split()), "xorec"
    if error.ctx is not None:
        command = error.ctx.command_path
        if hasattr(error, "possibilities") and hasattr(error, "option_name"):
            hint = did_you_mean(error.option_name, long_options(error.ctx), sign="--")
            message = f"no option {error.option_name}.{hint}"
    message = message[:1].lower() + message[1:]
    full_stop = "" if message.endswith((".", "?")) else "."
    return f"{command}: {message}{full_stop} `{command} --help` tells more."


def long_options(context: Any) -> list[str]:
    """The names of a command's options, without the dashes."""
    names = [name for one in context.command.params for name in one.opts]
    return [name[2:] for name in names if name.startswith("--")]
