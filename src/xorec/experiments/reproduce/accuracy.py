"""A contest of accuracy: several methods on one data set, all seeds; what rq1 and rq2 share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from typing import Any

import numpy as np

from xorec.evaluation.significance import compare
from xorec.experiments.reproduce.cache import Part
from xorec.experiments.reproduce.lab import Lab, evaluation_of
from xorec.experiments.reproduce.methods import label_of, method_of
from xorec.experiments.reproduce.paper import hit_rate
from xorec.experiments.reproduce.sections import Column, Figure, Line, Panel, Table
from xorec.experiments.reproduce.steps import Step, fit_cost

RATES = (10, 50, 100)
"""The cut-offs of the paper's table of HR."""


@dataclass(frozen=True, eq=False)
class Entry:
    """One row of a contest: a method (at one length of codes), its tests, one for each seed."""

    method: str
    label: str
    bits: int | None
    tests: Sequence[Part]

    def mean(self, metric: str) -> float:
        """Over seeds."""
        return float(np.mean(self.values(metric)))

    def spread(self, metric: str) -> float | None:
        """Standard deviation over seeds; None of one seed."""
        return float(np.std(self.values(metric), ddof=1)) if len(self.tests) > 1 else None

    def values(self, metric: str) -> list[float]:
        """One for each seed."""
        return [test.facts["metrics"][metric] for test in self.tests]


@dataclass(frozen=True, eq=False)
class Contest:
    """methods on the data set of `lab`. lengths: of codes; none for vectors. own: the methods that
    the paper proposes. key: of the experiment, which begins the names of tables and figures."""

    lab: Lab
    key: str
    methods: Sequence[str]
    own: Sequence[str]
    lengths: tuple[int, ...] = ()
    _p: dict[tuple[str, str], float] = field(default_factory=dict)

    def steps(self) -> Iterator[Step]:
        """A choice and then the tests, for each method."""
        lab, seeds = self.lab, self.lab.plan.seeds
        pairs = lab.everything.n_pairs
        for method in self.methods:
            model = method_of(method, lab.plan)[0]
            cost = fit_cost(model, pairs)
            yield Step(
                (lab.name, method),
                f"{lab.name}: choose {method}",
                cost * lab.plan.trials,
                partial(lab.chosen, method),
                partial(self._choose, method),
            )
            for bits in self._lengths_of(method):
                label = label_of(method, bits, self.lengths)
                for seed in seeds:
                    yield Step(
                        (lab.name, method, bits, seed),
                        f"{lab.name}: test {label}, seed {seed}",
                        cost,
                        partial(lab.tested, method, seed, bits),
                        partial(self._test, method, seed, bits),
                    )

    def _choose(self, method: str) -> str:
        choice = self.lab.choose(method)
        if choice.validation is None:
            return "nothing to choose"
        return f"validation ndcg@20 {choice.validation:.4f}, {choice.trials} trials"

    def _test(self, method: str, seed: int, bits: int | None) -> str:
        test = self.lab.test(method, seed, bits)
        return f"{self.lab.main} {test.facts['metrics'][self.lab.main]:.4f}"

    def _lengths_of(self, method: str) -> tuple[int | None, ...]:
        """The lengths at which a method is tested; one that has none is tested once."""
        _, fixed = method_of(method, self.lab.plan)
        return self.lengths if self.lengths and "bits" in fixed else (None,)

    @cached_property
    def entries(self) -> list[Entry]:
        """All rows; tests that are missing are made."""
        found = []
        for slot, bits in enumerate(self.lengths or (None,)):
            for method in self.methods:
                has_length = bits in self._lengths_of(method)
                if has_length or slot == 0:
                    found.append(self._entry(method, bits if has_length else None))
        return found

    def _entry(self, method: str, bits: int | None) -> Entry:
        tests = [self.lab.test(method, seed, bits) for seed in self.lab.plan.seeds]
        return Entry(method, label_of(method, bits, self.lengths), bits, tests)

    def entry(self, method: str, bits: int | None = None) -> Entry:
        """The row of a method at a length."""
        return next(e for e in self.entries if e.method == method and e.bits in (bits, None))

    def at(self, bits: int | None) -> list[Entry]:
        """The rows of one length, those without a length too."""
        return [e for e in self.entries if e.bits in (bits, None)]

    def p_value(self, a: Entry, b: Entry) -> float:
        """The paired test of the main metric, values of each user averaged over seeds."""
        key = a.label, b.label
        if key not in self._p:
            pair = evaluation_of(a.tests), evaluation_of(b.tests)
            self._p[key] = compare(*pair, "ndcg").p_value
        return self._p[key]

    def _p_of(self, entry: Entry) -> float | None:
        """Against the first own method at the same length; None of itself, or where it is not."""
        if self.own[0] not in self.methods:
            return None
        rival = self.entry(self.own[0], entry.bits or self.lab.plan.bits[0])
        return None if rival is entry else self.p_value(entry, rival)

    def rows(self) -> list[dict[str, Any]]:
        """A flat row for each entry: means and spreads over seeds, the paper's figures, sizes."""
        rows = []
        for entry in self.entries:
            row: dict[str, Any] = {"data": self.lab.name, "method": entry.label}
            row |= {} if entry.bits is None else {"bits": entry.bits}
            for metric in entry.tests[0].facts["metrics"]:
                row[metric] = entry.mean(metric)
                row[f"{metric}_sd"] = entry.spread(metric)
            for k in RATES:
                row[f"paper_hr@{k}"] = hit_rate(self.lab.source.path, entry.method, k)
            row["p"] = self._p_of(entry)
            row |= entry.tests[0].facts["sizes"]
            row["seconds_fit"] = float(np.median([t.facts["seconds"] for t in entry.tests]))
            rows.append(row)
        return rows

    def tables(self) -> list[Table]:
        """HR@10, 50, 100 in both readings, with the paper's; and NDCG at every cut-off."""
        rows, name = self.rows(), self.lab.name
        ks = [k for k in RATES if k in self.lab.plan.ks]
        rates: list[Column] = []
        for k in ks:
            rates.append(Column(f"hr@{k}", f"HR@{k}", spread=f"hr@{k}_sd", best=True))
            if any(row[f"paper_hr@{k}"] is not None for row in rows):
                rates.append(Column(f"paper_hr@{k}", f"paper, HR@{k}", "paper"))
        users = [Column(f"user_hr@{k}", f"users, HR@{k}", best=True) for k in ks]
        cuts = [
            Column(f"ndcg@{k}", f"@{k}", spread=None if slot else f"ndcg@{k}_sd", best=True)
            for slot, k in enumerate(self.lab.plan.ks)
        ]
        who = Column("method", "method", "text")
        p = Column("p", f"p ({self.own[0]})", "p", 3)
        seeds = len(self.lab.plan.seeds)
        spread = f"± is the standard deviation over {seeds} seeds. " if seeds > 1 else ""
        return [
            Table(
                f"{self.key}-hr-{name}",
                f"HR on {name}",
                [who, *rates, *users],
                rows,
                f"HR@k: hits / test items; users, HR@k: users with at least one hit. {spread}"
                "The paper does not say which of the two it means.",
            ),
            Table(
                f"{self.key}-ndcg-{name}",
                f"NDCG@k on {name}",
                [who, *cuts, p, Column("seconds_fit", "fit, s", "time", 1)],
                rows,
                f"p: paired test of NDCG@{self.lab.plan.ks[0]} against {self.own[0]}, values of "
                f"each user averaged over seeds. {spread}",
            ),
        ]

    def figure(self) -> Figure:
        """NDCG@k against k, a panel for each length."""
        ks = self.lab.plan.ks
        panels = []
        for bits in self.lengths or (None,):
            lines = [
                Line(
                    entry.method,
                    ks,
                    [entry.mean(f"ndcg@{k}") for k in ks],
                    [entry.spread(f"ndcg@{k}") or 0.0 for k in ks],
                    own=entry.method in self.own,
                )
                for entry in self.at(bits)
            ]
            size = f"{bits} bits" if bits else f"{self.lab.plan.dimensions} dimensions"
            panels.append(Panel(f"{self.lab.name}, {size}", "k", "NDCG@k", lines))
        return Figure(
            f"{self.key}-ndcg-{self.lab.name}",
            f"NDCG@k on {self.lab.name}",
            panels,
            "Bands: standard deviation over seeds.",
        )
