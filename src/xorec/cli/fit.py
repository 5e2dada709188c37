"""xorec fit: learn a model from data and write the model file."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple

import typer

from xorec.cli import arguments as args
from xorec.cli.bundles import bundled
from xorec.cli.settings import settings_of
from xorec.core import interrupts

if TYPE_CHECKING:
    from xorec.core.options import RunOptions
    from xorec.data.interactions import Interactions
    from xorec.data.split import Split


@dataclass(frozen=True, kw_only=True)
class HoldOut:
    """What is kept from the model: to test it on, and to find the number of epochs on."""

    split: args.SplitMethod = None
    test: Annotated[
        float | None, typer.Option("--test", help="Share of the pairs to keep for `evaluate`.")
    ] = None
    validation: args.ValidationShare = 0.0

    def parts(self, pairs: Interactions, options: RunOptions) -> HeldOut:
        """The parts of the pairs, as far as something is held out at all."""
        from xorec.data.split import hold_out

        if self.split is not None or self.test is not None or pairs.parts is not None:
            parts = args.split_pairs(pairs, self.split, self.test, self.validation, options)
            options.progress.note(f"split: {parts}")
            return HeldOut(parts.train, parts.validation, parts)
        if not self.validation:
            return HeldOut(pairs, None, None)
        parts = hold_out(pairs, self.validation, options.seed)
        how = "the latest pairs" if parts.settings["method"] == "time" else "random pairs"
        options.progress.note(f"validation: {parts.test.n_pairs:,} of {pairs.n_pairs:,}, {how}")
        return HeldOut(parts.train, parts.test, None)


class HeldOut(NamedTuple):
    """What to learn from, what finds the number of epochs, and the split if it has a test part."""

    train: Interactions
    validation: Interactions | None
    split: Split | None

    def describe(self, share: float, seed: int) -> dict[str, Any]:
        """The split that was used, as flat JSON."""
        if self.split is not None:
            return self.split.describe()
        held = 0 if self.validation is None else self.validation.n_pairs
        sizes = {"train_pairs": self.train.n_pairs, "validation_pairs": held, "test_pairs": 0}
        return {"method": "none", "validation": share, "seed": seed, **sizes}


@bundled
def fit(
    context: typer.Context,
    output: Annotated[Path, typer.Option("-o", "--output", help="The model file to write.")],
    model: Annotated[str, typer.Option(help="A name from `xorec models`.")] = "bpr",
    *,
    hold_out: HoldOut,
    config: args.Config = None,
    resume: Annotated[bool, typer.Option(help="Go on from the last checkpoint.")] = False,
    source: args.DataSource,
    run: args.Run,
) -> None:
    """Learn a model from DATA and write it to a file.

    Any setting of the model can be given as an option: --epochs 20 --learning-rate 0.1; `xorec
    models NAME` lists them. With --validation 0.1, a tenth of the pairs (the latest, where they
    have times) finds the number of epochs, and the model then learns from all pairs. With --test
    0.2, or where the data has a split, the test part is left out and kept in OUTPUT.test.parquet:
    `xorec evaluate OUTPUT` takes it. A run that was stopped goes on with --resume.
    """
    from xorec.cli.output import print_json, print_line, show_bytes
    from xorec.models import model_class
    from xorec.models.fitting import checkpoints, fit_with_validation
    from xorec.recommender.recommender import Recommender

    learner = model_class(model)(**settings_of(context, model, config))
    checkpoint = Path(f"{output}.checkpoint")
    options = replace(run.options(), checkpoint=checkpoint, resume=resume)
    parts = hold_out.parts(source.load(options), options)
    began = time.perf_counter()
    with args.told_of_new_folder(output, options.progress):
        with interrupts.interrupt_hint(lambda: _how_to_go_on(checkpoint)):
            learner = fit_with_validation(learner, parts.train, parts.validation, options)
        seconds = time.perf_counter() - began
        learned_from = parts.train
        if parts.validation is not None:
            learned_from = parts.train.union(parts.validation, options.thread_count)
        recommender = Recommender.from_model(learner, learned_from, seed=run.seed)
        _keep_test_part(parts.split, output, options)
        recommender.save(output)
    for leftover in checkpoints(checkpoint):
        leftover.unlink(missing_ok=True)
    if run.json:
        row = {"model": model, "config": learner.config.model_dump(), "output": str(output)}
        size = {"bytes": recommender.representation.nbytes, "seconds_fit": seconds}
        about = {"data": recommender.metadata["data"]}
        about["split"] = parts.describe(hold_out.validation, run.seed)
        print_json({**about, "rows": [{**row, **size}]})
    else:
        size_text = show_bytes(recommender.representation.nbytes)
        print_line(f"{output}: {model}, {learned_from!r}, {size_text}, {seconds:.1f} s")


def _keep_test_part(split: Split | None, output: Path, options: RunOptions) -> None:
    """The test part beside the model file; that of an older model goes."""
    from xorec.data.io.write import write_test_part

    path = args.test_part_of(output)
    if split is not None:
        write_test_part(split, path)
        left_out = f"{split.test.n_pairs:,} test pairs of the split left out"
        options.progress.note(f"{left_out}; they are kept in {path}")
    elif path.exists():
        path.unlink()
        options.progress.note(f"removed {path}, the test part of the model that was there before")


def _how_to_go_on(checkpoint: Path) -> str:
    return "Run the same command with --resume to go on." if checkpoint.exists() else ""
