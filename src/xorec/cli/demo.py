"""xorec demo: the main job on the embedded data set, from pairs to recommendations."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xorec.cli import arguments as args
from xorec.cli.output import print_json, print_line, print_table
from xorec.cli.serve import require_extra
from xorec.cli.serve import run as start_service
from xorec.core.errors import OptionError

if TYPE_CHECKING:
    from xorec.data.split import Split
    from xorec.recommender.recommender import Recommender
    from xorec.selection.comparison import Contender

_MODELS = ("popularity", "item-knn", "bpr", "siml", "dsiml", "blend:bits=64")
_BITS = (32, 64)
_VECTORS = {"epochs": 20, "temperature": 4.0, "negatives": 20, "form": "npair"}
_SETTINGS: dict[str, dict[str, Any]] = {
    "bpr": {"epochs": 60},
    "siml": {**_VECTORS, "alpha": 0.75, "popularity": 0.1},
    "dsiml": {
        **{"epochs": 10, "softness": 0.0, "learning_rate": 0.3},
        "start": {**_VECTORS, "alpha": 0.5},
    },
    "blend": {"start": {**_VECTORS, "alpha": 0.5}},
}
"""Few epochs and no race, so that the demo takes a minute or so; hard signs: small data likes them.
"""
_LEGEND = """\
Recall: the share of a package's hidden ones among its first ten, averaged over
packages; HR: that share of all hidden pairs. 95 %: interval of NDCG@10; p: of a
paired test against the best, small where a difference is more than chance.
B/item: bytes that serving keeps for an item; us: microseconds of a query.
"""
_CHOSEN = "blend"
_PACKAGE = "vlc"


@args.bundled
def demo(
    *,
    output: Path = args.option(Path("demo"), "Where the model file goes."),
    user: str = args.option(_PACKAGE, "Whose recommendations to show."),
    serve: bool = args.option(
        False, "Then serve the model and its page over HTTP, until Ctrl-C.", "--serve"
    ),
    run: args.Run,
) -> None:
    """Compare models on Debian's build dependencies and recommend for one source package.

    A fifth of the pairs is hidden; each model ranks all packages for each source package, and
    is measured by how high the hidden ones come.
    """
    import textwrap

    from xorec.cli.compare import default_metrics, print_comparison
    from xorec.data.datasets.catalog import load_data
    from xorec.data.split import split
    from xorec.recommender.recommender import Recommender
    from xorec.selection.comparison import compare_models
    from xorec.selection.shared_work import vectors_learned_once

    if serve and run.json:
        raise OptionError("give --serve or --json, not both.")
    if serve:
        require_extra()
    options = run.options()
    data = load_data("debian")
    if not run.json:
        size = f"{data.n_users:,} users x {data.n_items:,} items, {data.n_pairs:,} pairs"
        print_line("Debian's source packages (users) and the packages they build on (items):")
        print_line(f"{size}.\nA fifth of the pairs is hidden to test on.\n")
    parts = split(data, method="random", test=0.2, validation=0.1, seed=run.seed)
    with vectors_learned_once(options) as used:
        contenders = compare_models(
            parts, _MODELS, settings=_SETTINGS, bits=_BITS, ks=(10, 20), options=used
        )
    chosen = next(one for one in contenders if one.model.name == _CHOSEN)
    known = parts.train if parts.validation is None else parts.train.union(parts.validation)
    recommender = Recommender.from_model(chosen.model, known, seed=run.seed)
    path = output / "debian.xorec"
    recommender.save(path)
    if run.json:
        rows = [one.row() for one in contenders]
        answer = {"data": {"name": "debian"}, "split": parts.describe(), "rows": rows}
        print_json({**answer, **_example(recommender, parts, user)})
        return
    print_comparison(contenders, default_metrics(10))
    print_line(_LEGEND)
    print_line(textwrap.fill(_gain(chosen, contenders), 79))
    print_line()
    _print_example(_example(recommender, parts, user))
    if serve:
        from xorec.service.settings import configure

        print_line()
        start_service(configure(None, os.environ, {"model": path}).config)
        return
    print_line(f"\nThe model is in {path}. Try:")
    xorec = _this_command()
    print_line(f"  {xorec} recommend {path} --user gimp -k 10")
    print_line(f"  {xorec} similar {path} --item libpng-dev")
    print_line(f"  {xorec} explain {path} --user gimp --item libpng-dev")
    print_line(f"  {xorec} serve {path}")
    print_line("With your own file of users and items (columns are guessed):")
    print_line(f"  {xorec} fit your.csv -o shop.xorec")


def _this_command() -> str:
    """How the shell finds this command: `make demo` runs it from a venv that is not active."""
    here = Path(sys.argv[0])
    if here.name != "xorec" or shutil.which("xorec") is not None:
        return "xorec"
    return os.path.relpath(here)


def _example(recommender: Recommender, parts: Split, user: str) -> dict[str, Any]:
    """What the model knew of the package, what it recommends, and which of it was hidden."""
    best = recommender.recommend(user, 10)
    row = parts.test.users.find(user)
    hidden = set(parts.test.items.take(parts.test.of_user(row)))
    known = recommender.item_ids.take(recommender.items_of(row))
    return {
        "user": user,
        "known": known,
        "items": [
            {"id": i.id, "score": i.score, "distance": i.distance, "hidden": i.id in hidden}
            for i in best.items
        ],
        "why": recommender.explain(user, best.items[0].id, 3).to_dict(),
    }


def _print_example(example: dict[str, Any]) -> None:
    import textwrap

    known = ", ".join(map(str, example["known"]))
    print_line(f"{example['user']} is known to build on:")
    print_line(textwrap.fill(textwrap.shorten(known, 230, placeholder=" ..."), 79))
    rows = [
        (rank, item["id"], item["score"], "yes: it was hidden" if item["hidden"] else "")
        for rank, item in enumerate(example["items"], start=1)
    ]
    print_line(f"\nWhat else should {example['user']} build on? {_CHOSEN} says:")
    print_table(("rank", "package", "score", "does it?"), rows)
    why = example["why"]
    near = ", ".join(str(one["id"]) for one in why["because"])
    reason = f"Why {why['item']}? Of its own packages {near} say most for it"
    bits = f"{why['bits_agreed']} of {why['bits']} bits of the two codes agree"
    print_line(textwrap.fill(f"{reason}, and {bits}.", 79))


def _gain(chosen: Contender, contenders: list[Contender]) -> str:
    """What a user has of the recipe that is served, beside the best of the others."""
    others = [one for one in contenders if one is not chosen]
    best = max(others, key=lambda one: one.evaluation["hr@10"])
    more = chosen.evaluation["hr@10"] / best.evaluation["hr@10"] - 1
    cost, word = chosen.serving, "more" if more >= 0 else "fewer"
    return (
        f"{_CHOSEN} finds {abs(more):.0%} {word} of the hidden packages "
        f"among its first ten than {best.label}, the best of the others, from "
        f"{cost.bytes_per_item:,.0f} bytes an item in {cost.us_per_query:,.0f} us."
    )
