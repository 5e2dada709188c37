"""xorec tune: search a model's settings on the validation part."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from xorec.cli import arguments as args
from xorec.cli.output import print_json, print_line, print_table
from xorec.cli.settings import settings_of
from xorec.core import interrupts

if TYPE_CHECKING:
    from xorec.selection.tuning.tuning import Trial, Tuned


@dataclass(frozen=True, kw_only=True)
class TuneOptions:
    """What is searched, how long, and where the trials go."""

    model: str = args.option(..., "A name from `xorec models`.")
    trials: int = args.option(20, "Trials in total, including those of earlier runs.")
    output: Path | None = args.option(
        None, "Write the best settings to this TOML file.", "-o", "--output"
    )
    study: Path | None = args.option(
        None, "The file that keeps the trials; OUTPUT.study or MODEL.study by default."
    )
    metric: str = args.option("ndcg@20", "The metric to maximise on the validation part.")
    prune: bool = args.option(
        True, "Stop trials that are clearly worse than most at the same epoch."
    )
    timeout: float | None = args.option(
        None, "Start no new trial after this many seconds of trials."
    )
    at_once: int = args.option(1, "Trials that are proposed, and on Spark run, at the same time.")


@args.bundled
def tune(
    *,
    context: typer.Context,
    search: TuneOptions,
    split: args.SplitChoice,
    config: args.Config = None,
    source: Annotated[args.DataSource, args.without("item_info")],
    where: args.EngineChoice,
    run: args.Run,
) -> None:
    """Search for the settings of a model that are best on a validation part of DATA.

    Prints the trials and the best settings; -o writes the best settings to a file for the --config
    of `fit` and `compare`. Settings given as options (--dimensions 64 --epochs 40) or in --config
    are not searched. Finished trials are kept: the same command continues where it was stopped. The
    test part of the split is not used. Needs Optuna: pip install 'xorec[tune]'.
    """
    from xorec.core.files import write_text
    from xorec.selection.tuning.tuning import check
    from xorec.selection.tuning.tuning import tune as run_trials

    model, study = search.model, search.study or Path(f"{search.output or search.model}.study")
    fixed = settings_of(context, model, config)
    check(model, fixed, search.trials, search.metric)
    options = run.options()
    pairs = source.load(options)
    parts = split.parts(pairs, options)
    how: dict[str, Any] = {
        name: getattr(search, name) for name in ("trials", "metric", "prune", "timeout", "at_once")
    }
    go_on = "Run the same command again to go on."
    with (
        interrupts.interrupt_hint(lambda: go_on if study.exists() else ""),
        where.opened(options) as opened,
    ):
        found = run_trials(model, parts, study=study, fixed=fixed, **how, options=opened)
    text = settings_file(found)
    if search.output is not None:
        with args.told_of_new_folder(search.output, options.progress):
            write_text(search.output, text)
    if run.json:
        best, rows = found.best, [trial.row() for trial in in_order(found.trials)]
        result = {"trial": best.number, "value": best.value, "epochs": best.epochs}
        head = {"data": source.describe(pairs), "split": parts.describe(), "study": str(study)}
        about: dict[str, Any] = {"model": found.model, "metric": found.metric}
        about["best"] = {**result, "settings": found.settings}
        print_json({**head, **about, "rows": rows})
        return
    _print_trials(found)
    print_line(f"Split: {parts}.")
    print_line()
    print_line(text.rstrip())


def in_order(trials: list[Trial]) -> list[Trial]:
    """The best first; then the trials that were stopped, then those that failed."""
    places = {"complete": 0, "pruned": 1, "failed": 2}
    return sorted(trials, key=lambda t: (places[t.state], -(t.value or 0.0), t.number))


def _print_trials(found: Tuned) -> None:
    """The trials in 80 columns: the settings that moved share the last one."""
    heads, rows = ("trial", found.metric, "", "epochs", "s", "settings"), []
    for trial in in_order(found.trials):
        state = "" if trial.state == "complete" else trial.state
        value = "" if trial.value is None else f"{trial.value:.4f}"
        short = (
            f"{name}={value:.4g}" if isinstance(value, float) else f"{name}={value}"
            for name, value in trial.settings.items()
        )
        seconds = f"{trial.seconds:.1f}"
        rows.append((trial.number, value, state, trial.epochs, seconds, " ".join(short)))
    print_table(heads, rows, right=("trial", found.metric, "epochs", "s"))


def settings_file(found: Tuned) -> str:
    """The best settings as TOML, with a comment that says where they come from."""
    best, count = found.best, len(found.trials)
    at = f", epoch {best.epochs}" if best.epochs else ""
    head = f"# trial {best.number} of {count}: validation {found.metric} {best.value:.4f}{at}"
    return "\n".join([head, *_table(found.model, found.settings), ""])


def _table(name: str, settings: dict[str, Any]) -> list[str]:
    """A TOML table; a setting that is a table follows as [name.setting]; None is left out."""
    plain = {key: v for key, v in settings.items() if not isinstance(v, dict) and v is not None}
    lines = [f"[{name}]", *(f"{key} = {json.dumps(value)}" for key, value in plain.items())]
    for key, value in settings.items():
        if isinstance(value, dict):
            lines += ["", *_table(f"{name}.{key}", value)]
    return lines
