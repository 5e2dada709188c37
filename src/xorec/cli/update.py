"""xorec update: new interactions into a model file, without a fit of everything."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from xorec.cli import arguments as args
from xorec.cli.output import print_json, print_line


@args.bundled
def update(
    *,
    model: args.ModelFile,
    output: Path | None = args.option(
        None, "Where to write the result; MODEL by default.", "--output", "-o"
    ),
    wait: float | None = args.option(
        None, "Seconds to wait while another process writes; 600 by default.", min=0
    ),
    since: str | None = args.option(
        None, "Only pairs of this time or later: 2026-11-17T08:00:00Z, or a number."
    ),
    source: Annotated[args.DataSource, args.without("split_column", "core")],
    run: Annotated[args.Run, args.without("seed", "threads")],
) -> None:
    """Add the interactions of DATA to a model file: new users, new items, new pairs.

    Users with new pairs, and items most of whose pairs are new, are learned again; the rest stays
    as it is. Several updates of one file at the same time take turns, and none is lost. With
    --since, earlier rows of DATA are not read; a database does not even send them. Pairs that the
    model has already change nothing, so the time of the last update is a good value. If nothing is
    new, the file stays as it is.
    """
    from xorec.core.locks import WAIT, locked
    from xorec.data.io.encode import NothingSinceError
    from xorec.recommender.recommender import Recommender
    from xorec.recommender.updating import UpdateSummary

    path, options = output or model, run.options()
    if not model.exists():
        Recommender.load(model)  # says so, before anything is read or locked
    new = None
    try:
        new = source.load(options, since=since)
    except NothingSinceError as nothing:  # what a job of every hour finds is no failure
        options.progress.note(str(nothing))
    if new is not None and new.weights is not None:
        options.progress.note("an update counts every new pair the same: weights are used by fit.")
    with (
        args.told_of_new_folder(path, options.progress),
        locked(path, WAIT if wait is None else wait, options.progress.note),
    ):
        before = Recommender.load(model, threads=run.threads)
        after = before if new is None else before.update(new)
        if new is not None or path != model:
            after.save(path)
    summary = UpdateSummary.of(before, after).to_dict()
    if run.json:
        print_json({"model": str(path), **summary})
        return
    added = ", ".join(f"{count:,} new {what}" for what, count in summary["new"].items())
    print_line(f"{path}: {added}.")
