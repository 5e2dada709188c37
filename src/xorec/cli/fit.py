"""xorec fit: learn a model from data and write the model file."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import typer

from xorec.cli import arguments as args
from xorec.cli.output import print_json, print_line, print_table, show_bytes
from xorec.cli.settings import long_options, settings_of
from xorec.core import interrupts
from xorec.core.errors import OptionError
from xorec.core.printable import did_you_mean

if TYPE_CHECKING:
    from xorec.core.options import RunOptions
    from xorec.data.interactions import Interactions
    from xorec.data.split import Split
    from xorec.selection.race.race import RaceResult


_RESUME = "Run the same command with --resume to go on."
_OTHERS = 5
"""Trials in the table of a race beside the one that was taken and the baseline."""


@dataclass(frozen=True, kw_only=True)
class HoldOut(args.SplitChoice):
    """What is kept from the model: to test it on, and to find the number of epochs on."""

    test: float | None = args.option(None, "Share of the pairs to keep for `evaluate`.", "--test")
    validation: args.ValidationShare = 0.0

    def held_out(self, pairs: Interactions, options: RunOptions) -> FitParts:
        """The parts of the pairs, as far as something is held out at all."""
        from xorec.data.split import hold_out

        if self.split is not None or self.test is not None or pairs.parts is not None:
            parts = self.parts(pairs, options)
            return FitParts(parts.train, parts.validation, parts)
        if not self.validation:
            return FitParts(pairs, None, None)
        parts = hold_out(pairs, self.validation, options.seed)
        how = "the latest pairs" if parts.settings["method"] == "time" else "random pairs"
        options.progress.note(f"validation: {parts.test.n_pairs:,} of {pairs.n_pairs:,}, {how}")
        return FitParts(parts.train, parts.test, None)


class FitParts(NamedTuple):
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


@dataclass(frozen=True, kw_only=True)
class Race:
    """What decides where no model is named."""

    budget: float | None = args.option(
        None, "Without --model: minutes that the choice of a model may take."
    )
    trials: int | None = args.option(
        None, "... or how many to try, without a time limit: the result is reproducible."
    )
    target: str = args.option(
        "ndcg", "... and the goal: ndcg, or the best within bytes=16 an item or us=50 a query."
    )

    def learner(self) -> Any:
        """A function (parts, options) -> (fitted model, race)."""
        from xorec.selection.race.fit import fit_best
        from xorec.selection.race.limits import Budget, Target

        target, limits = Target.parse(self.target), (self.budget, self.trials)
        if None not in limits:
            raise OptionError("give --budget (minutes) or --trials, not both.")
        how: Any = {"budget": None if limits == (None, None) else Budget(*limits), "target": target}
        return lambda parts, options: fit_best(
            parts.train, parts.validation, **how, options=options
        )

    def refuse_with(self, model: str) -> None:
        """A model that is named does not race."""
        given = {"budget": self.budget, "trials": self.trials}
        names = [f"--{name}" for name, value in given.items() if value is not None]
        names += ["--target"] if self.target != "ndcg" else []
        if names:
            raise OptionError(
                f"{names[0]} is for finding the best model: leave out --model {model}, or it."
            )


@args.bundled
def fit(
    *,
    context: typer.Context,
    output: Path = args.option(..., "The model file to write.", "-o", "--output"),
    model: str | None = args.option(
        None, "A name from `xorec models`; without it, the best of several."
    ),
    race: Race,
    hold_out: HoldOut,
    config: args.Config = None,
    resume: bool = args.option(False, "Continue from the last checkpoint."),
    source: args.DataSource,
    engine: args.EngineChoice,
    run: args.Run,
) -> None:
    """Fit a model to DATA and write it to a file.

    Without --model, several models and settings are tried on a validation part, and the one with
    the best lists is fitted on all pairs; a table says what was tried. With --model, each of its
    settings can be given as an option: --epochs 20 --learning-rate 0.1; `xorec models NAME` lists
    them. With --validation 0.1, the number of epochs is chosen on a tenth of the pairs (the latest,
    if they have times), and the model is then fitted on all pairs. With --test 0.2, or if the data
    has a split, the test part is left out and kept in OUTPUT.test.parquet for `xorec evaluate
    OUTPUT`. A run that was stopped continues with --resume.
    """
    from xorec.recommender.recommender import Recommender
    from xorec.selection.race.fit import about_race

    learn = _learner(context, model, race, config)
    checkpoint = Path(f"{output}.checkpoint")
    if engine.engine != "local" and not resume:  # tasks go on from what they find (`models.base`)
        for leftover in _files_of(checkpoint):
            leftover.unlink()
    with engine.opened(replace(run.options(), checkpoint=checkpoint, resume=resume)) as options:
        parts = hold_out.held_out(source.load(options), options)
        began = time.perf_counter()
        with args.told_of_new_folder(output, options.progress):
            with interrupts.interrupt_hint(lambda: _RESUME if any(_files_of(checkpoint)) else ""):
                learner, found = learn(parts, options)
            seconds = time.perf_counter() - began
            learned_from = parts.train
            if parts.validation is not None:
                learned_from = parts.train.union(parts.validation, options.thread_count)
            recommender = Recommender.from_model(
                learner, learned_from, seed=run.seed, **source.provenance, **about_race(found)
            )
            _keep_test_part(parts.split, output, options)
            recommender.save(output)
    for leftover in _files_of(checkpoint):
        leftover.unlink()
    if run.json:
        row = {"model": learner.name, "config": learner.config.model_dump(), "output": str(output)}
        size = {"bytes": recommender.representation.nbytes, "seconds_fit": seconds}
        size["file_bytes"] = output.stat().st_size
        about = {"data": recommender.metadata["data"]}
        about["split"] = parts.describe(hold_out.validation, run.seed)
        raced = {} if found is None else {"race": found.to_dict()}
        print_json({**about, "rows": [{**row, **size}], **raced})
        return
    if found is not None:
        _print_race(found)
    sizes = f"{learned_from.n_users:,} users x {learned_from.n_items:,} items"
    data = ", ".join([sizes, f"{learned_from.n_pairs:,} pairs", *learned_from.has])
    size_text = show_bytes(output.stat().st_size)
    print_line(f"{output}: {learner.name}, {size_text}, {seconds:.1f} s\nlearned from {data}")


def _learner(context: typer.Context, model: str | None, race: Race, config: Path | None) -> Any:
    """A function (parts, options) -> (fitted model, race or None); settings are checked now."""
    if model is None:
        if context.args or config is not None:
            first = context.args[0].partition("=")[0] if context.args else "--config"
            others = [name for name in long_options(context) if name != "config"]
            hint = did_you_mean(first.removeprefix("--"), others, sign="--")
            raise OptionError(
                f"{first} is no option of fit without a model: settings come with one, for example "
                f"--model dsiml {first} ...{hint}"
            )
        return race.learner()
    from xorec.models import model_class
    from xorec.models.base import fit_with_validation

    race.refuse_with(model)
    chosen = model_class(model)(**settings_of(context, model, config))

    def learn(parts: FitParts, options: RunOptions) -> tuple[Any, None]:
        return fit_with_validation(chosen, parts.train, parts.validation, options), None

    return learn


def _print_race(found: RaceResult) -> None:
    """The one that was taken and why, the best others, the baseline, and where the rest is."""
    from textwrap import fill

    from xorec.selection.race.trial import METRIC

    shown = [found.winner, *found.others(_OTHERS)]
    heads = ("tried", METRIC, "bytes/item", "us", "")
    rows = (
        (one.label, f"{one.value:.4f}", f"{one.bytes_per_item:,.0f}", f"{one.us_per_query:,.0f}")
        for one in shown
    )
    print_table(
        heads, [(*row, "" if i else "taken") for i, row in enumerate(rows)], right=heads[1:4]
    )
    print_line(fill(f"taken: {found.why()}.", 80, break_on_hyphens=False))
    if more := len(found.trials) - len(shown):
        print_line(f'{more} more: with --json, or metadata["race"]["rows"] of the file.')


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


def _files_of(checkpoint: Path) -> list[Path]:
    """Those of its files that are there."""
    from xorec.models.base import checkpoints

    return [path for path in checkpoints(checkpoint) if path.is_file()]
