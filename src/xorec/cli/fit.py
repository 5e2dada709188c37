"""xorec fit: learn a model from data and write the model file."""

from __future__ import annotations

import time
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from xorec.cli import arguments as args
from xorec.cli.bundles import bundled
from xorec.core import interrupts

if TYPE_CHECKING:
    from xorec.core.options import RunOptions
    from xorec.data.interactions import Interactions


@bundled
def fit(
    context: typer.Context,
    output: Annotated[Path, typer.Option("-o", "--output", help="The model file to write.")],
    model: Annotated[str, typer.Option(help="A name from `xorec models`.")] = "bpr",
    validation: args.ValidationShare = 0.0,
    config: args.Config = None,
    resume: Annotated[bool, typer.Option(help="Go on from the last checkpoint.")] = False,
    *,
    source: args.DataSource,
    run: args.Run,
) -> None:
    """Learn a model from DATA and write it to a file.

    Any setting of the model can be given as an option: --epochs 20 --learning-rate 0.1; `xorec
    models NAME` lists them. With --validation 0.1, a tenth of the pairs finds the number of
    epochs, and the model then learns from all pairs. Where the data has a split column, the test
    part is left out. A run that was stopped goes on with --resume.
    """
    from xorec.cli.output import print_json, print_line, show_bytes
    from xorec.models import model_class
    from xorec.models.fitting import checkpoints, fit_with_validation
    from xorec.recommender.recommender import Recommender

    settings = {**args.read_config(config).get(model, {}), **args.parse_settings(context.args)}
    learner = model_class(model)(**settings)
    checkpoint = Path(f"{output}.checkpoint")
    options = replace(run.options(), checkpoint=checkpoint, resume=resume)
    train, held_out = _training_parts(source.load(options), validation, options)
    began = time.perf_counter()
    with interrupts.interrupt_hint(lambda: _how_to_go_on(checkpoint)):
        learner = fit_with_validation(learner, train, held_out, options)
    seconds = time.perf_counter() - began
    learned_from = train if held_out is None else train.union(held_out, options.thread_count)
    recommender = Recommender.from_model(learner, learned_from, seed=run.seed)
    recommender.save(output)
    for leftover in checkpoints(checkpoint):
        leftover.unlink(missing_ok=True)
    if run.json:
        row = {"model": model, "config": learner.config.model_dump(), "output": str(output)}
        size = {"bytes": recommender.representation.nbytes, "seconds_fit": seconds}
        print_json({"data": recommender.metadata["data"], "rows": [{**row, **size}]})
    else:
        size_text = show_bytes(recommender.representation.nbytes)
        print_line(f"{output}: {model}, {learned_from!r}, {size_text}, {seconds:.1f} s")


def _how_to_go_on(checkpoint: Path) -> str:
    return "Run the same command with --resume to go on." if checkpoint.exists() else ""


def _training_parts(
    pairs: Interactions, validation: float, options: RunOptions
) -> tuple[Interactions, Interactions | None]:
    """(what to learn from, what finds the number of epochs)."""
    from xorec.data.split import split

    if pairs.parts is not None:
        parts = split(pairs, method="given", validation=validation, seed=options.seed)
        options.progress.note(f"{parts.test.n_pairs:,} test pairs of the split left out")
        return parts.train, parts.validation
    if not validation:
        return pairs, None
    parts = split(pairs, method="random", test=validation, seed=options.seed)
    return parts.train, parts.test
