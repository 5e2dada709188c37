"""xorec split: the training, validation and test parts of data, as files."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from xorec.cli import arguments as args
from xorec.cli.bundles import bundled


class FileKind(StrEnum):
    """What the files are written as."""

    parquet = "parquet"
    csv = "csv"


@bundled
def split(
    output: Annotated[Path, typer.Option("-o", "--output", help="The folder to write.")],
    choice: args.SplitChoice,
    format: Annotated[FileKind, typer.Option(help="The format of the files.")] = FileKind.parquet,
    *,
    source: args.DataSource,
    run: args.Run,
) -> None:
    """Write the parts of DATA to a new folder: train, validation, test, and item information.

    Every command that reads DATA accepts this folder, and uses its split.
    """
    from xorec.cli.output import print_json, print_line
    from xorec.data.io.write import write_split

    options = run.options()
    pairs = source.load(options)
    parts = choice.parts(pairs, options)
    with args.told_of_new_folder(output, options.progress):
        files = write_split(parts, output, format.value)
    if run.json:
        size = {"users": pairs.n_users, "items": pairs.n_items, "pairs": pairs.n_pairs}
        about = {"name": source.name, **size}
        answer = {"data": about, "split": parts.describe(), "output": str(output), "files": files}
        print_json(answer)
        return
    print_line(f"{output}: {', '.join(files)}")
    print_line(f"Split: {parts}.")
