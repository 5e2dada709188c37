"""Options that several commands share: the same thing has the same name everywhere.

Options that belong together are one dataclass, and one parameter of a command:

    @bundled
    def fit(source: DataSource, run: Annotated[Run, without("seed")]) -> None: ...

has the options of both dataclasses, in the order of their fields, without --seed.
"""

from __future__ import annotations

import inspect
import re
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import MISSING, Field, dataclass, field, fields, is_dataclass
from functools import wraps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, cast, get_type_hints

import typer

from xorec.core.errors import OptionError

if TYPE_CHECKING:
    from xorec.core.addresses import Address
    from xorec.core.options import RunOptions
    from xorec.core.progress import Progress
    from xorec.data.ids import Ids
    from xorec.data.interactions import Interactions
    from xorec.data.split import Method, Split
    from xorec.engines.spark.session import SparkAddress


def option(default: Any, help: str, *names: str, **more: Any) -> Any:
    """An option of a command or of a bundle; `...` as default: it must be given.

    names: other than the name of the parameter. more: as `typer.Option` takes it.
    """
    return _field(default, typer.Option(*names, help=help, **more))


def argument(default: Any, help: str, **more: Any) -> Any:
    """An argument of a command or of a bundle, likewise."""
    return _field(default, typer.Argument(help=help, **more))


def _field(default: Any, info: Any) -> Any:
    return field(default=MISSING if default is ... else default, metadata={"typer": info})


ModelFile = Annotated[Path, typer.Argument(help="A model file made by `xorec fit`.")]
ModelOrStore = Annotated[
    str,
    typer.Argument(
        metavar="MODEL", help="A model file, or the address of a store that `xorec export` wrote."
    ),
]
ID_LIST = "comma-separated; put an id that holds a comma in double quotes"
"""How a list of ids is written, for help texts: see `parse_ids`."""
K = Annotated[int, typer.Option("-k", "--k", help="How many items to list.")]
ListsFile = Annotated[
    Path | None,
    typer.Option("-o", "--output", help="The file to write lists to: .parquet or .csv."),
]
Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="No progress on standard error.")]
Json = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]
Raw = Annotated[
    bool,
    typer.Option(
        "--raw", help="For pipes: tab-separated rank, id, name, score; nothing is escaped."
    ),
]
Config = Annotated[
    Path | None,
    typer.Option(help="A TOML or JSON file of settings: one table for each model name."),
]
Cuts = Annotated[str, typer.Option("--ks", help="Cut-offs k of the metrics, comma-separated.")]
Metrics = Annotated[
    str | None, typer.Option(help="Metrics to show, comma-separated: recall@20,ndcg@10.")
]
MinRating = Annotated[float | None, typer.Option(help="Use only pairs with at least this rating.")]
ValidationShare = Annotated[
    float, typer.Option("--validation", help="Share of the training pairs to choose the epochs on.")
]


@dataclass(frozen=True, kw_only=True)
class ColumnOptions:
    """What the columns of a file are; those that are not given are guessed."""

    user_column: str | None = option(None, "The column of users.")
    item_column: str | None = option(None, "The column of items.")
    rating_column: str | None = option(None, "The column of ratings.")
    weight_column: str | None = option(
        None, "The column of weights (counts, hours, ...); or repeats: how often a pair occurs."
    )
    weight_scale: str | None = option(
        None, "log (the default, for wide ranges) or none (use weights as they are)."
    )
    time_column: str | None = option(None, "The column of timestamps.")
    split_column: str | None = option(None, "The column that says train or test.")
    item_info: str | None = option(
        None, "A second file or address with names and categories of items."
    )
    max_expanded: str | None = option(
        None, "Allow a file or pipe to decompress to this size, such as 20GB."
    )
    max_line: str | None = option(None, "Allow lines of this length, such as 1GB.")

    def given(self) -> dict[str, Any]:
        """The columns that were given, by name."""
        named = {one.name: getattr(self, one.name) for one in fields(ColumnOptions)}
        return {name: value for name, value in named.items() if value is not None}


@dataclass(frozen=True, kw_only=True)
class DataSource(ColumnOptions):
    """The data of a command: where it is, its columns, how it is prepared."""

    data: str = argument(
        ...,
        "A file, a folder, a pipe (-), a database such as "
        "postgresql://host/shop?table=orders or shop.duckdb?query=SELECT ..., or a name from "
        "`xorec data list`; with --engine spark:... also spark-table:NAME and "
        "jdbc:...?table=NAME.",
    )
    min_rating: MinRating = None
    core: int = option(0, "Keep only users and items with at least this many pairs (k-core).")

    @property
    def name(self) -> str:
        """What was given, for answers and files: an address without its secrets."""
        address = self._address
        return self.data if address is None else address.what

    @property
    def label(self) -> str:
        """A short name for a title."""
        address = self._address
        return (Path(self.data).name or self.data) if address is None else address.label

    @property
    def provenance(self) -> dict[str, str]:
        """What a model file keeps of it: the database that the pairs came from."""
        return {} if self._address is None else {"source": self.name}

    def describe(self, pairs: Interactions) -> dict[str, Any]:
        """Name and sizes of the data, as flat JSON."""
        sizes = {"users": pairs.n_users, "items": pairs.n_items, "pairs": pairs.n_pairs}
        return {"name": self.name, **sizes}

    @property
    def _address(self) -> Address | SparkAddress | None:
        from xorec.core.addresses import parse_address
        from xorec.data.datasets.catalog import CATALOG
        from xorec.engines.spark.session import parse_spark_address

        if self.data in CATALOG:
            return None
        return parse_spark_address(self.data) or parse_address(self.data)

    def load(self, options: RunOptions, **more: Any) -> Interactions:
        """Read and prepare the data; the guesses and removals are shown as notes.

        On Spark it is Spark that reads what it can reach.
        """
        from xorec.engines.registry import load_on

        filters = {"min_rating": self.min_rating, "core": self.core}
        data = load_on(self.data, options, filters, **self.given(), **more)
        for note in data.notes:
            options.progress.note(note)
        return data


@dataclass(frozen=True, kw_only=True)
class SplitChoice:
    """How the pairs are split into training, validation and test."""

    split: str | None = option(
        None,
        "random, per-user, leave-last, time or given; by default the split that DATA has "
        "(a split column, train and test files), else random.",
    )
    test: float | None = option(None, "Share of the pairs to test on; 0.2 by default.")
    validation: ValidationShare = 0.1

    def parts(self, pairs: Interactions, options: RunOptions) -> Split:
        """The parts of the pairs; a note says what they are. A share without use is refused."""
        from xorec.data.split import split

        method = cast("Method | None", self.split)
        share, held_out = 0.2 if self.test is None else self.test, self.validation
        parts = split(pairs, method=method, test=share, validation=held_out, seed=options.seed)
        used = parts.settings["method"]
        if self.test is not None and used == "given":
            raise OptionError(
                "--test is a share to cut off, but the data brings its own test part: leave --test "
                "out, or give --split random."
            )
        if self.test is not None and used == "leave-last":
            raise OptionError("--test is of no use with --split leave-last: leave it out.")
        options.progress.note(f"split: {parts}")
        return parts


@dataclass(frozen=True, kw_only=True)
class Run:
    """How a command is carried out, and how it answers."""

    seed: int = option(0, "The random seed.")
    threads: int | None = option(None, "Threads to use; all cores by default.")
    quiet: Quiet = False
    json: Json = False

    def options(self) -> RunOptions:
        """The run options of the command line."""
        from xorec.core.options import RunOptions

        return RunOptions(seed=self.seed, threads=self.threads, progress=progress_of(self.quiet))


@dataclass(frozen=True, kw_only=True)
class EngineChoice:
    """Where the work runs."""

    engine: str = option(
        "local", "local, or spark:MASTER, such as spark:local[2] or spark:spark://host:7077."
    )
    partitions: int | None = option(
        None, "Spark: number of partitions; by default one for each slot."
    )

    def opened(self, options: RunOptions) -> AbstractContextManager[RunOptions]:
        """The options with this engine, which is there until the `with` block ends."""
        from xorec.engines.registry import on_engine

        return on_engine(self.engine, options, partitions=self.partitions)

    def refuse_for_one_list(self, output: Path | None, option: str, whose: str) -> None:
        """One list is not cut into blocks, and is printed."""
        if output is not None:
            raise OptionError(
                f"-o is for {whose}: give {option}, or --json for one list in a file."
            )
        if self != EngineChoice():
            raise OptionError(
                f"--engine and --partitions are for many lists: give {option}, or leave them out."
            )


@dataclass(frozen=True, kw_only=True)
class Asker:
    """Whose items are asked for: a user of the model, or a new user."""

    user: str | None = option(None, "The id of a user.")
    items: str | None = option(None, f"Instead of a user: the items of a new user, {ID_LIST}.")

    def refuse_both(self) -> None:
        """A user has items of their own already."""
        if self.user is not None and self.items is not None:
            raise OptionError("give --user or --items, not both.")


_ID = re.compile(r'\s*(?:"((?:[^"]|"")*)"|([^,]*))\s*(?:,|\Z)')
"""An id of a list, what is inside quotes or as it stands, and the comma after it."""


def progress_of(quiet: bool) -> Progress:
    """Bars on standard error, lines where that is no terminal, or silence."""
    from xorec.core.progress import SILENT, LineProgress, TerminalProgress

    if quiet:
        return SILENT
    return TerminalProgress() if sys.stderr.isatty() else LineProgress()


def test_part_of(model: Path) -> Path:
    """Where `fit` keeps the pairs that it held out, for `evaluate`."""
    return Path(f"{model}.test.parquet")


def parse_ids(ids: Ids, text: str) -> list[Any]:
    """`12,77,103` as raw ids; one with a comma stands in double quotes, as in a CSV file.

    Only quotes around a whole id are quotes: `5" disk` and `"tea` are ids as they stand.

    >>> from xorec.data.ids import Ids
    >>> parse_ids(Ids.of(["tea"]), 'tea, "SKU 40, large", 5" disk, "a ""b"" c"')
    ['tea', 'SKU 40, large', '5" disk', 'a "b" c']
    """
    found = _ID.findall(text)
    words = (inside.replace('""', '"') or plain.strip() for inside, plain in found)
    return [ids.parse(word) for word in words if word]


def parse_names(text: str) -> tuple[str, ...]:
    """`bpr,siml` as names."""
    return tuple(name.strip() for name in text.split(","))


@contextmanager
def told_of_new_folder(path: Path, progress: Progress) -> Iterator[None]:
    """Say so where writing `path` has made the folder that it is in."""
    is_new = not path.parent.exists()
    yield
    if is_new:
        progress.note(f"created the folder {path.parent}")


def parse_metrics(text: str | None, ks: str) -> tuple[tuple[str, ...], tuple[int, ...]]:
    """`recall@20,ndcg@10` as metrics, and the cut-offs of these and of --ks together."""
    from xorec.evaluation.metrics import parse_metric

    cuts = parse_counts(ks, "--ks", "10,20")
    if text is None:
        return (), cuts
    metrics = parse_names(text)
    return metrics, tuple(dict.fromkeys([*cuts, *(parse_metric(one)[1] for one in metrics)]))


def parse_counts(text: str, option: str, example: str) -> tuple[int, ...]:
    """`10,20,50` as whole numbers from 1."""
    from xorec.core.arrays import positive_int

    try:
        return tuple(positive_int(int(part), option) for part in text.split(","))
    except ValueError:
        raise OptionError(
            f"{option} is {text!r}: give whole numbers of 1 or more with commas, "
            f"for example {example}."
        ) from None


def without(*names: str) -> frozenset[str]:
    """Fields of a bundle that a command does not have: they keep their default."""
    return frozenset(names)


def bundled(command: Callable[..., None]) -> Callable[..., None]:
    """The command as typer takes it: each field of its dataclasses is a parameter."""
    hints = get_type_hints(command, include_extras=True)
    bundles: dict[str, tuple[Any, list[str]]] = {}
    parameters: list[inspect.Parameter] = []
    for one in inspect.signature(command).parameters.values():
        hint = hints[one.name]
        bundle = getattr(hint, "__origin__", hint)
        if not is_dataclass(bundle):
            parameters.append(_parameter(one.name, hint, one.default))
            continue
        extras = getattr(hint, "__metadata__", ())
        left_out = {name for extra in extras if isinstance(extra, frozenset) for name in extra}
        of_fields = get_type_hints(bundle, include_extras=True)
        made = [
            _parameter(field.name, of_fields[field.name], field)
            for field in fields(bundle)
            if field.name not in left_out
        ]
        bundles[one.name] = (cast(Any, bundle), [parameter.name for parameter in made])
        parameters += made

    @wraps(command)
    def call(**values: Any) -> None:
        for name, (bundle, names) in bundles.items():
            values[name] = bundle(**{one: values.pop(one) for one in names})
        command(**values)

    call.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    call.__annotations__ = {one.name: one.annotation for one in parameters}
    return call


def _parameter(name: str, hint: Any, default: Any) -> inspect.Parameter:
    """A parameter for typer. default: a value, or a field as `option` makes it."""
    if isinstance(default, Field):
        hint = Annotated[hint, default.metadata["typer"]] if default.metadata else hint
        default = inspect.Parameter.empty if default.default is MISSING else default.default
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=default, annotation=hint)
