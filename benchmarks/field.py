"""The field, tuned: every model with the same number of trials on the same validation part.

    python benchmarks/field.py --data ml-1m --models bpr,als,siml --trials 20 --out field/ml-1m

Each model is tuned (`xorec tune`; NDCG@20 on a tenth of the training pairs), learns from all
training pairs with the best settings and number of epochs, and is tested once. A given split is
kept; else a fifth of the pairs is the test part. Trials, rows and the values of every user stay in
--out, so a run that was stopped goes on and what is done is not done again; processes with other
--models may work in the same folder at the same time. --fixed: settings that do not move, a table
for each model; --last: settings that only the last fit has (EASE over all items, say). p: the
paired test of NDCG@10 against --against. HR@k: users with a hit / hits of all test items.
"""

from __future__ import annotations

import argparse
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np

from xorec.cli.arguments import read_config
from xorec.core.files import replacing, save_tensors
from xorec.core.options import RunOptions
from xorec.core.progress import SILENT, TerminalProgress
from xorec.data.datasets.catalog import load_data
from xorec.data.prepare import prepare
from xorec.data.split import Method, Split, split
from xorec.evaluation.result import Evaluation
from xorec.evaluation.significance import compare
from xorec.experiments.comparison import measure
from xorec.experiments.sizes import sizes_of
from xorec.experiments.tuning.tuning import tune
from xorec.models import model_class
from xorec.representations import representation_class
from xorec.representations.base import Representation

MAIN = "ndcg@10"
KEPT = ("ndcg", "recall", "hits", "user_hr")


class Field:
    """One data set, its parts, and a folder of what has been measured on them."""

    def __init__(
        self, parts: Split, folder: Path, last: dict[str, dict[str, Any]], options: RunOptions
    ) -> None:
        assert parts.validation is not None
        self.parts, self.folder, self.last, self.options = parts, folder, last, options
        self.all = parts.train.union(parts.validation)
        self._about = [self.all.digest(), parts.test.digest(), options.seed]

    def row(self, name: str, fixed: dict[str, Any], trials: int, timeout: float) -> dict[str, Any]:
        """Tune, fit and test one model, as far as that is not done yet."""
        facts, settings = self.tuned(name, name, fixed, trials, timeout)
        return {**self.tested(name, {**settings, **self.last.get(name, {})}), **facts}

    def tested(self, name: str, settings: dict[str, Any]) -> dict[str, Any]:
        """The model `name` with these settings, learned from all training pairs; tested once."""
        path = self._path(name, settings)
        if not path.exists():
            model = model_class(name)(**settings)
            one = measure(
                lambda: model.fit(self.all, None, self.options),
                self.all,
                self.parts.test,
                options=self.options,
            )
            self._keep(path.with_suffix(".npz"), one.evaluation)
            learned = one.model.representation_
            save_tensors(path.with_suffix(".tensors"), learned.tensors(), {"kind": learned.kind})
            facts = {**one.row(), **sizes_of(learned).row(), "settings": settings}
            with replacing(path) as temporary:
                temporary.write_text(json.dumps(facts))
        row: dict[str, Any] = json.loads(path.read_text())
        return row

    def tuned(
        self, label: str, name: str, fixed: dict[str, Any], trials: int, timeout: float
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """(what the trials of the model `name` were like, the settings for the last fit)."""
        if not model_class(name).space:
            settings = model_class(name)(**fixed).config.model_dump()
            return {"trials": 0, "seconds_trials": 0.0}, settings
        study = self.folder / f"{label}.study"
        how: dict[str, Any] = {"study": study, "fixed": fixed, "timeout": timeout}
        found = tune(name, self.parts, trials=trials, **how, options=self.options)
        states = [trial.state for trial in found.trials]
        return {
            "trials": len(states),
            "pruned": states.count("pruned"),
            "failed": states.count("failed"),
            "seconds_trials": found.seconds,
            "validation_ndcg@20": found.best.value,
            "default_ndcg@20": found.trials[0].value,
            "moved": found.best.settings,
        }, found.best.refit

    def representation(self, row: dict[str, Any]) -> Representation:
        """What the model of a row has learned, from the folder."""
        from safetensors import safe_open

        path = self._path(row["model"], row["settings"]).with_suffix(".tensors")
        with safe_open(path, framework="numpy") as kept:
            kind = kept.metadata()["kind"]
            tensors = {name: kept.get_tensor(name) for name in kept.keys()}  # noqa: SIM118
        found: Representation = representation_class(kind).from_tensors(tensors)
        return found

    def evaluation(self, row: dict[str, Any]) -> Evaluation:
        """The values of every user, from the folder."""
        with np.load(self._path(row["model"], row["settings"]).with_suffix(".npz")) as kept:
            arrays = dict(kept)
        users, counts = arrays.pop("users"), arrays.pop("test_counts")
        return Evaluation(users, counts, arrays, {k: v for k, v in row.items() if "@" in k})

    def _keep(self, path: Path, result: Evaluation) -> None:
        values: dict[str, Any] = {
            name: array
            for name, array in result.per_user.items()
            if name.partition("@")[0] in KEPT and not name.endswith("_expected")
        }
        with replacing(path) as temporary, temporary.open("wb") as file:
            np.savez_compressed(file, users=result.users, test_counts=result.test_counts, **values)

    def _path(self, name: str, settings: dict[str, Any]) -> Path:
        text = json.dumps([self._about, name, settings], sort_keys=True)
        key = hashlib.blake2b(text.encode(), digest_size=8).hexdigest()
        return self.folder / f"{name}-{key}.json"


def with_significance(field: Field, rows: list[dict[str, Any]], against: str) -> None:
    """Add the interval of the main metric, and the p-value against one model."""
    results = {row["model"]: field.evaluation(row) for row in rows}
    for row in rows:
        own = results[row["model"]]
        interval = own.interval(MAIN)
        row |= {f"{MAIN}_low": interval.low, f"{MAIN}_high": interval.high}
        if against in results and row["model"] != against:
            row["p"] = compare(own, results[against], MAIN).p_value


def print_table(rows: list[dict[str, Any]], against: str) -> None:
    """Markdown."""
    heads = ["model", "NDCG@10 [95 %]", "HR@10", "HR@50", "HR@100", "NDCG@20", "Recall@20"]
    heads += ["last fit, s", "trials, s", "bytes", f"p against {against}"]
    cells = [
        [
            row["model"],
            *accuracy_cells(row),
            f"{row['ndcg@20']:.4f}",
            f"{row['recall@20']:.4f}",
            *cost_cells(row),
            f"{row['bytes']:,}",
            p_cell(row),
        ]
        for row in rows
    ]
    print_markdown(heads, cells)


def accuracy_cells(row: dict[str, Any]) -> list[str]:
    """The main metric with its interval; HR@10, 50, 100: users with a hit / hits of all items."""
    rates = [f"{row[f'user_hr@{k}']:.4f} / {row[f'hr@{k}']:.4f}" for k in (10, 50, 100)]
    return [f"{row[MAIN]:.4f} [{row[f'{MAIN}_low']:.4f}, {row[f'{MAIN}_high']:.4f}]", *rates]


def cost_cells(row: dict[str, Any]) -> list[str]:
    """Seconds of the last fit, and of the trials."""
    trials = f"{row['seconds_trials']:.0f} ({row['trials']})"
    return [f"{row['seconds_fit']:.1f}", trials]


def p_cell(row: dict[str, Any]) -> str:
    """The p-value, where there is one."""
    p = row.get("p")
    return "" if p is None else "< 0.001" if p < 0.001 else f"{p:.3f}"


def print_markdown(heads: list[str], rows: list[list[str]]) -> None:
    """A table."""
    print("| " + " | ".join(heads) + " |")
    print("|---" * len(heads) + "|")
    for row in rows:
        print("| " + " | ".join(row) + " |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--data", required=True)
    parser.add_argument("--models", required=True, help="names, with commas")
    parser.add_argument("--trials", type=int, default=20)
    parser.add_argument("--out", type=Path, required=True, help="a folder for this data set")
    parser.add_argument("--fixed", type=Path, help="TOML or JSON, a table for each model")
    parser.add_argument("--last", type=Path, help="the same, for the last fit alone")
    parser.add_argument("--timeout-minutes", type=float, default=float("inf"), help="of a model")
    parser.add_argument("--core", type=int, default=0, help="keep users and items with so many")
    parser.add_argument("--against", default="siml")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--threads", type=int)
    parser.add_argument("--quiet", action="store_true")
    parser.add_argument("--json", action="store_true")
    arguments = parser.parse_args()
    progress = SILENT if arguments.quiet else TerminalProgress()
    options = RunOptions(seed=arguments.seed, threads=arguments.threads, progress=progress)
    fixed = read_config(arguments.fixed)
    data = prepare(load_data(arguments.data), core=arguments.core)
    method: Method = "random" if data.parts is None else "given"
    parts = split(data, method=method, test=0.2, validation=0.1, seed=arguments.seed)
    field = Field(parts, arguments.out, read_config(arguments.last), options)
    limit = arguments.timeout_minutes * 60
    rows = []
    for name in arguments.models.split(","):
        rows.append(field.row(name, fixed.get(name, {}), arguments.trials, limit))
        options.progress.note(f"{name}: {MAIN} {rows[-1][MAIN]:.4f}")
    with_significance(field, rows, arguments.against)
    if arguments.json:
        print(json.dumps({"data": arguments.data, "split": parts.describe(), "rows": rows}))
        return
    print_table(rows, arguments.against)


if __name__ == "__main__":
    main()
