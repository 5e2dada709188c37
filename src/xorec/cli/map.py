"""xorec map: lay the items of a model out in the plane, and keep that in the model file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

import typer

from xorec.cli import arguments as args
from xorec.cli.bundles import bundled


@bundled
def map(
    model: args.ModelFile,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", help="Where to write the result; MODEL by default."),
    ] = None,
    layout: Annotated[
        str,
        typer.Option(help="neighbours (items that are alike lie together) or pca (faster)."),
    ] = "neighbours",
    plot: Annotated[
        Path | None, typer.Option(help="Also draw it: a .png file. Needs 'xorec[plots]'.")
    ] = None,
    *,
    run: args.Run,
) -> None:
    """Place the items of MODEL in the plane, for the map of `xorec serve`; kept in the model file.

    Without it, the map uses principal components. The result is the same for any number of threads.
    """
    from xorec.cli.output import print_json, print_line
    from xorec.core.locks import locked
    from xorec.recommender.item_map import with_map
    from xorec.recommender.recommender import Recommender

    path, options = output or model, run.options()
    if plot is not None:
        from xorec.plots.models import require_png

        require_png(plot)
    if not model.exists():
        Recommender.load(model)  # says so, before anything is locked
    began = time.perf_counter()
    with args.told_of_new_folder(path, options.progress), locked(path, note=options.progress.note):
        recommender = Recommender.load(model, threads=run.threads)
        made, about = with_map(recommender, layout, options)
        made.save(path)
    seconds = round(time.perf_counter() - began, 2)
    if plot is not None:
        from xorec.plots.models import item_map

        item_map(made).save(plot)
    if run.json:
        print_json({"model": str(path), "items": len(made.item_ids), **about, "seconds": seconds})
        return
    print_line(f"{path}: {len(made.item_ids):,} items, layout {layout}, {seconds:,.1f} s.")
    if "kept_10" in about:
        print_line(
            f"Of an item's 10 nearest, {about['kept_10']:.1%} are among its 10 nearest on the map, "
            f"{about['kept_50']:.1%} among its 50 nearest."
        )
