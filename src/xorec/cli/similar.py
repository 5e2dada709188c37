"""xorec similar: the items most like one, the users most like one, or all items' lists."""

from __future__ import annotations

from typing import Annotated

import typer

from xorec.cli import arguments as args
from xorec.cli.bundles import bundled, without
from xorec.core.errors import OptionError


@bundled
def similar(
    model: args.ModelFile,
    item: Annotated[str | None, typer.Option(help="The id of an item.")] = None,
    user: Annotated[str | None, typer.Option(help="Instead: the id of a user.")] = None,
    all_items: Annotated[
        bool, typer.Option("--all-items", help="Write the lists of all items to the file -o.")
    ] = False,
    output: args.ListsFile = None,
    k: args.K = 10,
    raw: args.Raw = False,
    *,
    where: args.EngineChoice,
    run: Annotated[args.Run, without("seed")],
) -> None:
    """List the items of MODEL that are most like an item, or the users most like a user.

    With --all-items, the lists of the whole catalogue are written to a Parquet or CSV file.
    """
    from xorec.cli.listing import print_list, write_lists
    from xorec.recommender.recommender import Recommender

    if item is not None and user is not None:
        raise OptionError("give --item or --user, not both.")
    if (item is not None) + (user is not None) + all_items != 1:
        raise OptionError("say to what: give --item ID, --user ID or --all-items.")
    if output is not None and not all_items:
        raise OptionError(
            "-o is for the lists of all items: give --all-items, or --json for one list in a file."
        )
    if not all_items:
        where.refuse_without("--all-items")
    recommender = Recommender.load(model, threads=run.threads)
    if all_items:
        from xorec.recommender.batch import for_all_items

        write_lists(for_all_items(recommender, k), output, run, where)
    elif item is not None:
        print_list(recommender.similar(recommender.item_ids.parse(item), k), run.json, raw)
    else:
        alike = recommender.similar_users(recommender.user_ids.parse(str(user)), k)
        print_list(alike, run.json, raw)
