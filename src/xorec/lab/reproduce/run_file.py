"""run.json: the plan of a run with the choices that were made, so that it can be run again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xorec import __version__
from xorec.core.errors import DataError, OptionError
from xorec.core.files import write_text
from xorec.lab.reproduce.dataset_run import DatasetRun
from xorec.lab.reproduce.methods import lengths_of
from xorec.lab.reproduce.plan import Choice, Plan, make_plan
from xorec.lab.reproduce.question import question_class

FORMAT = 1


def choices(plan: Plan, datasets: Sequence[DatasetRun]) -> list[Choice]:
    """What was chosen on each data set, for each method and length of the questions asked."""
    classes = [question_class(name) for name in sorted(plan.questions)]
    methods = dict.fromkeys(method for one in classes for method in one.methods(plan))
    found: list[Choice] = []
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
