"""xorec compare: fit and evaluate several models on one split."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any

import typer

from xorec.cli import arguments as args
from xorec.cli.bundles import bundled

if TYPE_CHECKING:
    from xorec.experiments.comparison import Contender


@bundled
def compare(
    models: Annotated[
        str, typer.Option(help="Names from `xorec models`, with commas.")
    ] = "popularity,item-knn,bpr",
    bits: Annotated[
        str | None, typer.Option(help="Lengths of codes, with commas: a row for each.")
    ] = None,
    *,
    split: args.SplitChoice,
    ks: args.Cuts = "10,20,50,100",
    by_category: Annotated[
        bool, typer.Option("--by-category", help="NDCG for each category of items, too.")
    ] = False,
    config: args.Config = None,
    source: args.DataSource,
    run: args.Run,
) -> None:
    """Fit several models on one split of DATA and evaluate them, all items ranked.

    Pairs are split once; the validation part finds the number of epochs; each model then learns
    from training and validation pairs together and is tested once. `interval` is a 95 % bootstrap
    interval; `p` the paired test against the best model.
    """
    from xorec.cli.output import print_json, print_line
    from xorec.experiments.comparison import compare_models

    cuts = args.parse_ks(ks)
    lengths = () if bits is None else args.parse_bits(bits)
    settings = args.read_config(config)
    options = run.options()
    pairs = source.load(options)
    parts = split.parts(pairs, run.seed)
    names = args.parse_names(models)
    how: dict[str, Any] = {"settings": settings, "bits": lengths, "ks": cuts}
    contenders = compare_models(parts, names, **how, by_category=by_category, options=options)
    if run.json:
        rows = [{**one.row(), **_significance(one, contenders, cuts[0])} for one in contenders]
        size = {"users": pairs.n_users, "items": pairs.n_items, "pairs": pairs.n_pairs}
        about = {"name": source.data, **size}
        more = {"categories": _category_rows(contenders)} if by_category else {}
        print_json({"data": about, "split": parts.describe(), "rows": rows, **more})
        return
    print_comparison(contenders, cuts[0])
    if by_category:
        print_line()
        _print_categories(contenders, cuts[0])


def _category_rows(contenders: list[Contender]) -> list[dict[str, Any]]:
    from xorec.experiments.comparison import size_of

    return [
        {"model": one.model.name, **size_of(one.model.config.model_dump()), **row}
        for one in contenders
        for row in one.evaluation.categories
    ]


def _significance(one: Contender, all_of_them: list[Contender], k: int) -> dict[str, Any]:
    """The bootstrap interval of NDCG, and the p-value against the best model."""
    from xorec.evaluation.significance import compare as paired_test

    metric = f"ndcg@{k}"
    interval = one.evaluation.interval(metric)
    found: dict[str, Any] = {f"{metric}_low": interval.low, f"{metric}_high": interval.high}
    best = max(all_of_them, key=lambda contender: contender.evaluation[metric])
    if best is not one:
        found["p_against_best"] = paired_test(one.evaluation, best.evaluation, metric).p_value
    return found


def _print_categories(contenders: list[Contender], k: int) -> None:
    """NDCG of every model in each category, the category with the most test items first."""
    from xorec.cli.output import print_table

    rows = zip(*(one.evaluation.categories for one in contenders), strict=True)
    heads = ("category", "items", "test items", *(one.label for one in contenders))
    cells: list[tuple[Any, ...]] = [
        (row[0]["category"], row[0]["items"], row[0]["test_items"], *(r[f"ndcg@{k}"] for r in row))
        for row in rows
    ]
    cells.sort(key=lambda cell: -cell[2])
    print_table(heads, cells)


def print_comparison(contenders: list[Contender], k: int) -> None:
    """The table of `compare` and `demo`, in 80 columns."""
    from xorec.cli.output import print_table, show_bytes

    rows = []
    for one in contenders:
        row, spread = one.row(), _significance(one, contenders, k)
        p = spread.get("p_against_best")
        rows.append(
            (
                one.label,
                f"{row[f'ndcg@{k}']:.4f}",
                f"{spread[f'ndcg@{k}_low']:.3f}-{spread[f'ndcg@{k}_high']:.3f}",
                "best" if p is None else f"{p:.3f}" if p >= 0.001 else "<.001",
                f"{row[f'hr@{k}']:.4f}",
                f"{row[f'coverage@{k}']:.3f}",
                f"{row['seconds_fit']:.1f}",
                show_bytes(row["bytes"]),
                f"{row['us_per_query']:.0f}",
            )
        )
    heads = ("model", f"NDCG@{k}", "95 %", "p", f"HR@{k}", "cover", "fit s", "size", "us")
    print_table(heads, rows, right=heads[1:])
