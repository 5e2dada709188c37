"""xorec evaluate: how good a model file is on interactions that it has not seen."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Annotated, Any

from xorec.cli import arguments as args
from xorec.cli.output import print_json, print_line, print_table
from xorec.core.errors import OptionError

if TYPE_CHECKING:
    from pathlib import Path

    from xorec.data.interactions import Interactions


@dataclass(frozen=True, kw_only=True)
class TestSource(args.DataSource):
    """The data to test on: DATA, or what `fit` has held out."""

    data: str = args.argument(
        "",
        "A file, a folder, a database address, or a name from `xorec data list`; by "
        "default the test part that `xorec fit` kept in MODEL.test.parquet.",
    )

    def beside(self, model: Path) -> TestSource:
        """The same, with the test part of the model where no data is given."""
        if self.data:
            return self
        kept = args.test_part_of(model)
        if not kept.exists():
            raise OptionError(
                f"give the DATA to test on: nothing was held out when {model} was fitted (there is "
                f"no {kept}). `xorec fit --test 0.2` keeps a fifth of the pairs there."
            )
        return replace(self, data=str(kept))


@args.bundled
def evaluate(
    *,
    model: args.ModelFile,
    ks: args.Cuts = "10,20,50,100",
    metrics: args.Metrics = None,
    part: str | None = args.option(None, "Only this part of the split column: test or validation."),
    source: Annotated[TestSource, args.without("time_column", "item_info", "core")],
    where: args.EngineChoice,
    run: Annotated[args.Run, args.without("seed")],
) -> None:
    """Evaluate a model file on the pairs of DATA that it was not fitted on.

    Without DATA, the test part is used that `xorec fit` kept in MODEL.test.parquet. If DATA has a
    split, its test part is used. All items of the model are ranked, without the user's training
    items. Pairs with users or items that the model does not know are left out, and their number is
    reported.
    """
    from xorec.data.split import split_in_words
    from xorec.evaluation.metrics import METRICS
    from xorec.evaluation.protocol import evaluate as evaluate_parts
    from xorec.recommender.recommender import Recommender
    from xorec.recommender.unseen import unseen_pairs
    from xorec.selection.comparison import size_of
    from xorec.selection.serving import serving_cost

    chosen, cuts = args.parse_metrics(metrics, ks)
    options = run.options()
    recommender = Recommender.load(model, threads=run.threads)
    source = source.beside(model)
    pairs = source.load(options)
    train, test, left_out = unseen_pairs(recommender, pairs, part)
    for note in left_out:
        options.progress.note(note)
    with where.opened(options) as opened:
        how: Any = {"ks": cuts, "tie_rank": recommender.tie_rank, "options": opened}
        result = evaluate_parts(recommender.representation, train, test, **how)
    cost = serving_cost(recommender.representation, train, threads=options.thread_count)
    row = {
        "model": recommender.metadata["model"],
        **size_of(recommender.metadata["config"]),
        **result.row(),
        "bytes": recommender.representation.nbytes,
        **cost._asdict(),
    }
    split = {**_split(pairs, part, model, source.data), "tested_pairs": test.n_pairs}
    if run.json:
        about = {"name": source.name, "pairs": test.n_pairs, "notes": left_out}
        print_json({"data": about, "split": split, "rows": [row]})
        return
    print_line(f"{model}: {recommender.metadata['model']}, {result.n_users:,} users tested")
    words = f"none, {test.n_pairs:,} pairs that the model has not seen"
    if split["part"] is not None:
        words = f"{split_in_words(split)}; {test.n_pairs:,} {split['part']} pairs"
    print_line(f"Split: {words}.")
    if chosen:
        print_table(("metric", "value"), [(name, row[name]) for name in chosen])
        return
    rows = [(name, *(row[f"{name}@{k}"] for k in cuts)) for name in METRICS]
    print_table(("metric", *(f"@{k}" for k in cuts)), rows)


def _split(pairs: Interactions, part: str | None, model: Path, data: str) -> dict[str, Any]:
    """Which pairs were tested, as flat JSON."""
    from xorec.data.io.write import split_of

    if data == str(args.test_part_of(model)):
        return {**split_of(args.test_part_of(model)), "part": "test"}
    if pairs.parts is None:
        return {"method": "unseen", "part": None}
    return {"method": "given", **pairs.parts_from, "part": part or "test"}
