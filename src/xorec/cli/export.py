"""xorec export: codes, lists and what ranks them into a database or files."""

from __future__ import annotations

from typing import Annotated

from xorec.cli import arguments as args
from xorec.cli.output import print_json, print_line


@args.bundled
def export(
    *,
    model: args.ModelFile,
    to: str = args.option(
        ...,
        "postgresql://.., clickhouse://.., or a path that ends in .duckdb, .sqlite, "
        ".parquet (a folder), .faiss, .npy.",
        metavar="ADDRESS",
    ),
    users: bool = args.option(False, "Users, too: their codes and the items they have.", "--users"),
    lists: int = args.option(0, "The K best items of every user, too.", metavar="K"),
    sql: bool = args.option(False, "Print the tables and the query; write nothing.", "--sql"),
    run: Annotated[args.Run, args.without("seed")],
) -> None:
    """Write the codes of MODEL to a database or to files, for queries and joins there.

    Items are written with their ids, codes, tie ranks, names and categories. The tables of an
    earlier export are replaced in one step when the new ones are complete; if the export fails,
    they stay as they were. Then `xorec recommend ADDRESS --user ID` lists the same items as the
    model file. docs/stores.md has the query for each database.
    """
    import time

    from xorec.recommender.recommender import Recommender
    from xorec.stores.contents import contents_of
    from xorec.stores.registry import open_store

    options, began = run.options(), time.perf_counter()
    with open_store(to) as store:
        recommender = Recommender.load(model, threads=run.threads)
        contents = contents_of(recommender, users=users, lists=lists, options=options)
        about = contents.about
        if sql:
            text = store.sql(contents)
            print_json(text._asdict()) if run.json else print_line(str(text))
            return
        counts = store.write(contents, options.progress)
        address = str(store.address)
    seconds = time.perf_counter() - began
    if run.json:
        print_json(
            {
                "to": address,
                "model": about.model,
                "ranking": about.ranking,
                "bits": about.bits,
                "description": about.describe(),
                "tables": counts,
                "seconds": seconds,
            }
        )
        return
    named = {"lists": "rows of lists"}  # a row is an item of a user's list
    rows = ", ".join(
        f"{count:,} {named.get(name, name)}" for name, count in counts.items() if name != "about"
    )
    print_line(f"{address}: {rows} in {seconds:.1f} s")
    print_line(about.describe())
