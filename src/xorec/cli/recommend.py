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
    from xorec.recommender.results import ItemFilter, Recommendations


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Which items may be listed."""

    seen: Annotated[bool, typer.Option("--seen", help="List items the user has, too.")] = False
    allow: Annotated[str | None, typer.Option(help="Only these items, with commas.")] = None
    deny: Annotated[str, typer.Option(help="Not these items, with commas.")] = ""
    category: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="Only items of this category; again: or of this one."),
    ] = None
    not_category: Annotated[
        list[str] | None,
        typer.Option(metavar="NAME", help="No items of this category; may be given again."),
    ] = None

    def denied(self, recommender: Recommender) -> list[Hashable]:
        """The items that may not be listed."""
        return args.parse_ids(recommender.items, self.deny)

    def allowed(self, recommender: Recommender) -> ItemFilter | None:
        """The items that may be listed, if not all."""
        ids = recommender.items
        allow = None if self.allow is None else args.parse_ids(ids, self.allow)
        if self.category or self.not_category:
            return recommender.in_category(
                self.category or None, not_in=self.not_category or (), allow=allow
            )
        return None if allow is None else recommender.item_filter(allow)


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
    if output is not None and not all_users:
        raise OptionError(
            "-o is for everybody's lists: give --all-users, or --json for one list in a file."
        )
    recommender = Recommender.load(model, threads=run.threads)
    if all_users:
        from xorec.recommender.batch import for_all_users

        allow, deny = rules.allowed(recommender), rules.denied(recommender)
        job = for_all_users(recommender, k, seen=rules.seen, allow=allow, deny=deny)
        write_lists(job, output, run)
    else:
        print_list(_best(recommender, asker, k, rules), run.json, raw)


def _best(recommender: Recommender, asker: args.Asker, k: int, rules: Rules) -> Recommendations:
    allow, deny = rules.allowed(recommender), rules.denied(recommender)
    if asker.user is None:
        history = args.parse_ids(recommender.items, str(asker.items))
        return recommender.recommend_for(history, k, allow=allow, deny=deny)
    user: Hashable = recommender.users.parse(asker.user)
    return recommender.recommend(user, k, seen=rules.seen, allow=allow, deny=deny)
