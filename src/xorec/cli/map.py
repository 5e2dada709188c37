"""xorec map and xorec page: the items of a model in the plane, and a model as one HTML file."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Annotated

from xorec.cli import arguments as args
from xorec.cli.output import print_json, print_line, show_bytes


@args.bundled
def map(
    *,
    model: args.ModelFile,
    output: Path | None = args.option(
        None, "Where to write the result; MODEL by default.", "--output", "-o"
    ),
    layout: str = args.option(
        "neighbours", "neighbours (items that are alike lie together) or pca (faster)."
    ),
    plot: Path | None = args.option(None, "Also draw it: a .png file. Needs 'xorec[plots]'."),
    run: args.Run,
) -> None:
    """Place the items of MODEL in the plane, for the map of `xorec serve`; kept in the model file.

    Without it, the map uses principal components. The result is the same for any number of threads.
    """
    from xorec.core.locks import locked
    from xorec.recommender.item_map import with_map
    from xorec.recommender.recommender import Recommender

    path, options = output or model, run.options()
    if plot is not None:
        from xorec.plots.models import require_png

        require_png(plot)
    if not model.exists():
        Recommender.load(model)  # says so, before anything is locked
    began = time.perf_counter()
    with args.told_of_new_folder(path, options.progress), locked(path, note=options.progress.note):
        recommender = Recommender.load(model, threads=run.threads)
        made, about = with_map(recommender, layout, options)
        made.save(path)
    seconds = round(time.perf_counter() - began, 2)
    if plot is not None:
        from xorec.plots.models import item_map

        item_map(made).save(plot)
    if run.json:
        print_json({"model": str(path), "items": len(made.item_ids), **about, "seconds": seconds})
        return
    print_line(f"{path}: {len(made.item_ids):,} items, layout {layout}, {seconds:,.1f} s.")
    if "kept_10" in about:
        print_line(
            f"Of an item's 10 nearest, {about['kept_10']:.1%} are among its 10 nearest on the map, "
            f"{about['kept_50']:.1%} among its 50 nearest."
        )


@args.bundled
def page(
    *,
    model: args.ModelFile,
    output: Path = args.option(..., "The HTML file to write.", "-o", "--output"),
    users: int = args.option(40, "How many users to show, with their lists.", min=0, max=2000),
    k: args.K = 10,
    title: str | None = args.option(None, "The title of the page; the name of MODEL by default."),
    frontier: Path | None = args.option(
        None, "A picture to include (.png, .svg), from `xorec compare --frontier`."
    ),
    run: Annotated[args.Run, args.without("seed")],
) -> None:
    """Write MODEL as one HTML file for people without xorec: lists, similar items, the map.

    The file opens by double click and needs no network. Everybody who has the file can read which
    items its users have: choose --users 0 to share items alone.
    """
    from xorec.core.arrays import positive_int
    from xorec.core.files import write_text
    from xorec.recommender import storage
    from xorec.recommender.recommender import Recommender
    from xorec.service.page.single.content import content
    from xorec.service.page.single.document import document

    positive_int(k)
    options = run.options()
    recommender = Recommender.load(model, threads=run.threads)
    with storage.opened(model) as file:
        digest = file.metadata["digest"]
    data = content(recommender, users, k)
    data["facts"]["digest"] = digest
    text = document(data, title or model.name, frontier)
    with args.told_of_new_folder(output, options.progress):
        write_text(output, text)
    size, shown, points = len(text.encode()), len(data["users"]), data["map"]["points"]
    if run.json:
        about = {"users": shown, "items": len(data["items"]["ids"]), "points": points}
        print_json({"model": str(model), "output": str(output), "bytes": size, **about})
        return
    print_line(f"{output}: {shown:,} users, {points:,} items on the map, {show_bytes(size)}.")
