"""xorec compare: fit and evaluate several models on one split."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from xorec.cli import arguments as args
from xorec.cli.output import print_json, print_line, print_table, show_bytes
from xorec.cli.settings import settings_by_model

if TYPE_CHECKING:
    from xorec.selection.comparison import Contender

_MODELS = "popularity,item-knn,bpr"


@args.bundled
def compare(
    *,
    context: typer.Context,
    models: str | None = args.option(
        None,
        "Names from `xorec models`, comma-separated; settings for one row follow a colon: "
        f"bpr,dsiml,dsiml:shortlist=200. By default {_MODELS}; with --frontier a range from "
        "20-bit codes to blend.",
    ),
    bits: str | None = args.option(None, "Lengths of codes, comma-separated: one row for each."),
    split: args.SplitChoice,
    ks: args.Cuts = "10,20,50,100",
    metrics: args.Metrics = None,
    by_category: bool = args.option(
        False, "Also show NDCG for each category of items.", "--by-category"
    ),
    frontier: Path | None = args.option(
        None,
        "Draw the first metric against bytes an item and microseconds a query: "
        "FILE.png and FILE.svg.",
    ),
    config: args.Config = None,
    source: args.DataSource,
    where: args.EngineChoice,
    run: args.Run,
) -> None:
    """Fit several models on one split of DATA and evaluate them, all items ranked.

    DATA is split once, or by the split that it has. The number of epochs is chosen on the
    validation part; each model is then fitted on the training and validation pairs together and
    tested once. Settings for all rows of a model: --dsiml.epochs 20 --item-knn.shrink 5. In the
    table, `95 %` is a bootstrap interval of the first metric, `p` the paired test against the best
    model, `B/item` the bytes that serving needs for an item, `us` the microseconds of one query.
    """
    from xorec.plots import frontier as draw_frontier
    from xorec.plots.comparisons import picture_files
    from xorec.selection.comparison import compare_models, ladder
    from xorec.selection.model_specs import parse_spec
    from xorec.selection.shared_work import vectors_learned_once

    chosen, cuts = args.parse_metrics(metrics, ks)
    chosen = chosen or default_metrics(cuts[0])
    lengths = () if bits is None else args.parse_counts(bits, "--bits", "32,64")
    files = None if frontier is None else picture_files(frontier)
    is_ladder = files is not None and models is None
    names = ladder(0, lengths) if is_ladder else args.parse_names(models or _MODELS)
    settings = settings_by_model(context, [parse_spec(name) for name in names], config)
    options = run.options()
    pairs = source.load(options)
    if is_ladder:
        names, lengths = ladder(pairs.n_items, lengths), ()
    parts = split.parts(pairs, options)
    how: dict[str, Any] = {"settings": settings, "bits": lengths, "ks": cuts}
    with (
        where.opened(options) as opened,
        nullcontext(opened) if files is None else vectors_learned_once(opened) as used,
    ):
        contenders = compare_models(parts, names, **how, by_category=by_category, options=used)
    if files is not None:
        core = f", {source.core}-core" if source.core else ""
        title = f"{source.label}{core}: {pairs.n_users:,} users x {pairs.n_items:,} items"
        picture = draw_frontier(contenders, metric=chosen[0], title=title)
        for file in files:
            picture.save(file)
    if run.json:
        firsts = dict.fromkeys([f"ndcg@{cuts[0]}", *chosen[:1]])
        rows = [one.row() for one in contenders]
        for metric in firsts:
            for row, one in zip(rows, contenders, strict=True):
                row |= _significance(one, contenders, metric)
        more = {"categories": _category_rows(contenders)} if by_category else {}
        drawn = {"frontier": list(map(str, files))} if files else {}
        about = {"data": source.describe(pairs), "split": parts.describe(), "rows": rows}
        print_json({**about, **more, **drawn})
        return
    print_comparison(contenders, chosen)
    print_line(f"Split: {parts}.")
    if files is not None:
        print_line("fit s: vectors that several rows start from are learned once, in the first.")
        print_line(f"Picture: {files[0]} and {files[1].name}.")
    if by_category:
        print_line()
        _print_categories(contenders, cuts[0])


def default_metrics(k: int) -> tuple[str, ...]:
    """What the table shows unless told otherwise."""
    return f"ndcg@{k}", f"recall@{k}", f"hr@{k}"


def _category_rows(contenders: list[Contender]) -> list[dict[str, Any]]:
    from xorec.selection.comparison import size_of

    rows: list[dict[str, Any]] = []
    for one in contenders:
        about = {"model": one.model.name, "label": one.label}
        about |= size_of(one.model.config.model_dump())
        rows += [{**about, **row} for row in one.evaluation.categories]
    return rows


def _significance(one: Contender, all_of_them: list[Contender], metric: str) -> dict[str, Any]:
    """The bootstrap interval, and the p-value against the best model, where users have values."""
    from xorec.evaluation.metrics import is_per_user
    from xorec.evaluation.significance import compare as paired_test

    if not is_per_user(metric):
        return {}
    interval = one.evaluation.interval(metric)
    found: dict[str, Any] = {f"{metric}_low": interval.low, f"{metric}_high": interval.high}
    best = max(all_of_them, key=lambda contender: contender.evaluation[metric])
    if best is not one:
        found["p_against_best"] = paired_test(one.evaluation, best.evaluation, metric).p_value
    return found


def _print_categories(contenders: list[Contender], k: int) -> None:
    """NDCG of every model in each category, the category with the most test items first."""
    rows = list(zip(*(one.evaluation.categories for one in contenders), strict=True))
    rows.sort(key=lambda row: -row[0]["test_items"])
    heads = ("category", "items", "test items", *(one.label for one in contenders))
    names = ("category", "items", "test_items")
    cells = [(*map(row[0].get, names), *(one[f"ndcg@{k}"] for one in row)) for row in rows]
    print_table(heads, cells)


def print_comparison(contenders: list[Contender], metrics: Sequence[str]) -> None:
    """The table of `compare` and `demo`; what does not fit the width is left out."""
    from xorec.evaluation.metrics import heading

    first, *others = metrics
    heads = ("model", heading(first), "95 %", "p", *map(heading, others))
    heads += ("cover", "fit s", "size", "B/item", "us")
    rows = [_cells(one, contenders, first, others) for one in contenders]
    print_table(heads, rows, right=heads[1:], optional=("cover", "size", "95 %", "p", "fit s"))


def _cells(
    one: Contender, contenders: list[Contender], first: str, others: Sequence[str]
) -> list[str]:
    from xorec.evaluation.metrics import parse_metric

    row, spread = one.row(), _significance(one, contenders, first)
    low, high, p = (
        spread.get(name) for name in (f"{first}_low", f"{first}_high", "p_against_best")
    )
    best = "best" if spread else ""
    return [
        one.label,
        f"{row[first]:.4f}",
        "" if low is None else f"{low:.3f}-{high:.3f}",
        best if p is None else f"{p:.3f}" if p >= 0.001 else "<.001",
        *(f"{row[name]:.4f}" for name in others),
        f"{row[f'coverage@{parse_metric(first)[1]}']:.3f}",
        f"{row['seconds_fit']:.1f}",
        show_bytes(row["bytes"]),
        f"{row['bytes_per_item']:,.0f}",
        f"{row['us_per_query']:,.0f}",
    ]
