"""xorec evaluate: how good a model file is on interactions that it has not seen."""

from __future__ import annotations

from typing import Annotated

import typer

from xorec.cli import arguments as args
from xorec.cli.bundles import bundled, without


@bundled
def evaluate(
    model: args.ModelFile,
    ks: args.Cuts = "10,20,50,100",
    part: Annotated[
        str | None, typer.Option(help="Only this part of the split column: test or validation.")
    ] = None,
    *,
    source: Annotated[args.DataSource, without("time_column", "item_info", "core")],
    run: Annotated[args.Run, without("seed")],
) -> None:
    """Evaluate a model file on the pairs of DATA that it was not fitted on.

    All items of the model are ranked, the user's training items are left out. Users and items
    that the model does not know cannot be ranked; how many pairs that leaves out is reported.
    """
    from xorec.cli.output import print_json, print_line, print_table
    from xorec.evaluation.metrics.registry import METRICS
    from xorec.evaluation.protocol import evaluate as evaluate_parts
    from xorec.experiments.comparison import query_time, size_of
    from xorec.recommender.recommender import Recommender
    from xorec.recommender.unseen import unseen_pairs

    cuts = args.parse_ks(ks)
    options = run.options()
    recommender = Recommender.load(model, threads=run.threads)
    pairs = source.load(options)
    train, test, left_out = unseen_pairs(recommender, pairs, part)
    for note in left_out:
        options.progress.note(note)
    result = evaluate_parts(
        recommender.representation,
        train,
        test,
        ks=cuts,
        tie_rank=recommender.tie_rank,
        options=options,
    )
    row = {
        "model": recommender.metadata["model"],
        **size_of(recommender.metadata["config"]),
        **result.row(),
        "bytes": recommender.representation.nbytes,
        "us_per_query": query_time(recommender.representation, train, threads=options.thread_count),
    }
    if run.json:
        about = {"name": source.data, "pairs": test.n_pairs, "notes": left_out}
        print_json({"data": about, "split": {"method": "unseen", "part": part}, "rows": [row]})
        return
    print_line(f"{model}: {recommender.metadata['model']}, {result.n_users:,} users tested")
    print_table(
        ("metric", *(f"@{k}" for k in cuts)),
        [(name, *(row[f"{name}@{k}"] for k in cuts)) for name in METRICS],
    )
