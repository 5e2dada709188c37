"""xorec similar and xorec explain: similar items and users, and why an item is offered."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Annotated

from xorec.cli import arguments as args
from xorec.cli.output import (
    print_items,
    print_json,
    print_line,
    print_list,
    print_raw_items,
    show,
    write_lists,
)
from xorec.core.errors import OptionError

if TYPE_CHECKING:
    from xorec.recommender.similarity import Explanation


@args.bundled
def similar(
    *,
    model: args.ModelFile,
    item: str | None = args.option(None, "The id of an item."),
    user: str | None = args.option(None, "Instead: the id of a user."),
    all_items: bool = args.option(
        False, "Write the lists of all items to the file -o.", "--all-items"
    ),
    output: args.ListsFile = None,
    k: args.K = 10,
    raw: args.Raw = False,
    where: args.EngineChoice,
    run: Annotated[args.Run, args.without("seed")],
) -> None:
    """List the items of MODEL that are most like an item, or the users most like a user.

    With --all-items, the lists of the whole catalogue are written to a Parquet or CSV file.
    """
    from xorec.recommender.recommender import Recommender

    if item is not None and user is not None:
        raise OptionError("give --item or --user, not both.")
    if (item is not None) + (user is not None) + all_items != 1:
        raise OptionError("say to what: give --item ID, --user ID or --all-items.")
    if not all_items:
        where.refuse_for_one_list(output, "--all-items", "the lists of all items")
    recommender = Recommender.load(model, threads=run.threads)
    if all_items:
        from xorec.recommender.batch import for_all_items

        write_lists(for_all_items(recommender, k), output, run, where)
    elif item is not None:
        print_list(recommender.similar(recommender.item_ids.parse(item), k), run.json, raw)
    else:
        users = recommender.similar_users(recommender.user_ids.parse(str(user)), k)
        print_list(users, run.json, raw)


@args.bundled
def explain(
    *,
    model: args.ModelFile,
    item: str = args.option(..., "The id of an item."),
    asker: args.Asker,
    k: args.K = 5,
    json: args.Json = False,
    raw: args.Raw = False,
) -> None:
    """Show why MODEL recommends an item to a user: score, bits, the user's most similar items."""
    from xorec.recommender.recommender import Recommender

    asker.refuse_both()
    if asker.user is None and asker.items is None:
        raise OptionError("say to whom: give either --user ID or --items ID,ID,...")
    recommender = Recommender.load(model)
    offered = recommender.item_ids.parse(item)
    if asker.user is not None:
        why = recommender.explain(recommender.user_ids.parse(asker.user), offered, k)
    else:
        history = args.parse_ids(recommender.item_ids, str(asker.items))
        why = recommender.explain_for(history, offered, k)
    if json:
        print_json(why.to_dict())
    elif raw:
        print_raw_items(why.because)
    else:
        _print_explanation(why)


def _print_explanation(why: Explanation) -> None:
    whom = "The new user" if isinstance(why.user, list) else str(why.user)
    named = f" ({why.name})" if why.name not in (None, str(why.item)) else ""
    place = "has it already" if why.rank is None else f"place {why.rank:,} of the list"
    print_line(f"{whom} and {why.item}{named}: {place}.")
    print_line(textwrap.fill(f"The score {show(why.score)} is {why.score_description}.", 80))
    if why.parts:
        given = (f"{name} {show(value)}" for name, value in why.parts.items())
        print_line(f"Of it: {', '.join(given)}.")
    if why.found_by:
        print_line(f"Found by {' and '.join(why.found_by)}.")
    if why.bits is not None:
        print_line(f"{why.bits_agreed} of {why.bits} bits agree, {why.distance} differ.")
    if why.because:
        print_line("\nThe items of this user that are most like it:")
        print_items(why.because, "likeness")
