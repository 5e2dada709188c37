"""RQ5: how much do lambda and gamma matter?

The settings that validation chose for DSIML, with another lambda or gamma in both of its stages:
the vectors (SIML) and the codes. Learned from the training part and judged on the validation part,
so that no value is picked on the test part, which is not touched.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from xorec.evaluation.protocol import evaluate
from xorec.lab.reproduce.cache import Result
from xorec.lab.reproduce.comparison import choice_step
from xorec.lab.reproduce.dataset_run import DatasetRun, over_seeds
from xorec.lab.reproduce.plan import Plan
from xorec.lab.reproduce.question import DatasetQuestion, Stage, Step, fit_cost
from xorec.lab.reproduce.sections import Claim, Column, Section, Table, Verdict
from xorec.models import model_class
from xorec.models.pretraining import pretrain
from xorec.plots.figures import Figure, Line, Panel
from xorec.representations.vectors import Vectors

METHOD = "dsiml"
GRIDS = {"lambda_": "lambda", "gamma": "gamma"}
STAGES = {"codes": "DSIML", "vectors": "SIML, its start"}
NEAR = 0.95
"""A value is as good as the best from this share of it on."""


class Sensitivity(DatasetQuestion):
    """One grid for each of the two settings, on one data set."""

    @classmethod
    def methods(cls, plan: Plan) -> Sequence[str]:
        return (METHOD,)

    @property
    def seeds(self) -> tuple[int, ...]:
        return self.dataset.plan.seeds[: self.dataset.plan.grid_seeds]

    @property
    def points(self) -> list[tuple[str, float]]:
        """(setting, value), the grid of lambda first."""
        plan = self.dataset.plan
        grids = {"lambda_": plan.lambdas, "gamma": plan.gammas}
        return [(setting, value) for setting in GRIDS for value in grids[setting]]

    def steps(self) -> Iterator[Step]:
        """The choice of DSIML's settings, then a fit for each point and seed."""
        dataset = self.dataset
        cost = fit_cost(METHOD, dataset.train.n_pairs)
        yield choice_step(dataset, METHOD, dataset.plan.bits[0], METHOD, cost)
        for seed in self.seeds:
            for setting, value in self.points:
                yield Step(
                    (dataset.name, "rq5", setting, value, seed),
                    f"{dataset.name}: {GRIDS[setting]} = {value:g}, seed {seed}",
                    2 * cost,
                    partial(self._is_done, setting, value, seed),
                    partial(self._run_point, setting, value, seed),
                    Stage.FIT,
                )

    def point(self, setting: str, value: float, seed: int) -> Result:
        """What the vectors and the codes reach with this value."""
        key = self._key(setting, value, seed)
        return self.dataset.cache.get("grid", key, lambda: self._fit_and_evaluate(key))

    def _is_done(self, setting: str, value: float, seed: int) -> bool:
        ready = self.dataset.is_chosen(METHOD)
        return ready and self.dataset.cache.has("grid", self._key(setting, value, seed))

    def _run_point(self, setting: str, value: float, seed: int) -> str:
        values, metric = self.point(setting, value, seed).values, self.dataset.main_metric
        return f"validation {metric} {values['codes'][metric]:.4f}"

    def _key(self, setting: str, value: float, seed: int) -> dict[str, Any]:
        settings = dict(self.dataset.choose(METHOD).settings)
        start = settings["start"]
        if setting in start:
            settings["start"] = {**start, setting: value}
        return {
            "data": [self.dataset.train.digest(), self.dataset.validation.digest()],
            "settings": {**settings, setting: value},
            "seed": seed,
            "ks": list(self.dataset.plan.ks),
        }

    def _fit_and_evaluate(self, key: dict[str, Any]) -> Result:
        dataset = self.dataset
        options = replace(dataset.options, seed=key["seed"])
        model = model_class(METHOD)(**key["settings"])
        begun = pretrain(model.config.start, dataset.train, None, options)
        codes = model.fit(dataset.train, None, options).representation_
        stages = {"codes": codes, "vectors": Vectors(begun.user_vectors, begun.item_vectors)}
        values = {}
        for stage, learned in stages.items():
            result = evaluate(
                learned,
                dataset.train,
                dataset.validation,
                ks=dataset.plan.ks,
                options=dataset.options,
            )
            names = [f"{m}@{k}" for m in ("ndcg", "hr", "user_hr") for k in dataset.plan.ks]
            values[stage] = {name: result.metrics[name] for name in names}
        return Result(values)

    def rows(self) -> list[dict[str, Any]]:
        """A row for each stage and point: means and spreads over seeds."""
        rows = []
        for stage, label in STAGES.items():
            for setting, value in self.points:
                tests = [self.point(setting, value, seed).values[stage] for seed in self.seeds]
                row = {"data": self.dataset.name, "stage": label, "setting": GRIDS[setting]}
                rows.append({**row, "value": value, **over_seeds(tests)})
        return rows

    def section(self) -> Section:
        """The two grids, both metrics."""
        dataset, rows = self.dataset, self.rows()
        k = dataset.plan.ks[0]
        metrics = (f"ndcg@{k}", f"hr@{k}")
        columns = [
            Column("stage", "stage", "text"),
            Column("setting", "setting", "text"),
            Column("value", "value", "text"),
            *(Column(m, m.upper(), spread=f"{m}_sd") for m in metrics),
            Column(f"user_hr@{k}", f"users, HR@{k}"),
        ]
        chosen = dataset.choose(METHOD).settings
        start = {"lambda_": float("nan"), "gamma": float("nan"), **chosen["start"]}
        return Section(
            "rq5",
            f"RQ5. Lambda and gamma: {dataset.name}",
            "How much do the weight of the scale-invariant part and the margin matter?",
            [
                "Both stages have the value: the vectors and the codes made of them. Other "
                "settings are those that validation chose for DSIML at "
                f"{dataset.plan.bits[0]} bits (chosen: lambda {chosen['lambda_']:g}, gamma "
                f"{chosen['gamma']:g}; its start {start['lambda_']:g}, {start['gamma']:g}). "
                "Measured on the validation part, so that nothing can be picked from it."
            ],
            [Table(f"rq5-{dataset.name}", f"Lambda and gamma on {dataset.name}", columns, rows)],
            [_figure(dataset.name, rows, metrics)],
            [_claim(dataset, rows, setting) for setting in GRIDS],
        )


def _of(rows: list[dict[str, Any]], stage: str, setting: str) -> list[dict[str, Any]]:
    return [r for r in rows if r["stage"] == STAGES[stage] and r["setting"] == GRIDS[setting]]


def _figure(name: str, rows: list[dict[str, Any]], metrics: tuple[str, ...]) -> Figure:
    panels = []
    for setting, symbol in GRIDS.items():
        for metric in metrics:
            lines, name_of_metric = [], metric.upper()
            for stage, label in STAGES.items():
                points = _of(rows, stage, setting)
                errors = [row[f"{metric}_sd"] or 0.0 for row in points]
                x, y = ([row[key] for row in points] for key in ("value", metric))
                lines.append(Line(label, x, y, errors, highlight=stage == "codes"))
            title = f"{name_of_metric} against {symbol}"
            log_x = setting == "lambda_"
            panels.append(Panel(title, symbol, name_of_metric, lines, log_x=log_x))
    return Figure(f"rq5-{name}", f"Lambda and gamma on {name}", panels)


def _claim(dataset: DatasetRun, rows: list[dict[str, Any]], setting: str) -> Claim:
    """The paper's reading: accuracy rises to a value near 1 and is flat or falls after it."""
    metric = dataset.main_metric
    points = _of(rows, "codes", setting)
    best = max(points, key=lambda row: float(row[metric]))
    near = min(points, key=lambda row: abs(np.log(row["value"])))
    share = near[metric] / best[metric] if best[metric] else 0.0
    worst = min(row[metric] for row in points) / best[metric] if best[metric] else 0.0
    verdict: Verdict = (
        "holds" if near is best else "holds in part" if share >= NEAR else "does not hold"
    )
    return Claim(
        f"The best {GRIDS[setting]} is near 1 ({dataset.name})",
        verdict,
        f"best at {best['value']:g} ({metric.upper()} {best[metric]:.4f}); at {near['value']:g} "
        f"{share:.1%} of that, at worst {worst:.1%}.",
    )


QUESTION = Sensitivity
