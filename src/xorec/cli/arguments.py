"""Options that several commands share: the same thing has the same name everywhere.

Those that belong together are dataclasses, see `cli.bundles`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from xorec.core.errors import OptionError

if TYPE_CHECKING:
    from xorec.core.options import RunOptions
    from xorec.core.progress import Progress
    from xorec.data.ids import Ids
    from xorec.data.interactions import Interactions
    from xorec.data.split import Method, Split

ModelFile = Annotated[Path, typer.Argument(help="A model file made by `xorec fit`.")]
K = Annotated[int, typer.Option("-k", "--k", help="How many items to list.")]
ListsFile = Annotated[
    Path | None, typer.Option("-o", "--output", help="Where lists go: .parquet or .csv.")
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Config = Annotated[
    Path | None, typer.Option(help="Settings by model, TOML or JSON: a table for each model name.")
]
Cuts = Annotated[str, typer.Option("--ks", help="Cut-offs of the metrics, with commas.")]
MinRating = Annotated[float | None, typer.Option(help="Only ratings of at least this count.")]
ValidationShare = Annotated[
    float, typer.Option("--validation", help="Share of the training pairs to find epochs on.")
]


@dataclass(frozen=True, kw_only=True)
class Columns:
    """What the columns of a file are; those that are not given are guessed."""

    user_column: Annotated[str | None, typer.Option(help="The column of users.")] = None
    item_column: Annotated[str | None, typer.Option(help="The column of items.")] = None
    rating_column: Annotated[str | None, typer.Option(help="The column of ratings.")] = None
    weight_column: Annotated[
        str | None,
        typer.Option(help="The column of weights: counts, hours, ...; repeats: rows of a pair."),
    ] = None
    weight_scale: Annotated[
        str | None, typer.Option(help="log (a wide range, the default) or none (ready weights).")
    ] = None
    time_column: Annotated[str | None, typer.Option(help="The column of times.")] = None
    split_column: Annotated[
        str | None, typer.Option(help="The column that says train or test.")
    ] = None
    item_info: Annotated[
        Path | None, typer.Option(help="A second file: names, categories of items.")
    ] = None

    def given(self) -> dict[str, Any]:
        """The columns that were given, by name."""
        named = {field.name: getattr(self, field.name) for field in fields(Columns)}
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class DataSource(Columns):
    """The data of a command: where it is, its columns, how it is prepared."""

    data: Annotated[str, typer.Argument(help="A file or folder, or a name from `xorec data list`.")]
    min_rating: MinRating = None
    core: Annotated[
        int, typer.Option(help="Keep users and items with this many pairs, iterated.")
    ] = 0

    def load(self, options: RunOptions) -> Interactions:
        """Read and prepare the data; the guesses and removals are shown as notes."""
        from xorec.data.datasets.catalog import load_data
        from xorec.data.prepare import prepare

        threads, progress = options.threads, options.progress
        data = load_data(self.data, threads=threads, progress=progress, **self.given())
        data = prepare(data, min_rating=self.min_rating, core=self.core)
        for note in data.notes:
            progress.note(note)
        return data


@dataclass(frozen=True, kw_only=True)
class SplitChoice:
    """How the pairs are split into training, validation and test."""

    split: Annotated[
        str, typer.Option("--split", help="random, per-user, leave-last, time or given.")
    ] = "random"
    test: Annotated[float, typer.Option("--test", help="Share of the pairs to test on.")] = 0.2
    validation: ValidationShare = 0.1

    def parts(self, pairs: Interactions, seed: int) -> Split:
        """The parts of the pairs."""
        from xorec.data.split import split

        method = cast("Method", self.split)
        return split(pairs, method=method, test=self.test, validation=self.validation, seed=seed)


@dataclass(frozen=True, kw_only=True)
class Run:
    """How a command is carried out, and how it answers."""

    seed: Annotated[int, typer.Option(help="The key of every random choice.")] = 0
    threads: Annotated[int | None, typer.Option(help="Threads to use; all cores by default.")] = (
        None
    )
    quiet: Quiet = False
    json: Json = False

    def options(self) -> RunOptions:
        """The run options of the command line."""
        from xorec.core.options import RunOptions

        return RunOptions(seed=self.seed, threads=self.threads, progress=progress_of(self.quiet))


@dataclass(frozen=True, kw_only=True)
class Asker:
    """Whose items are asked for: a user of the model, or somebody new."""

    user: Annotated[str | None, typer.Option(help="The id of a user.")] = None
    items: Annotated[
        str | None, typer.Option(help="Instead of a user: the items of somebody new, with commas.")
    ] = None


def progress_of(quiet: bool) -> Progress:
    """Bars on standard error, or silence."""
    from xorec.core.progress import SILENT, TerminalProgress

    return SILENT if quiet else TerminalProgress()


def parse_ids(ids: Ids, text: str) -> list[Any]:
    """`12,77,103` as raw ids."""
    return [ids.parse(word.strip()) for word in text.split(",") if word.strip()]


def parse_names(text: str) -> tuple[str, ...]:
    """`bpr,siml` as names."""
    return tuple(name.strip() for name in text.split(","))


def parse_ks(text: str) -> tuple[int, ...]:
    """`10,20,50` as cut-offs."""
    return _counts(text, "--ks", "10,20")


def parse_bits(text: str) -> tuple[int, ...]:
    """`32,64` as lengths of codes."""
    return _counts(text, "--bits", "32,64")


def _counts(text: str, option: str, example: str) -> tuple[int, ...]:
    from xorec.core.arrays import positive_int

    try:
        return tuple(positive_int(int(part), option) for part in text.split(","))
    except ValueError:
        raise OptionError(
            f"{option} is {text!r}: give whole numbers of 1 or more with commas, "
            f"for example {example}."
        ) from None


def read_config(path: Path | None) -> dict[str, dict[str, Any]]:
    """Settings by model name from a TOML or JSON file."""
    if path is None:
        return {}
    import tomllib

    try:
        text = path.read_text()
        tables = json.loads(text) if path.suffix == ".json" else tomllib.loads(text)
    except OSError as error:
        raise OptionError(f"cannot read the settings {path}: {error.strerror}.") from None
    except ValueError as error:
        raise OptionError(f"the settings {path} cannot be understood: {error}.") from None
    if not isinstance(tables, dict) or not all(isinstance(t, dict) for t in tables.values()):
        raise OptionError(f"the settings {path} need a table for each model, for example [bpr].")
    return tables


def parse_settings(extra: Sequence[str]) -> dict[str, Any]:
    """A model's own settings from the command line: `--learning-rate 0.1 --epochs=20`."""
    settings: dict[str, Any] = {}
    words = list(extra)
    while words:
        word = words.pop(0)
        name, equals, value = word.partition("=")
        if not name.startswith("--") or len(name) < 3:
            raise OptionError(f"{word!r} is not expected here: settings look like --epochs 20.")
        if not equals:
            if not words:
                raise OptionError(f"{name} needs a value: settings look like --epochs 20.")
            value = words.pop(0)
        settings[name[2:].replace("-", "_")] = _value(value)
    return settings


def _value(text: str) -> Any:
    """A number, true, false or null as JSON has them; anything else is text."""
    try:
        return json.loads(text)
    except ValueError:
        return text
