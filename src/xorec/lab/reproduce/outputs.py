"""What a run leaves: run.json and the report; and the same as one JSON object."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xorec import __version__
from xorec.core.errors import DataError, MissingExtraError, OptionError
from xorec.core.files import replacing, write_text
from xorec.lab.reproduce.dataset_run import DatasetRun
from xorec.lab.reproduce.plan import Plan, Winner, lengths_of, make_plan
from xorec.lab.reproduce.question import question_class
from xorec.lab.reproduce.report import Report, write_report
from xorec.lab.reproduce.sections import Section

TITLE = "The paper's experiments, reproduced by xorec"
_NEEDED = ("matplotlib", "jinja2", "optuna", "faiss")
_VERSIONS = ("numpy", "scipy", "numba", "polars", "optuna", "matplotlib", "faiss-cpu")


def check_installed_and_writable(out: Path) -> None:
    """Complain before the run of libraries that are missing, and of a folder that is read-only."""
    missing = [name for name in _NEEDED if importlib.util.find_spec(name) is None]
    if missing:
        raise MissingExtraError(
            f"reproduce needs {', '.join(missing)}: pip install 'xorec[reproduce]'."
        )
    with replacing(out / ".writable") as temporary:
        temporary.touch()
    (out / ".writable").unlink()


def write_outputs(
    out: Path, plan: Plan, sections: Sequence[Section], datasets: Sequence[DatasetRun]
) -> list[Path]:
    """Everything into the folder `out`."""
    run = out / "run.json"
    write_run_file(run, plan, datasets)
    settings = [choice.model_dump(exclude={"model"}) for choice in choices(plan, datasets)]
    report = Report(TITLE, sections, run_metadata(plan, datasets), settings)
    return [run, *write_report(out, report)]


def run_metadata(plan: Plan, datasets: Sequence[DatasetRun]) -> dict[str, Any]:
    """What the page says of the run, besides the results."""
    protocol = [
        "All items are ranked for every user with test items; training items are left out.",
        "Settings of every method were chosen on the validation part (NDCG@20), with as many "
        "trials each, the first of them the method's defaults.",
        "Every method then learned from training and validation pairs together, once for each "
        "seed, and was tested once. Split and trials have the first seed.",
        "Equal scores rank by popularity in training, then by a hash of the item's id.",
    ]
    return {
        "protocol": protocol,
        "data": [dataset.describe() for dataset in datasets],
        "seeds": list(plan.seeds),
        "trials of every method": plan.trials,
        "bits": list(plan.bits),
        "dimensions": plan.dimensions,
        "quick (fewer trials, seeds and epochs)": "yes" if plan.quick else "no",
        "fixed settings": {name: table for name, table in plan.settings.items() if table},
        "run again": "xorec reproduce --from run.json",
        "versions": {
            "xorec": __version__,
            "python": platform.python_version(),
            **{name: _version(name) for name in _VERSIONS},
        },
    }


def _version(name: str) -> str:
    try:
        return importlib.metadata.version(name)
    except importlib.metadata.PackageNotFoundError:  # under another name, or not by pip
        return "unknown"


def outputs_json(sections: Sequence[Section], paths: Sequence[Path]) -> dict[str, Any]:
    """The tables and verdicts as one object of flat rows."""
    return {
        "sections": [
            {
                "question": one.key,
                "title": one.title,
                "tables": [{"name": t.name, "rows": [dict(r) for r in t.rows]} for t in one.tables],
                "claims": [vars(claim) for claim in one.claims],
            }
            for one in sections
        ],
        "files": [str(path) for path in paths],
    }


FORMAT = 1


def choices(plan: Plan, datasets: Sequence[DatasetRun]) -> list[Winner]:
    """What was chosen on each data set, for each method and length of the questions asked."""
    classes = [question_class(name) for name in sorted(plan.questions)]
    methods = dict.fromkeys(method for one in classes for method in one.methods(plan))
    found: list[Winner] = []
    for dataset in datasets:
        for method in methods:
            for bits in lengths_of(method, plan):
                choice = dataset.choose(method, bits) if dataset.is_chosen(method, bits) else None
                if choice is not None and choice not in found:
                    found.append(choice)
    return found


def write_run_file(path: Path, plan: Plan, datasets: Sequence[DatasetRun]) -> None:
    """The plan, its choices, and the digests of the data; in one piece."""
    whole = plan.model_copy(update={"chosen": tuple(choices(plan, datasets))})
    data = [dataset.describe() for dataset in datasets]
    kept = {"format": FORMAT, "xorec": __version__, "plan": whole.model_dump(), "data": data}
    write_text(path, json.dumps(kept, indent=1) + "\n")


def read_run_file(path: Path) -> tuple[Plan, list[dict[str, Any]]]:
    """The plan of an earlier run with its choices, and what its data were."""
    try:
        kept = json.loads(path.read_text())
    except OSError as error:
        raise OptionError(f"cannot read the run {path}: {error.strerror}.") from None
    except ValueError as error:
        raise OptionError(f"the run {path} is damaged: {error}.") from None
    if not isinstance(kept, dict) or kept.get("format") != FORMAT:
        raise OptionError(f"{path} is not a run.json of xorec reproduce (format {FORMAT}).")
    return make_plan(**kept["plan"]), kept["data"]


def check_same_data(before: Sequence[dict[str, Any]], datasets: Sequence[DatasetRun]) -> None:
    """Complain if the data of an earlier run are not the same any more."""
    for kept, dataset in zip(before, datasets, strict=True):
        now = dataset.describe()["digest"]
        if kept["digest"] != now:
            raise DataError(
                f"{dataset.source.path} is not the data of that run (its digest is {now}, then it "
                f"was {kept['digest']}): bring the old file back, or run without --from."
            )
