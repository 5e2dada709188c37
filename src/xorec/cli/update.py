"""xorec update: new interactions into a model file, without a fit of everything."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from xorec.cli import arguments as args


def update(
    model: args.ModelFile,
    data: args.Data,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", help="Where the result goes; else MODEL.")
    ] = None,
    user_column: args.UserColumn = None,
    item_column: args.ItemColumn = None,
    rating_column: args.RatingColumn = None,
    min_rating: args.MinRating = None,
    quiet: args.Quiet = False,
    json: args.Json = False,
) -> None:
    """Take the interactions of DATA into a model file: new users and items, new pairs.

    Users who got pairs and items that are mostly new are refreshed; the rest stays as it is.
    """
    from xorec.cli.output import print_json, print_line
    from xorec.recommender.recommender import Recommender
    from xorec.recommender.updating import UpdateSummary

    options = args.run_options(0, None, quiet)
    before = Recommender.load(model)
    new = args.load(
        data,
        options.progress,
        min_rating=min_rating,
        core=0,
        user_column=user_column,
        item_column=item_column,
        rating_column=rating_column,
        split_column=None,
    )
    after = before.update(new)
    path = output or Path(model)
    after.save(path)
    summary = UpdateSummary.of(before, after).to_dict()
    if json:
        print_json({"model": str(path), **summary})
        return
    added = ", ".join(f"{count:,} new {what}" for what, count in summary["new"].items())
    print_line(f"{path}: {added}.")
