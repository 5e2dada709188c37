"""xorec recommend: the best items for a user, known or new, or for all users."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated

from xorec.cli import arguments as args
from xorec.cli.output import print_list, write_lists
from xorec.core.errors import OptionError

if TYPE_CHECKING:
    from collections.abc import Hashable

    from xorec.core.addresses import Address
    from xorec.recommender.recommender import Recommender
    from xorec.recommender.results import ItemFilter, Recommendations


@dataclass(frozen=True, kw_only=True)
class Rules:
    """Which items may be listed."""

    seen: bool = args.option(False, "Also list items that the user already has.", "--seen")
    allow: str | None = args.option(None, f"Only these items, {args.ID_LIST}.")
    deny: str = args.option("", f"None of these items, {args.ID_LIST}.")
    category: list[str] | None = args.option(
        None, "Only items of this category; repeat it to allow several.", metavar="NAME"
    )
    not_category: list[str] | None = args.option(
        None, "No items of this category; can be repeated.", metavar="NAME"
    )

    def denied(self, recommender: Recommender) -> list[Hashable]:
        """The items that may not be listed."""
        return args.parse_ids(recommender.item_ids, self.deny)

    def allowed(self, recommender: Recommender) -> ItemFilter | None:
        """The items that may be listed, if not all."""
        ids = recommender.item_ids
        allow = None if self.allow is None else args.parse_ids(ids, self.allow)
        if self.category or self.not_category:
            return recommender.in_category(
                self.category or None, not_in=self.not_category or (), allow=allow
            )
        return None if allow is None else recommender.item_filter(allow)


@args.bundled
def recommend(
    *,
    model: args.ModelOrStore,
    asker: args.Asker,
    all_users: bool = args.option(
        False, "Write the lists of all users to the file -o.", "--all-users"
    ),
    output: args.ListsFile = None,
    shards: int = args.option(1, "Deprecated.", min=1, hidden=True),
    k: args.K = 10,
    raw: args.Raw = False,
    rules: Rules,
    where: args.EngineChoice,
    run: Annotated[args.Run, args.without("seed")],
) -> None:
    """List the best items for a user of MODEL, or for a new user who has some items.

    With --all-users, the lists of all users are written to a Parquet or CSV file. MODEL may also be
    the address of a store (`xorec export --to`); the list of a user is then queried there.
    """
    from xorec.recommender.recommender import Recommender
    from xorec.stores.registry import store_address

    asker.refuse_both()
    if (asker.user is not None) + (asker.items is not None) + all_users != 1:
        raise OptionError("say for whom: give --user ID, --items ID,ID,... or --all-users.")
    if not all_users:
        where.refuse_for_one_list(output, "--all-users", "everybody's lists")
    if (address := store_address(model)) is not None:
        print_list(_best_of_store(address, asker, k, rules), run.json, raw)
        return
    recommender = Recommender.load(model, threads=run.threads)
    if shards > 1:
        recommender = recommender.sharded(shards)  # which says that it is deprecated
    if all_users:
        from xorec.recommender.batch import for_all_users

        allow, deny = rules.allowed(recommender), rules.denied(recommender)
        job = for_all_users(recommender, k, seen=rules.seen, allow=allow, deny=deny)
        write_lists(job, output, run, where)
    else:
        print_list(_best(recommender, asker, k, rules), run.json, raw)


def _best(recommender: Recommender, asker: args.Asker, k: int, rules: Rules) -> Recommendations:
    allow, deny = rules.allowed(recommender), rules.denied(recommender)
    if asker.user is None:
        history = args.parse_ids(recommender.item_ids, str(asker.items))
        return recommender.recommend_for(history, k, allow=allow, deny=deny)
    user: Hashable = recommender.user_ids.parse(asker.user)
    return recommender.recommend(user, k, seen=rules.seen, allow=allow, deny=deny)


def _best_of_store(address: Address, asker: args.Asker, k: int, rules: Rules) -> Recommendations:
    """The list of a user of an export. What needs the model itself is refused."""
    from xorec.stores.lists import no_ids
    from xorec.stores.registry import open_store

    if asker.user is None or replace(rules, seen=False) != Rules():
        raise OptionError(
            f"{address} is asked for the list of a --user, with -k and --seen; for everything else "
            "give the model file, or ask in SQL (`xorec export --sql`)."
        )
    with open_store(address) as store:
        user: Hashable = no_ids(store.about.user_kind or "str").parse(asker.user)
        return store.recommend(user, k, seen=rules.seen)
