"""RQ5: how much do lambda and gamma matter?

The settings that validation chose for DSIML, with another lambda or gamma in both of its stages:
the vectors (SIML) and the codes. Learned from the training part and judged on the validation part,
so that nobody can pick from it: the test part is not touched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from xorec import __version__
from xorec.evaluation.protocol import evaluate
from xorec.experiments.reproduce.cache import Part
from xorec.experiments.reproduce.lab import Lab
from xorec.experiments.reproduce.sections import (
    Claim,
    Column,
    Figure,
    Line,
    Panel,
    Section,
    Table,
    Verdict,
)
from xorec.experiments.reproduce.steps import Step, fit_cost
from xorec.models import model_class
from xorec.models.pretraining import pretrain
from xorec.representations.vectors import Vectors

METHOD = "dsiml"
GRIDS = {"lambda_": "lambda", "gamma": "gamma"}
STAGES = {"codes": "DSIML", "vectors": "SIML, its start"}
NEAR = 0.95
"""A value is as good as the best from this share of it on."""


@dataclass(frozen=True, eq=False)
class Sensitivity:
    """One grid for each of the two settings, on one data set."""

    lab: Lab

    @property
    def seeds(self) -> tuple[int, ...]:
        return self.lab.plan.seeds[: self.lab.plan.grid_seeds]

    @property
    def points(self) -> list[tuple[str, float]]:
        """(setting, value), the grid of lambda first."""
        plan = self.lab.plan
        grids = {"lambda_": plan.lambdas, "gamma": plan.gammas}
        return [(setting, value) for setting in GRIDS for value in grids[setting]]

    def steps(self) -> Iterator[Step]:
        """The choice of DSIML's settings, then a fit for each point and seed."""
        lab = self.lab
        cost = fit_cost(METHOD, lab.train.n_pairs)
        yield Step(
            (lab.name, METHOD),
            f"{lab.name}: choose {METHOD}",
            cost * lab.plan.trials,
            partial(lab.chosen, METHOD),
            lambda: f"validation ndcg@20 {lab.choose(METHOD).validation or 0.0:.4f}",
        )
        for seed in self.seeds:
            for setting, value in self.points:
                yield Step(
                    (lab.name, "rq5", setting, value, seed),
                    f"{lab.name}: {GRIDS[setting]} = {value:g}, seed {seed}",
                    2 * cost,
                    partial(self._done, setting, value, seed),
                    partial(self._say, setting, value, seed),
                )

    def point(self, setting: str, value: float, seed: int) -> Part:
        """What the vectors and the codes reach with this value."""
        about = self._about(setting, value, seed)
        return self.lab.cache.get("grid", about, lambda: self._measure(about))

    def _done(self, setting: str, value: float, seed: int) -> bool:
        ready = self.lab.chosen(METHOD)
        return ready and self.lab.cache.has("grid", self._about(setting, value, seed))

    def _say(self, setting: str, value: float, seed: int) -> str:
        facts, k = self.point(setting, value, seed).facts, self.lab.plan.ks[0]
        return f"validation ndcg@{k} {facts['codes'][f'ndcg@{k}']:.4f}"

    def _about(self, setting: str, value: float, seed: int) -> dict[str, Any]:
        settings = dict(self.lab.choose(METHOD).settings)
        start = settings["start"]
        if setting in start:
            settings["start"] = {**start, setting: value}
        return {
            "xorec": __version__,
            "data": [self.lab.train.digest(), self.lab.validation.digest()],
            "settings": {**settings, setting: value},
            "seed": seed,
            "ks": list(self.lab.plan.ks),
        }

    def _measure(self, about: dict[str, Any]) -> Part:
        lab = self.lab
        options = replace(lab.options, seed=about["seed"])
        model = model_class(METHOD)(**about["settings"])
        begun = pretrain(model.config.start, lab.train, None, options)
        codes = model.fit(lab.train, None, options).representation_
        stages = {"codes": codes, "vectors": Vectors(begun.user_vectors, begun.item_vectors)}
        facts = {}
        for stage, learned in stages.items():
            result = evaluate(
                learned, lab.train, lab.validation, ks=lab.plan.ks, options=lab.options
            )
            names = [f"{m}@{k}" for m in ("ndcg", "hr", "user_hr") for k in lab.plan.ks]
            facts[stage] = {name: result.metrics[name] for name in names}
        return Part(facts)

    def rows(self) -> list[dict[str, Any]]:
        """A row for each stage and point: means and spreads over seeds."""
        rows = []
        for stage, label in STAGES.items():
            for setting, value in self.points:
                tests = [self.point(setting, value, seed) for seed in self.seeds]
                row: dict[str, Any] = {"data": self.lab.name, "stage": label}
                row |= {"setting": GRIDS[setting], "value": value}
                for metric in tests[0].facts[stage]:
                    values = [test.facts[stage][metric] for test in tests]
                    row[metric] = float(np.mean(values))
                    row[f"{metric}_sd"] = float(np.std(values, ddof=1)) if len(values) > 1 else None
                rows.append(row)
        return rows


def section(found: Sensitivity) -> Section:
    """The two grids, both metrics."""
    lab, rows = found.lab, found.rows()
    k = lab.plan.ks[0]
    metrics = (f"ndcg@{k}", f"hr@{k}")
    columns = [
        Column("stage", "stage", "text"),
        Column("setting", "setting", "text"),
        Column("value", "value", "text"),
        *(Column(m, m.upper(), spread=f"{m}_sd") for m in metrics),
        Column(f"user_hr@{k}", f"users, HR@{k}"),
    ]
    start = lab.choose(METHOD).settings["start"]
    return Section(
        "rq5",
        f"RQ5. Lambda and gamma: {lab.name}",
        "How much do the weight of the scale-invariant part and the margin matter?",
        [
            "Both stages have the value: the vectors and the codes made of them. Other settings "
            "are those that validation chose for DSIML at "
            f"{lab.plan.bits[0]} bits (chosen: lambda {lab.choose(METHOD).settings['lambda_']:g}, "
            f"gamma {lab.choose(METHOD).settings['gamma']:g}; its start "
            f"{start.get('lambda_', float('nan')):g}, {start.get('gamma', float('nan')):g}). "
            "Measured on the validation part, so that nothing can be picked from it."
        ],
        [Table(f"rq5-{lab.name}", f"Lambda and gamma on {lab.name}", columns, rows)],
        [_figure(found, rows, metrics)],
        [_claim(found, rows, setting) for setting in GRIDS],
    )


def _of(rows: list[dict[str, Any]], stage: str, setting: str) -> list[dict[str, Any]]:
    return [r for r in rows if r["stage"] == STAGES[stage] and r["setting"] == GRIDS[setting]]


def _figure(found: Sensitivity, rows: list[dict[str, Any]], metrics: tuple[str, ...]) -> Figure:
    panels = []
    for setting, shown in GRIDS.items():
        for metric in metrics:
            lines = []
            for stage, label in STAGES.items():
                own = _of(rows, stage, setting)
                errors = [row[f"{metric}_sd"] or 0.0 for row in own]
                values = [row[metric] for row in own]
                x = [row["value"] for row in own]
                lines.append(Line(label, x, values, errors, own=stage == "codes"))
            panels.append(
                Panel(
                    f"{metric.upper()} against {shown}",
                    shown,
                    metric.upper(),
                    lines,
                    log_x=setting == "lambda_",
                )
            )
    name = found.lab.name
    return Figure(f"rq5-{name}", f"Lambda and gamma on {name}", panels)


def _claim(found: Sensitivity, rows: list[dict[str, Any]], setting: str) -> Claim:
    """The paper's reading: accuracy rises to a value near 1 and is flat or falls after it."""
    metric = f"ndcg@{found.lab.plan.ks[0]}"
    own = _of(rows, "codes", setting)
    best = max(own, key=lambda row: float(row[metric]))
    near = min(own, key=lambda row: abs(np.log(row["value"])))
    share = near[metric] / best[metric] if best[metric] else 0.0
    worst = min(row[metric] for row in own) / best[metric] if best[metric] else 0.0
    verdict: Verdict = (
        "holds" if near is best else "holds in part" if share >= NEAR else "does not hold"
    )
    return Claim(
        f"The best {GRIDS[setting]} is near 1 ({found.lab.name})",
        verdict,
        f"best at {best['value']:g} ({metric.upper()} {best[metric]:.4f}); at {near['value']:g} "
        f"{share:.1%} of that, at worst {worst:.1%}.",
    )
