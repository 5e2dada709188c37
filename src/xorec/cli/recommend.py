"""xorec recommend: the best items for a user, known or new, or for everybody."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from xorec.cli import arguments as args
from xorec.core.errors import OptionError

if TYPE_CHECKING:
    from xorec.data.ids import Ids


def recommend(
    model: args.ModelFile,
    user: Annotated[str | None, typer.Option(help="The id of a user.")] = None,
    items: Annotated[
        str | None, typer.Option(help="Instead of a user: the items of somebody new, with commas.")
    ] = None,
    all_users: Annotated[
        bool, typer.Option("--all-users", help="Lists for every user, to the file -o.")
    ] = False,
    output: args.ListsFile = None,
    k: args.K = 10,
    seen: Annotated[bool, typer.Option("--seen", help="List items the user has, too.")] = False,
    allow: Annotated[str | None, typer.Option(help="Only these items, with commas.")] = None,
    deny: Annotated[str, typer.Option(help="Not these items, with commas.")] = "",
    threads: args.Threads = None,
    quiet: args.Quiet = False,
    json: args.Json = False,
) -> None:
    """List the best items for a user of MODEL, or for somebody new by the items they have.

    With --all-users, everybody's lists are written to a Parquet or CSV file.
    """
    from xorec.cli.listing import print_list, write_lists
    from xorec.recommender.recommender import Recommender

    if (user is not None) + (items is not None) + all_users != 1:
        raise OptionError("say for whom: give --user ID, --items ID,ID,... or --all-users.")
    if all_users and (allow is not None or deny):
        raise OptionError("--allow and --deny are for one list: leave them out with --all-users.")
    recommender = Recommender.load(model)
    if all_users:
        from xorec.recommender.batch import for_all_users

        lists = for_all_users(recommender, k, seen=seen)
        write_lists(lists, output, args.run_options(0, threads, quiet), json)
        return
    chosen: dict[str, Any] = {
        "allow": None if allow is None else _ids(recommender.items, allow),
        "deny": _ids(recommender.items, deny),
    }
    if user is not None:
        best = recommender.recommend(recommender.users.parse(user), k, seen=seen, **chosen)
    else:
        best = recommender.recommend_for(_ids(recommender.items, str(items)), k, **chosen)
    print_list(best, json)


def _ids(ids: Ids, text: str) -> list[Any]:
    return [ids.parse(word.strip()) for word in text.split(",") if word.strip()]
