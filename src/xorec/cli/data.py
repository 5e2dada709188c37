"""xorec data and xorec split: the data sets, what is in one, how to get and to split it."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from xorec.cli import arguments as args
from xorec.cli.output import print_json, print_line, print_table, show

if TYPE_CHECKING:
    from xorec.data.datasets.catalog import DataSet
    from xorec.data.interactions import Interactions

app = typer.Typer(
    help="List, describe and fetch data sets.", no_args_is_help=True, rich_markup_mode=None
)

Name = Annotated[str, typer.Argument(help="A name from `xorec data list`.")]
Again = Annotated[bool, typer.Option("--again", help="Download it even if it is already here.")]
SHOWN = 8
"""Categories and notes that the table shows; JSON has all of them."""


@app.command("list")
def list_(json: args.Json = False) -> None:
    """List the named data sets; a name can be used wherever a file can."""
    from xorec.data.datasets.catalog import CATALOG, cache_folder

    entries = list(CATALOG.values())
    if json:
        print_json({"folder": str(cache_folder()), "rows": [_entry_row(one) for one in entries]})
        return
    rows = []
    for one in entries:
        state = "here" if one.present else "to be fetched"
        state = "comes with xorec" if one.embedded else state
        rows.append((one.name, one.users, one.items, one.pairs, state))
    print_table(("name", "users", "items", "pairs", "state"), rows)
    print_line(f"Fetched data sets live in {cache_folder()}.")
    print_line("`xorec data info NAME` tells more, `xorec data fetch NAME` brings one here.")


@app.command()
def fetch(
    name: Name, again: Again = False, quiet: args.Quiet = False, json: args.Json = False
) -> None:
    """Download a named data set; an interrupted download continues where it stopped."""
    from xorec.data.datasets.catalog import fetch_data

    try:
        entry = fetch_data(name, again=again, progress=args.progress_of(quiet))
    except KeyboardInterrupt:
        raise KeyboardInterrupt("The same command goes on where it stopped.") from None
    if json:
        print_json(_entry_row(entry) | {"files": [str(path) for path in entry.files]})
        return
    print_line(f"{entry.name} is here: {entry.folder}")
    print_line(_verified(entry))


@app.command()
@args.bundled
def info(
    *,
    source: Annotated[args.DataSource, args.without("min_rating", "core")],
    json: args.Json = False,
    quiet: args.Quiet = False,
) -> None:
    """Describe a data set or a file: counts, categories, ids, and what was guessed."""
    from xorec.data.datasets.catalog import CATALOG, load_data

    entry = CATALOG.get(source.data)
    facts: dict[str, Any] = {"data": source.name}
    if entry is not None:
        facts |= _entry_row(entry)
    if entry is None or entry.present:
        pairs = load_data(source.data, progress=args.progress_of(quiet), **source.given())
        facts |= _facts(pairs)
    if json:
        print_json(facts)
    else:
        _print_facts(facts, entry)


def _entry_row(entry: DataSet) -> dict[str, Any]:
    """What the catalogue knows of a data set."""
    names = ("name", "title", "users", "items", "pairs", "present", "url", "checksum")
    return {
        **{name: getattr(entry, name) for name in names},
        "fetched_sha256": entry.record.get("sha256"),
        **{name: getattr(entry, name) for name in ("bytes", "terms", "citation")},
    }


def _facts(data: Interactions) -> dict[str, Any]:
    """What the interactions themselves tell; the items named are the most popular ones."""
    return {
        "users": data.n_users,
        "items": data.n_items,
        "pairs": data.n_pairs,
        "density": data.n_pairs / max(data.n_users * data.n_items, 1),
        "pairs_per_user": _quantiles(data.user_counts),
        "pairs_per_item": _quantiles(data.item_counts),
        "user_ids": data.users.take(range(min(3, data.n_users))),
        "item_ids": data.items.take((-data.item_counts).argsort(kind="stable")[:3]),
        "id_kinds": [data.users.kind, data.items.kind],
        "has": list(data.has),
        "categories": _category_rows(data),
        "digest": data.digest(),
        "notes": list(data.notes),
    }


def _quantiles(counts: Any) -> dict[str, float]:
    import numpy as np

    names = ("min", "25%", "median", "75%", "max")
    values = np.quantile(counts, (0, 0.25, 0.5, 0.75, 1)) if len(counts) else np.zeros(5)
    mean = float(np.mean(counts)) if len(counts) else 0.0
    return dict(zip(names, map(float, values), strict=True)) | {"mean": mean}


def _category_rows(data: Interactions) -> list[dict[str, Any]]:
    """Items and pairs of each category, the one with most pairs first."""
    import numpy as np

    if data.categories is None:
        return []
    places, size = data.categories.indices, len(data.categories.labels)
    each = np.repeat(data.item_counts, np.diff(data.categories.indptr))
    items, pairs = np.bincount(places, minlength=size), np.bincount(places, each, size)
    order = np.argsort(-pairs, kind="stable")
    return [
        {
            "category": data.categories.labels[c],
            "items": int(items[c]),
            "pairs": int(pairs[c]),
            "share": float(pairs[c] / max(data.n_pairs, 1)),
        }
        for c in order.tolist()
        if items[c]
    ]


def _verified(entry: DataSet) -> str:
    """How far the file can be trusted, in words."""
    if entry.embedded:
        return "it comes with xorec"
    recorded = entry.record.get("sha256")
    if entry.checksum:
        algorithm, _, value = entry.checksum.partition(":")
        return f"{'checked' if recorded else 'will be checked'} by its {algorithm}, {value[:16]}..."
    if recorded:
        return f"no published checksum: the first download was trusted, sha256 {recorded[:16]}..."
    return "no published checksum: the first download will be trusted and its sha256 kept"


def _print_facts(facts: dict[str, Any], entry: DataSet | None) -> None:
    """The facts as tables of at most 80 columns."""
    rows = [(name, show(facts[name])) for name in ("users", "items", "pairs")]
    if "digest" in facts:
        rows.append(("density", f"{facts['density']:.4%}"))
        for name in ("pairs_per_user", "pairs_per_item"):
            numbers = (f"{which} {value:,.4g}" for which, value in facts[name].items())
            rows.append((name.replace("_", " "), ", ".join(numbers)))
        for name, kind in zip(("user_ids", "item_ids"), facts["id_kinds"], strict=True):
            rows.append((name.replace("_", " "), f"{', '.join(map(str, facts[name]))} ({kind})"))
        rows.append(("has", ", ".join(facts["has"]) or "pairs only"))
        if facts["categories"]:
            rows.append(("categories", show(len(facts["categories"]))))
        rows.append(("digest", facts["digest"]))
        rows += [("note", note) for note in facts["notes"][:SHOWN]]
    if entry is not None:
        rows += [("terms", entry.terms), ("cite", entry.citation), ("file", _verified(entry))]
    print_table(("fact", "value"), rows, title=entry.title if entry else facts["data"])
    categories = facts.get("categories", [])
    if categories:
        top = [(r["category"], r["items"], r["pairs"], r["share"]) for r in categories[:SHOWN]]
        print_table(("category", "items", "pairs", "share"), top)
        if len(categories) > SHOWN:
            print_line(f"and {len(categories) - SHOWN} more categories")
    if entry is not None and not entry.present:
        print_line(f"Not on this machine yet: run `xorec data fetch {entry.name}`.")


class FileKind(StrEnum):
    """What the files are written as."""

    parquet = "parquet"
    csv = "csv"


@args.bundled
def split(
    *,
    output: Path = args.option(..., "The folder to write.", "-o", "--output"),
    choice: args.SplitChoice,
    format: FileKind = args.option(FileKind.parquet, "The format of the files."),
    source: args.DataSource,
    run: args.Run,
) -> None:
    """Write the parts of DATA to a new folder: train, validation, test, and item information.

    Every command that reads DATA accepts this folder, and uses its split.
    """
    from xorec.data.io.write import write_split

    options = run.options()
    pairs = source.load(options)
    parts = choice.parts(pairs, options)
    with args.told_of_new_folder(output, options.progress):
        files = write_split(parts, output, format.value)
    if run.json:
        about = {"data": source.describe(pairs), "split": parts.describe()}
        print_json({**about, "output": str(output), "files": files})
        return
    print_line(f"{output}: {', '.join(files)}")
    print_line(f"Split: {parts}.")
