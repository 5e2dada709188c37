"""A dataclass in a command's signature is its fields on the command line."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Any

import pytest
import typer
from typer.testing import CliRunner

from xorec.cli.arguments import bundled, without


@dataclass(frozen=True, kw_only=True)
class Size:
    """A bundle."""

    name: Annotated[str, typer.Argument(help="What it is called.")]
    width: Annotated[int, typer.Option(help="From left to right.")] = 3
    depth: Annotated[int | None, typer.Option(help="From front to back.")] = None


@pytest.fixture
def app() -> tuple[typer.Typer, list[Any]]:
    calls: list[Any] = []
    app = typer.Typer(rich_markup_mode=None)

    @app.command()
    @bundled
    def box(
        first: Annotated[str, typer.Argument()],
        size: Annotated[Size, without("depth")],
        loud: Annotated[bool, typer.Option("--loud")] = False,
    ) -> None:
        """Make a box."""
        calls.append((first, size, loud))

    return app, calls


def test_the_command_gets_the_bundle(app: tuple[typer.Typer, list[Any]]) -> None:
    run, calls = CliRunner(), app[1]
    assert run.invoke(app[0], ["a", "b", "--width", "7", "--loud"]).exit_code == 0
    assert run.invoke(app[0], ["a", "b"]).exit_code == 0
    assert calls == [("a", Size(name="b", width=7), True), ("a", Size(name="b"), False)]


def test_what_is_left_out_is_no_option(app: tuple[typer.Typer, list[Any]]) -> None:
    page = CliRunner().invoke(app[0], ["--help"]).output
    assert page.upper().index("FIRST") < page.upper().index("NAME")
    assert page.index("--width") < page.index("--loud")
    assert "From left to right." in page
    assert "--depth" not in page
    assert CliRunner().invoke(app[0], ["a", "b", "--depth", "1"]).exit_code == 2
