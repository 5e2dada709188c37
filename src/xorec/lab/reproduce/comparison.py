"""A comparison of accuracy: several methods on one data set, all seeds; what rq1 and rq2 share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from xorec.evaluation.significance import compare
from xorec.lab.reproduce.cache import Result
from xorec.lab.reproduce.dataset_run import DatasetRun, evaluation_of, over_seeds
from xorec.lab.reproduce.paper import hit_rate
from xorec.lab.reproduce.plan import Plan, label_of, lengths_of, method_of
from xorec.lab.reproduce.question import DatasetQuestion, Stage, Step, fit_cost
from xorec.lab.reproduce.sections import Claim, Column, Table, Verdict, counts
from xorec.plots.figures import Figure, Line, Panel

RATES = (10, 50, 100)
"""The cut-offs of the paper's table of HR."""


@dataclass(frozen=True, eq=False)
class MethodResult:
    """One row of a comparison: a method (at one length of codes), its tests, one for each seed."""

    method: str
    label: str
    bits: int | None
    tests: Sequence[Result]

    @cached_property
    def figures(self) -> dict[str, Any]:
        """Means and deviations over seeds."""
        return over_seeds([test.values["metrics"] for test in self.tests])

    def mean(self, metric: str) -> float:
        """Over seeds."""
        return float(self.figures[metric])


@dataclass(frozen=True, eq=False)
class Comparison:
    """methods on one data set. lengths: of codes; none for vectors. proposed: the methods that the
    paper proposes. key: of the question, which begins the names of tables and figures."""

    dataset: DatasetRun
    key: str
    methods: Sequence[str]
    proposed: Sequence[str]
    lengths: tuple[int, ...] = ()
    _p: dict[tuple[str, str], float] = field(default_factory=dict)

    def steps(self) -> Iterator[Step]:
        """A choice and then the tests, for each method and length."""
        dataset = self.dataset
        for method in self.methods:
            cost = fit_cost(method_of(method, dataset.plan)[0], dataset.all_train.n_pairs)
            for bits in self._lengths_of(method):
                label = label_of(method, bits, self.lengths)
                yield choice_step(dataset, method, bits, label, cost)
                for seed in self._seeds:
                    yield Step(
                        (dataset.name, method, bits, seed),
                        f"{dataset.name}: test {label}, seed {seed}",
                        cost,
                        partial(dataset.is_tested, method, seed, bits),
                        partial(self._test, method, seed, bits),
                        Stage.FIT,
                    )

    @property
    def _seeds(self) -> tuple[int, ...]:
        return self.dataset.plan.seeds

    def _test(self, method: str, seed: int, bits: int | None) -> str:
        metric = self.dataset.main_metric
        test = self.dataset.test(method, seed, bits)
        return f"{metric} {test.values['metrics'][metric]:.4f}"

    def _lengths_of(self, method: str) -> tuple[int | None, ...]:
        """The lengths at which a method is tested; one that has none is tested once."""
        return lengths_of(method, self.dataset.plan) if self.lengths else (None,)

    @cached_property
    def results(self) -> list[MethodResult]:
        """All rows; tests that are missing are made."""
        found: dict[str, MethodResult] = {}
        for length in self.lengths or (None,):
            for method in self.methods:
                bits = length if length in self._lengths_of(method) else None
                label = label_of(method, bits, self.lengths)
                if label not in found:
                    tests = [self.dataset.test(method, seed, bits) for seed in self._seeds]
                    found[label] = MethodResult(method, label, bits, tests)
        return list(found.values())

    def result(self, method: str, bits: int | None = None) -> MethodResult:
        """The row of a method at a length."""
        return next(one for one in self.at(bits) if one.method == method)

    def at(self, bits: int | None) -> list[MethodResult]:
        """The rows of one length, those without a length too."""
        return [one for one in self.results if one.bits in (bits, None)]

    def p_value(self, a: MethodResult, b: MethodResult) -> float:
        """The paired test of the main metric, values of each user averaged over seeds."""
        key = a.label, b.label
        if key not in self._p:
            pair = evaluation_of(a.tests), evaluation_of(b.tests)
            self._p[key] = compare(*pair, "ndcg").p_value
        return self._p[key]

    def _p_of(self, one: MethodResult) -> float | None:
        """Against the first proposed method at the same length; None of itself, or without it."""
        if self.proposed[0] not in self.methods:
            return None
        other = self.result(self.proposed[0], one.bits or self.dataset.plan.bits[0])
        return None if other is one else self.p_value(one, other)

    def rows(self) -> list[dict[str, Any]]:
        """A flat row for each method and length: means and deviations over seeds, the paper's
        figures, sizes."""
        rows = []
        for one in self.results:
            row: dict[str, Any] = {"data": self.dataset.name, "method": one.label}
            row |= {} if one.bits is None else {"bits": one.bits}
            path, seconds = self.dataset.source.path, [test.values["seconds"] for test in one.tests]
            row |= one.figures | {f"paper_hr@{k}": hit_rate(path, one.method, k) for k in RATES}
            row |= {"p": self._p_of(one), **one.tests[0].values["sizes"]}
            rows.append({**row, "seconds_fit": float(np.median(seconds))})
        return rows

    def tables(self) -> list[Table]:
        """HR@10, 50, 100 in both readings, with the paper's; and NDCG at every cut-off, with
        what a row of codes truly takes."""
        rows, name, plan = self.rows(), self.dataset.name, self.dataset.plan
        ks = [k for k in RATES if k in plan.ks]
        rates: list[Column] = []
        for k in ks:
            rates.append(Column(f"hr@{k}", f"HR@{k}", spread=f"hr@{k}_sd", best=True))
            if any(row[f"paper_hr@{k}"] is not None for row in rows):
                rates.append(Column(f"paper_hr@{k}", f"paper, HR@{k}", "paper"))
        users = [Column(f"user_hr@{k}", f"users, HR@{k}", best=True) for k in ks]
        cuts = [
            Column(f"ndcg@{k}", f"@{k}", spread=None if slot else f"ndcg@{k}_sd", best=True)
            for slot, k in enumerate(plan.ks)
        ]
        first = self.proposed[0]
        method = Column("method", "method", "text")
        p = Column("p", f"p ({first})", "p", 3)
        seeds = len(plan.seeds)
        sizes = counts(user_bits="bits a user", item_bits="an item") if self.lengths else []
        spread = f"± is the standard deviation over {seeds} seeds. " if seeds > 1 else ""
        return [
            Table(
                f"{self.key}-hr-{name}",
                f"HR on {name}",
                [method, *rates, *users],
                rows,
                f"HR@k: hits / test items; users, HR@k: users with at least one hit. {spread}"
                "The paper does not say which of the two it means.",
            ),
            Table(
                f"{self.key}-ndcg-{name}",
                f"NDCG@k on {name}",
                [method, *cuts, p, *sizes, Column("seconds_fit", "fit, s", "time", 1)],
                rows,
                f"p: paired test of NDCG@{plan.ks[0]} against {first}, values of "
                f"each user averaged over seeds. {spread}",
            ),
        ]

    def figure(self) -> Figure:
        """NDCG@k against k, a panel for each length."""
        name, plan = self.dataset.name, self.dataset.plan
        panels = []
        for bits in self.lengths or (None,):
            lines = [
                Line(
                    one.method,
                    plan.ks,
                    [one.mean(f"ndcg@{k}") for k in plan.ks],
                    [one.figures[f"ndcg@{k}_sd"] or 0.0 for k in plan.ks],
                    highlight=one.method in self.proposed,
                )
                for one in self.at(bits)
            ]
            size = f"{bits} bits" if bits else f"{plan.dimensions} dimensions"
            panels.append(Panel(f"{name}, {size}", "k", "NDCG@k", lines))
        note = "Bars: standard deviation over seeds."
        return Figure(f"{self.key}-ndcg-{name}", f"NDCG@k on {name}", panels, note)


def choice_step(
    dataset: DatasetRun, method: str, bits: int | None, label: str, cost: float
) -> Step:
    """The choice of a method's settings at one length of codes. cost: of one fit."""

    def choose() -> str:
        choice = dataset.choose(method, bits)
        if choice.validation is None:
            return "nothing to choose"
        return f"validation ndcg@20 {choice.validation:.4f}, {choice.trials} trials"

    return Step(
        (dataset.name, method, bits),
        f"{dataset.name}: choose {label}",
        cost * dataset.plan.trials,
        partial(dataset.is_chosen, method, bits),
        choose,
        Stage.CHOICE,
    )


LEVEL = 0.05
"""A difference with a larger p-value is no difference."""


def best_of_all(
    comparison: Comparison, text: str, proposed: str, others: Sequence[str], bits: int | None = None
) -> Claim:
    """Is `proposed` ahead of all the `others`, in NDCG at every cut-off and in HR@10?

    holds: everywhere, and significantly at the main metric. holds in part: somewhere.
    """
    mine = comparison.result(proposed, bits)
    rivals = [comparison.result(other, bits) for other in others]
    ks, main = comparison.dataset.plan.ks, comparison.dataset.main_metric
    metrics = [f"ndcg@{k}" for k in ks] + [f"hr@{ks[0]}"]
    ahead = {m: all(mine.mean(m) > rival.mean(m) for rival in rivals) for m in metrics}
    best = max(rivals, key=lambda rival: rival.mean(main))
    ours, theirs, p = mine.mean(main), best.mean(main), comparison.p_value(best, mine)
    sure = p < LEVEL
    beaten = [rival for rival in rivals if ours > rival.mean(main)]
    name, gain = main.upper(), ours / theirs - 1 if theirs else float("inf")
    evidence = f"{name} {ours:.4f}, the best other ({best.label}) {theirs:.4f}: {gain:+.1%}, "
    evidence += p_text(p)
    if all(ahead.values()):
        verdict: Verdict = "holds" if sure else "holds in part"
        return Claim(text, verdict, f"{evidence}; ahead at every cut-off.")
    verdict = "holds in part" if any(ahead.values()) or beaten else "does not hold"
    if len(beaten) < len(rivals):
        missed = ", ".join(rival.label for rival in rivals if rival not in beaten)
        return Claim(text, verdict, f"{evidence}; behind {missed} at {name}.")
    behind = ", ".join(metric.upper() for metric, yes in ahead.items() if not yes)
    return Claim(text, verdict, f"{evidence}; not ahead at {behind}.")


def p_text(p: float) -> str:
    """A p-value in the evidence of a claim."""
    return "p < 0.001" if p < 0.001 else f"p = {p:.3f}"


class ComparisonQuestion(DatasetQuestion):
    """key, proposed: of the comparison. Its methods are those of the question."""

    key: ClassVar[str]
    proposed: ClassVar[Sequence[str]]

    def __init__(self, dataset: DatasetRun) -> None:
        super().__init__(dataset)
        methods, lengths = self.methods(dataset.plan), self.lengths(dataset.plan)
        self.comparison = Comparison(dataset, self.key, methods, self.proposed, lengths)

    @classmethod
    def lengths(cls, plan: Plan) -> tuple[int, ...]:
        """The lengths of codes; none for vectors."""
        return ()

    def steps(self) -> Iterator[Step]:
        return self.comparison.steps()
