"""xorec explain: why a user is offered an item."""

from __future__ import annotations

import textwrap
from typing import TYPE_CHECKING, Annotated

import typer

from xorec.cli import arguments as args
from xorec.cli.bundles import bundled
from xorec.core.errors import OptionError

if TYPE_CHECKING:
    from xorec.recommender.similarity import Explanation


@bundled
def explain(
    model: args.ModelFile,
    item: Annotated[str, typer.Option(help="The id of an item.")],
    asker: args.Asker,
    k: args.K = 5,
    json: args.Json = False,
    raw: args.Raw = False,
) -> None:
    """Show why MODEL recommends an item to a user: score, bits, the user's most similar items."""
    from xorec.cli.listing import print_raw_items
    from xorec.cli.output import print_json
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
        _print(why)


def _print(why: Explanation) -> None:
    from xorec.cli.listing import print_items
    from xorec.cli.output import print_line, show

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
