"""xorec page: a model as one HTML file that opens by double click."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from xorec.cli import arguments as args
from xorec.cli.bundles import bundled, without


@bundled
def page(
    model: args.ModelFile,
    output: Annotated[Path, typer.Option("-o", "--output", help="The HTML file to write.")],
    users: Annotated[
        int, typer.Option(min=0, max=2000, help="How many users to show, with their lists.")
    ] = 40,
    k: args.K = 10,
    title: Annotated[
        str | None, typer.Option(help="The title of the page; the name of MODEL by default.")
    ] = None,
    frontier: Annotated[
        Path | None,
        typer.Option(help="A picture to include (.png, .svg), from `xorec compare --frontier`."),
    ] = None,
    *,
    run: Annotated[args.Run, without("seed")],
) -> None:
    """Write MODEL as one HTML file for people without xorec: lists, similar items, the map.

    The file opens by double click and needs no network. Everybody who has the file can read which
    items its users have: choose --users 0 to share items alone.
    """
    from xorec.cli.output import print_json, print_line, show_bytes
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
