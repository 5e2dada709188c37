"""xorec recommend: the best items for a user, known or new, or for everybody."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

import typer

from xorec.cli import arguments as args
from xorec.cli.bundles import bundled, without
from xorec.core.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Hashable

    from xorec.recommender.recommender import Recommender
    from xorec.recommender.results import Recommendations


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Which items may be listed."""

    seen: Annotated[bool, typer.Option("--seen", help="List items the user has, too.")] = False
    allow: Annotated[str | None, typer.Option(help="Only these items, with commas.")] = None
    deny: Annotated[str, typer.Option(help="Not these items, with commas.")] = ""


@bundled
def recommend(
    model: args.ModelFile,
    asker: args.Asker,
    all_users: Annotated[
        bool, typer.Option("--all-users", help="Lists for every user, to the file -o.")
    ] = False,
    output: args.ListsFile = None,
    k: args.K = 10,
    raw: args.Raw = False,
    *,
    rules: Rules,
    run: Annotated[args.Run, without("seed")],
) -> None:
    """List the best items for a user of MODEL, or for somebody new by the items they have.

    With --all-users, everybody's lists are written to a Parquet or CSV file.
    """
    from xorec.cli.listing import print_list, write_lists
    from xorec.recommender.recommender import Recommender

    asker.refuse_both()
    if (asker.user is not None) + (asker.items is not None) + all_users != 1:
        raise OptionError("say for whom: give --user ID, --items ID,ID,... or --all-users.")
    if all_users and (rules.allow is not None or rules.deny):
        raise OptionError("--allow and --deny are for one list: leave them out with --all-users.")
    recommender = Recommender.load(model, threads=run.threads)
    if all_users:
        from xorec.recommender.batch import for_all_users

        write_lists(for_all_users(recommender, k, seen=rules.seen), output, run)
    else:
        print_list(_best(recommender, asker, k, rules), run.json, raw)


def _best(recommender: Recommender, asker: args.Asker, k: int, rules: Rules) -> Recommendations:
    ids = recommender.items
    allow = None if rules.allow is None else args.parse_ids(ids, rules.allow)
    deny = args.parse_ids(ids, rules.deny)
    if asker.user is None:
        history = args.parse_ids(ids, str(asker.items))
        return recommender.recommend_for(history, k, allow=allow, deny=deny)
    user: Hashable = recommender.users.parse(asker.user)
    return recommender.recommend(user, k, seen=rules.seen, allow=allow, deny=deny)
