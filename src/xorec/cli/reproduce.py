"""xorec reproduce: the paper's experiments on any data, as tables, plots and one page."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

from xorec.cli import arguments as args
from xorec.cli.output import print_json, print_line, print_table
from xorec.cli.settings import read_config
from xorec.core import interrupts
from xorec.core.errors import OptionError

if TYPE_CHECKING:
    from xorec.lab.reproduce.plan import Plan


@dataclass(frozen=True, kw_only=True)
class Experiments:
    """Which experiments, on which data, how thoroughly."""

    question: str | None = args.argument(
        None, "rq1, rq2, rq3, rq4, rq5, several (comma-separated), or all."
    )
    data: list[str] | None = args.option(
        None, "A file, folder, database or name from `xorec data list`; can be repeated."
    )
    core: list[int] | None = args.option(
        None, "Keep users and items with at least this many pairs; once, or for each --data."
    )
    out: Path = args.option(Path("report"), "The folder of the report.")
    quick: bool = args.option(False, "Few trials, seeds and epochs: minutes, not hours.", "--quick")
    from_run: Path | None = args.option(
        None, "Repeat the run of a run.json, with its settings.", "--from"
    )
    seeds: int | None = args.option(None, "Final fits of every method, one for each seed.")
    trials: int | None = args.option(None, "Trials for the settings of every method.")
    bits: str | None = args.option(None, "Lengths of codes, comma-separated.")
    dimensions: int | None = args.option(None, "Dimensions of the models with float vectors.")
    hashing: str | None = args.option(None, "Methods of rq1, comma-separated.")
    continuous: str | None = args.option(None, "Methods of rq2, comma-separated.")
    grid_seeds: int | None = args.option(None, "Seeds for each grid point of rq5.")
    config: args.Config = None
    cache: Path | None = args.option(None, "Where finished parts are kept; OUT/cache by default.")

    def fields(self, seed: int) -> dict[str, Any]:
        """The settings of the plan that were given; those that were not are None."""
        parsers: dict[str, Callable[[Any], Any]] = {
            "seeds": lambda count: tuple(range(seed, seed + count)),
            "bits": lambda text: args.parse_counts(text, "--bits", "32,64"),
            "hashing": args.parse_names,
            "continuous": args.parse_names,
        }
        found = {name: getattr(self, name) for name in ("trials", "dimensions", "grid_seeds")}
        for name, parse in parsers.items():
            text = getattr(self, name)
            found[name] = None if text is None else parse(text)
        return {**found, "settings": read_config(self.config) or None}

    def sources(self, min_rating: float | None, columns: dict[str, Any]) -> list[dict[str, Any]]:
        """The data sets of the plan."""
        paths, cores = self.data or ["debian"], self.core or [0]
        if len(cores) not in (1, len(paths)):
            raise OptionError(f"--core is given {len(cores)} times: once, or once for each --data.")
        cores = cores * (len(paths) if len(cores) == 1 else 1)
        return [
            {"path": path, "core": core, "min_rating": min_rating, "columns": columns}
            for path, core in zip(paths, cores, strict=True)
        ]


@args.bundled
def reproduce(
    *,
    experiments: Experiments,
    columns: Annotated[args.ColumnOptions, args.without("time_column")],
    min_rating: args.MinRating = None,
    seed: int = args.option(0, "The first seed; also the seed of split and trials."),
    where: args.EngineChoice,
    run: Annotated[args.Run, args.without("seed")],
) -> None:
    """Run the paper's experiments and write a report: HTML, CSV, PNG, SVG.

    rq1 codes, rq2 vectors, rq3 speed, rq4 imbalanced categories, rq5 lambda and gamma. Settings of
    every method are chosen on a validation part, with the same number of trials; the test part is
    used once for each seed. Finished parts are kept: the same command continues where it stopped.
    Needs pip install 'xorec[reproduce]'.
    """
    from xorec.lab.reproduce import outputs
    from xorec.lab.reproduce.cache import Cache
    from xorec.lab.reproduce.question import open_datasets
    from xorec.lab.reproduce.question import reproduce as run_plan
    from xorec.lab.reproduce.terminal import print_sections

    named = {name: str(value) for name, value in columns.given().items()}
    fields = experiments.fields(seed)
    before, out = None, experiments.out
    if experiments.from_run is None:
        plan = _plan(experiments, seed, experiments.sources(min_rating, named), fields)
    else:
        given = {name: getattr(experiments, name) for name in ("question", "data", "core", "quick")}
        _refuse_with_from({**given, "seed": seed, "min_rating": min_rating, **named, **fields})
        plan, before = outputs.read_run_file(experiments.from_run)
    outputs.check_installed_and_writable(out)
    finished = Cache(experiments.cache or out / "cache")
    with (
        where.opened(replace(run.options(), seed=plan.seed)) as options,
        interrupts.interrupt_hint(lambda: "Run the same command again to go on."),
    ):
        datasets = open_datasets(plan, finished, options)
        if before is not None:  # the data of the earlier run
            outputs.check_same_data(before, datasets)
        sections = run_plan(plan, datasets, finished, options)
    paths = outputs.write_outputs(out, plan, sections, datasets)
    if run.json:
        print_json(outputs.outputs_json(sections, paths))
        return
    print_sections(sections, print_table, print_line)
    print_line()
    print_line(f"{len(paths)} files; the page: {out / 'report.html'}")


def _plan(
    experiments: Experiments, seed: int, sources: list[dict[str, Any]], fields: dict[str, Any]
) -> Plan:
    from xorec.lab.reproduce.plan import QUESTIONS, QUICK, make_plan

    question = experiments.question
    if question is None:
        raise OptionError(f"say what to reproduce: {', '.join(QUESTIONS)} or all.")
    asked = tuple(QUESTIONS) if question == "all" else args.parse_names(question)
    base: dict[str, Any] = dict(QUICK) if experiments.quick else {}
    if seed and fields["seeds"] is None:
        base["seeds"] = tuple(seed + one for one in base.get("seeds", (0, 1, 2)))
    given = {name: value for name, value in fields.items() if value is not None}
    return make_plan(**{**base, "questions": asked, "data": sources, **given})


def _refuse_with_from(given: dict[str, Any]) -> None:
    """A run that is done again is done as it was."""
    names = {"settings": "--config", "question": "QUESTION"}
    extra = [
        names.get(name, f"--{name.replace('_', '-')}") for name, value in given.items() if value
    ]
    if extra:
        raise OptionError(
            f"--from runs an earlier run again as it was: leave {', '.join(extra)} out."
        )
