"""The commands of `xorec` as they are: a page of the site, and a manual page.

python tools/site/commands.py man xorec.1      # man ./xorec.1
python tools/site/commands.py markdown commands.md
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any


@dataclass(frozen=True)
class Option:
    """An option or an argument: how it is written, and what it does."""

    written: str
    about: str


@dataclass(frozen=True)
class Command:
    """path: `xorec data fetch`; usage: what follows it."""

    path: str
    usage: str
    about: str
    arguments: list[Option]
    options: list[Option]

    @property
    def first_line(self) -> str:
        """What it does, in one line."""
        return self.about.partition("\n\n")[0].replace("\n", " ")


def all_commands() -> list[Command]:
    """Every command, and each of those that are in a group, in the order of the help."""
    from typer.main import get_command

    from xorec.cli.main import app

    root = get_command(app)
    context = root.context_class(root, info_name="xorec", **root.context_settings)
    return list(_walk(root, context))


def _walk(command: Any, context: Any) -> Iterator[Command]:
    yield _described(command, context)
    if hasattr(command, "list_commands"):
        for name in command.list_commands(context):
            inner = command.get_command(context, name)
            yield from _walk(inner, command.context_class(inner, info_name=name, parent=context))


def _described(command: Any, context: Any) -> Command:
    usage = " ".join(command.get_usage(context).split()).removeprefix("Usage: ")
    arguments: list[Option] = []
    options: list[Option] = []
    for one in command.get_params(context):
        record = one.get_help_record(context)
        if record is not None and not getattr(one, "hidden", False):
            named = one.param_type_name == "option"
            (options if named else arguments).append(Option(*map(_one_line, record)))
    path = context.command_path
    about = (command.help or "").strip()
    return Command(path, usage.removeprefix(path).strip(), about, arguments, options)


def _one_line(text: str) -> str:
    return " ".join(text.split())


def as_markdown(commands: list[Command]) -> str:
    """One page: a heading for each command, so that it has an address."""
    root, *others = commands
    lines = ["# Commands", "", f"Of xorec {_version()}, from the commands themselves.", ""]
    lines += ["| command | what it does |", "|---|---|"]
    lines += [
        f"| [`{one.path}`](#{one.path.replace(' ', '-')}) | {_cell(one.first_line)} |"
        for one in others
    ]
    for one in (root, *others):
        lines += ["", f"## {one.path}", "", "```console", f"$ {one.path} {one.usage}", "```", ""]
        lines += [_plain(one.about)]
        for title, rows in (("argument", one.arguments), ("option", one.options)):
            if rows:
                lines += ["", f"| {title} | |", "|---|---|"]
                lines += [f"| `{_bars(row.written)}` | {_cell(row.about)} |" for row in rows]
    return "\n".join(lines) + "\n"


def _plain(text: str) -> str:
    """Help is plain text: nothing in it is Markdown but `code`."""
    parts = re.split(r"(`[^`]*`)", text)
    return "".join(
        part if at % 2 else re.sub(r"([*_<>\[\]])", r"\\\1", part) for at, part in enumerate(parts)
    )


def _bars(text: str) -> str:
    return text.replace("|", "\\|")


def _cell(text: str) -> str:
    return _bars(_plain(text))


def as_manual(commands: list[Command]) -> str:
    """The manual page xorec(1), in the macros of man(7)."""
    root, *others = commands
    lines = [
        f'.TH XOREC 1 "" "xorec {_version()}" "User Commands"',
        ".SH NAME",
        f"xorec \\- {_roff(root.first_line.rstrip('.'))}",
        ".SH SYNOPSIS",
        ".B xorec",
        _roff(root.usage),
        ".SH DESCRIPTION",
        "Learns from pairs of users and items, ranks, evaluates and serves. Results go to standard",
        "output, progress to standard error.",
        ".SH OPTIONS",
        *_roff_options(root.options),
        ".SH COMMANDS",
    ]
    for one in others:
        lines += [f".SS {_roff(f'{one.path} {one.usage}')}", *_roff_text(one.about)]
        lines += _roff_options([*one.arguments, *one.options])
    lines += [
        ".SH EXIT STATUS",
        *_roff_options(
            [
                Option("0", "done"),
                Option("2", "an error that you can fix; one line on standard error says how"),
                Option("130, 143, 129", "ended by Ctrl-C, by kill, by a closed terminal"),
                Option("1", "a bug in xorec"),
            ]
        ),
    ]
    return "\n".join(lines) + "\n"


def _roff_options(options: list[Option]) -> Iterator[str]:
    for one in options:
        yield from (".TP", f".B {_roff(one.written)}", _roff(one.about) or "\\&")


def _roff_text(text: str) -> Iterator[str]:
    for paragraph in text.split("\n\n"):
        yield from (".PP", *(_roff(line.strip()) for line in paragraph.splitlines()))


def _roff(text: str) -> str:
    r"""Text as it is: no escapes, no requests.

    >>> print(_roff(".ds a\\b --seed"))
    \&.ds a\eb \-\-seed
    """
    text = text.replace("\\", "\\e").replace("-", "\\-")
    return f"\\&{text}" if text[:1] in (".", "'") else text


def _version() -> str:
    from xorec import __version__

    return __version__


def main() -> None:
    kind, path = sys.argv[1:]
    made = {"man": as_manual, "markdown": as_markdown}[kind](all_commands())
    Path(path).parent.mkdir(parents=True, exist_ok=True)
    Path(path).write_text(made, encoding="utf-8")


if __name__ == "__main__":
    main()
