"""xorec models: which models there are, and what can be set."""

from __future__ import annotations

from typing import Annotated, Any

import typer

from xorec.cli import arguments as args


def models(
    name: Annotated[str | None, typer.Argument(help="The model whose settings to list.")] = None,
    json: args.Json = False,
) -> None:
    """List the models, or the settings of one."""
    from xorec.cli.output import print_json, print_line, print_table
    from xorec.models import model_class, model_names
    from xorec.training.config import describe_settings

    if name is not None:
        rows = describe_settings(model_class(name).Config)
        weights = model_class(name).weighting
        if json:
            print_json({"model": name, "weights": weights, "rows": rows})
        else:
            print_table(
                ("setting", "default", "range", "what it is"), [[*r.values()] for r in rows]
            )
            print_line(f"\nWeights of pairs: {weights or 'not used'}.")
        return
    listed = [{"model": one, "about": _first_line(model_class(one))} for one in model_names()]
    if json:
        print_json({"rows": listed})
    else:
        print_table(("model", "what it is"), [[*row.values()] for row in listed])


def _first_line(model: Any) -> str:
    import sys

    return (sys.modules[model.__module__].__doc__ or "").strip().splitlines()[0]
