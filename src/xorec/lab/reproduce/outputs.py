"""What a run leaves: run.json and the report; and the same as one JSON object."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import platform
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from xorec import __version__
from xorec.core.errors import MissingExtraError
from xorec.core.files import replacing
from xorec.lab.reproduce.dataset_run import DatasetRun
from xorec.lab.reproduce.plan import Plan
from xorec.lab.reproduce.report.files import write_report
from xorec.lab.reproduce.report.rendering import Report
from xorec.lab.reproduce.run_file import choices, write_run_file
from xorec.lab.reproduce.sections import Section

TITLE = "The paper's experiments, reproduced by xorec"
_NEEDED = ("matplotlib", "optuna", "faiss")
_VERSIONS = ("numpy", "scipy", "numba", "polars", "optuna", "matplotlib", "faiss-cpu")


def check_installed_and_writable(out: Path) -> None:
    """Complain before the run, not after it: of what is not installed, of a place not to be."""
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
