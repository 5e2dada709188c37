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
    wait: Annotated[
        float | None,
        typer.Option(min=0, help="Seconds to wait while another process writes; else 600."),
    ] = None,
    *,
    source: Annotated[args.DataSource, without("time_column", "split_column", "core")],
    run: Annotated[args.Run, without("seed", "threads")],
) -> None:
    """Take the interactions of DATA into a model file: new users and items, new pairs.

    Users who got pairs and items that are mostly new are refreshed; the rest stays as it is.
    Updates of one file that run at once take turns, and none is lost.
    """
    from xorec.cli.output import print_json, print_line
    from xorec.core.locks import WAIT, locked
    from xorec.recommender.recommender import Recommender
    from xorec.recommender.updating import UpdateSummary

    path, options = output or model, run.options()
    if not model.exists():
        Recommender.load(model)  # says so, before anything is read or locked
    new = source.load(options)
    if new.weights is not None:
        options.progress.note("an update counts every new pair the same: weights are used by fit.")
    with (
        args.told_of_new_folder(path, options.progress),
        locked(path, WAIT if wait is None else wait, options.progress.note),
    ):
        before = Recommender.load(model, threads=run.threads)
        after = before.update(new)
        after.save(path)
    summary = UpdateSummary.of(before, after).to_dict()
    if run.json:
        print_json({"model": str(path), **summary})
        return
    added = ", ".join(f"{count:,} new {what}" for what, count in summary["new"].items())
    print_line(f"{path}: {added}.")
