"""xorec update: new interactions into a model file, without a fit of everything."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from xorec.cli import arguments as args
from xorec.cli.bundles import bundled, without


@bundled
def update(
    model: args.ModelFile,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where the result goes; else MODEL.")
    ] = None,
    *,
    source: Annotated[args.DataSource, without("time_column", "split_column", "item_info", "core")],
    run: Annotated[args.Run, without("seed", "threads")],
) -> None:
    """Take the interactions of DATA into a model file: new users and items, new pairs.

    Users who got pairs and items that are mostly new are refreshed; the rest stays as it is.
    """
    from xorec.cli.output import print_json, print_line
    from xorec.recommender.recommender import Recommender
    from xorec.recommender.updating import UpdateSummary

    before = Recommender.load(model, threads=run.threads)
    options = run.options()
    new = source.load(options)
    if new.weights is not None:
        options.progress.note("an update counts every pair the same: weights are used by fit.")
    after = before.update(new)
    path = output or Path(model)
    after.save(path)
    summary = UpdateSummary.of(before, after).to_dict()
    if run.json:
        print_json({"model": str(path), **summary})
        return
    added = ", ".join(f"{count:,} new {what}" for what, count in summary["new"].items())
    print_line(f"{path}: {added}.")
