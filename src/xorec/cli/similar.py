"""xorec similar: the items most like one."""

from __future__ import annotations

from typing import Annotated

import typer

from xorec.cli import arguments as args


def similar(
    model: args.ModelFile,
    item: Annotated[str, typer.Option(help="The id of an item.")],
    k: args.K = 10,
    json: args.Json = False,
) -> None:
    """List the items of MODEL that are most like an item."""
    from xorec.cli.listing import print_list
    from xorec.recommender import Recommender

    recommender = Recommender.load(model)
    print_list(recommender.similar(recommender.items.parse(item), k), "item", json)
