"""run.json: the plan of a run with the choices that were made, so that it can be run again."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xorec import __version__
from xorec.core.errors import DataError, OptionError
from xorec.core.files import replacing
from xorec.experiments.reproduce import rq4_imbalance, rq5_sensitivity
from xorec.experiments.reproduce.lab import Lab
from xorec.experiments.reproduce.plan import Choice, Plan, make_plan

FORMAT = 1


def choices(plan: Plan, labs: Sequence[Lab]) -> list[Choice]:
    """What was chosen on each data set, for each method of the questions asked."""
    names: list[str] = []
    names += plan.hashing if "rq1" in plan.questions else ()
    names += plan.continuous if "rq2" in plan.questions else ()
    names += (rq4_imbalance.OWN, *rq4_imbalance.RIVALS) if "rq4" in plan.questions else ()
    names += (rq5_sensitivity.METHOD,) if "rq5" in plan.questions else ()
    methods = dict.fromkeys(names)
    return [lab.choose(method) for lab in labs for method in methods if lab.chosen(method)]


def write_run_file(path: Path, plan: Plan, labs: Sequence[Lab]) -> None:
    """The plan, its choices, and the digests of the data; in one piece."""
    whole = plan.model_copy(update={"chosen": tuple(choices(plan, labs))})
    data = [lab.describe() for lab in labs]
    facts = {"format": FORMAT, "xorec": __version__, "plan": whole.model_dump(), "data": data}
    with replacing(path) as temporary:
        temporary.write_text(json.dumps(facts, indent=1) + "\n")


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


def check_data(before: Sequence[dict[str, Any]], labs: Sequence[Lab]) -> None:
    """Complain if the data of an earlier run are not the same any more."""
    for kept, lab in zip(before, labs, strict=True):
        now = lab.describe()["digest"]
        if kept["digest"] != now:
            raise DataError(
                f"{lab.source.path} is not the data of that run (its digest is {now}, then it was "
                f"{kept['digest']}): bring the old file back, or run without --from."
            )
