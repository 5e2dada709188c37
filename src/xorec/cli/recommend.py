"""xorec recommend: the best items for a user, known or new."""

from __future__ import annotations

from typing import Annotated

import typer

from xorec.cli import arguments as args
from xorec.errors import OptionError


def recommend(
    model: args.ModelFile,
    user: Annotated[str | None, typer.Option(help="The id of a user.")] = None,
    items: Annotated[
        str | None, typer.Option(help="Instead of a user: the items of somebody new, with commas.")
    ] = None,
    k: args.K = 10,
    seen: Annotated[bool, typer.Option("--seen", help="List items the user has, too.")] = False,
    json: args.Json = False,
) -> None:
    """List the best items for a user of MODEL, or for somebody new by the items they have."""
    from xorec.cli.listing import print_list
    from xorec.recommender import Recommender

    if (user is None) == (items is None):
        raise OptionError("say for whom: give either --user ID or --items ID,ID,...")
    recommender = Recommender.load(model)
    if user is not None:
        best = recommender.recommend(recommender.users.parse(user), k, seen=seen)
    else:
        history = [recommender.items.parse(word.strip()) for word in str(items).split(",")]
        best = recommender.recommend_for(history, k)
    print_list(best, "user", json)
