"""RQ4: does the scale-invariant margin help where categories are imbalanced?

Categories count that have USERS test users or more. Four of them are looked at closely: ordered by
training pairs, the first, those a third and two thirds of the way down, and the last. Over all of
them, the gain of SIML over a rival is held against rarity (fewer training pairs) by rank.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np

from xorec.lab.reproduce.comparison import LEVEL, ComparisonQuestion, p_text
from xorec.lab.reproduce.dataset_run import DatasetRun
from xorec.lab.reproduce.plan import Plan
from xorec.lab.reproduce.question import Run
from xorec.lab.reproduce.sections import Claim, Column, Section, Table, Verdict, counts
from xorec.plots.figures import Figure, Line, Panel

PROPOSED, RIVALS = "siml", ("cml", "sml")
METHODS = (PROPOSED, *RIVALS)
USERS = 30
SHARES = (0.0, 1 / 3, 2 / 3, 1.0)


class Imbalance(ComparisonQuestion):
    """The same fits as those of rq2, looked at by category: no steps of its own beside rq2."""

    key, proposed = "rq4", (PROPOSED,)

    @classmethod
    def of_run(cls, run: Run) -> list[Self]:
        """Of the data sets whose items have categories."""
        for dataset in run.datasets:
            if dataset.all_train.categories is None:
                run.options.progress.note(
                    f"rq4 leaves {dataset.name} out: it has no categories of items."
                )
        return [cls(one) for one in run.datasets if one.all_train.categories is not None]

    @classmethod
    def methods(cls, plan: Plan) -> Sequence[str]:
        return METHODS

    def section(self) -> Section:
        """Four categories closely, all of them in sum."""
        name = self.dataset.name
        return Section(
            "rq4",
            f"RQ4. Imbalanced categories: {name}",
            "Does SIML gain more over other metric learning where a category is rare?",
            [
                f"{len(self.rows)} categories have {USERS} or more test users. Four of them, by "
                "rule: in order of training pairs the largest, those a third and two thirds of the "
                "way down, and the smallest. The fits are those of RQ2."
            ],
            _tables(self),
            [_sizes(self), _curves(self), _scatter(self)],
            [*(_claim(self, rival) for rival in RIVALS), _four_claim(self)],
        )

    @cached_property
    def rows(self) -> list[dict[str, Any]]:
        """A row for each category that counts, the one with most training pairs first."""
        pairs = training_pairs(self.dataset)
        found: dict[str, dict[str, Any]] = {}
        for result in self.comparison.results:
            for test in result.tests:
                for one in test.values["categories"]:
                    if one["users"] < USERS:
                        continue
                    name = one["category"]
                    sizes = {key: one[key] for key in ("items", "users", "test_items")}
                    head = {"category": str(name), "training_pairs": pairs[name], **sizes}
                    row = found.setdefault(name, head)
                    for k in self.dataset.plan.ks:
                        key = f"{result.method}_ndcg@{k}"
                        row[key] = row.get(key, 0.0) + one[f"ndcg@{k}"] / len(result.tests)
        return sorted(found.values(), key=lambda row: (-row["training_pairs"], row["category"]))

    @property
    def four(self) -> list[dict[str, Any]]:
        """The categories of the figure, by the rule above."""
        last = len(self.rows) - 1
        places = sorted({round(share * last) for share in SHARES})
        return [self.rows[place] for place in places] if self.rows else []

    def gains(self, rival: str) -> list[float]:
        """Relative gain of SIML over a rival in NDCG at the last cut-off, for each category."""
        k = self.dataset.plan.ks[-1]
        both = [(row[f"{PROPOSED}_ndcg@{k}"], row[f"{rival}_ndcg@{k}"]) for row in self.rows]
        return [(ours - theirs) / max(ours, theirs, 1e-12) for ours, theirs in both]

    def correlation(self, rival: str) -> tuple[float, float]:
        """Spearman's rank correlation of gain with rarity, and its p-value."""
        from scipy.stats import spearmanr

        rarity = [-row["training_pairs"] for row in self.rows]
        gains = self.gains(rival)
        if len(rarity) < 3 or len(set(gains)) < 2 or len(set(rarity)) < 2:
            return 0.0, 1.0
        found = spearmanr(rarity, gains)
        return float(found.statistic), float(found.pvalue)


def training_pairs(dataset: DatasetRun) -> dict[str, int]:
    """Training pairs of each category; a pair counts in every category of its item."""
    categories = dataset.all_train.categories
    assert categories is not None
    counts = dataset.all_train.item_counts
    owners = np.repeat(np.arange(dataset.all_train.n_items), np.diff(categories.indptr))
    sums = np.bincount(categories.indices, weights=counts[owners], minlength=len(categories.labels))
    return {str(label): int(n) for label, n in zip(categories.labels, sums, strict=True)}


def _tables(found: Imbalance) -> list[Table]:
    ks = [k for k in (10, 50, 100) if k in found.dataset.plan.ks]
    heads = [
        Column("category", "category", "text"),
        *counts("items", training_pairs="training pairs", users="test users"),
    ]
    cuts = [Column(f"{m}_ndcg@{k}", f"{m} @{k}") for k in ks for m in METHODS]
    name = found.dataset.name
    rows = [
        {"rival": rival, "categories": len(found.rows), "rho": rho, "p": p}
        for rival in RIVALS
        for rho, p in [found.correlation(rival)]
    ]
    seeds = len(found.dataset.plan.seeds)
    mean = f"Mean over {f'{seeds} seeds' if seeds > 1 else 'one seed'}."
    note = f"NDCG@k where only test items of the category count. {mean}"
    return [
        Table(f"rq4-four-{name}", f"Four categories of {name}", [*heads, *cuts], found.four, note),
        Table(
            f"rq4-correlation-{name}",
            "Gain of SIML against rarity, over all categories",
            [
                Column("rival", "over", "text"),
                *counts("categories"),
                Column("rho", "Spearman's rho", digits=3),
                Column("p", "p", "p", 3),
            ],
            rows,
            f"Gain: difference of NDCG@{found.dataset.plan.ks[-1]} / the larger of the two. "
            "rho > 0: the rarer the category, the larger the gain.",
        ),
        Table(
            f"rq4-all-{name}",
            f"The ten largest of {name}",
            [*heads, *cuts],
            found.rows,
            "All are in the CSV file.",
            shown=10,
        ),
    ]


def _sizes(found: Imbalance) -> Figure:
    pairs = [row["training_pairs"] for row in found.rows]
    name = found.dataset.name
    ranks = list(range(1, len(pairs) + 1))
    chosen = [found.rows.index(row) + 1 for row in found.four]
    lines = [
        Line("all categories", ranks, pairs),
        Line("the four", chosen, [row["training_pairs"] for row in found.four], highlight=True),
    ]
    panel = Panel(name, "rank of the category", "training pairs", lines, kind="points", log_y=True)
    return Figure(f"rq4-sizes-{name}", f"How large the categories of {name} are", [panel])


def _curves(found: Imbalance) -> Figure:
    ks, name = found.dataset.plan.ks, found.dataset.name
    panels = [
        Panel(
            f"{row['category']} ({row['training_pairs']:,} pairs)",
            "k",
            "NDCG@k",
            [
                Line(m, ks, [row[f"{m}_ndcg@{k}"] for k in ks], highlight=m == PROPOSED)
                for m in METHODS
            ],
        )
        for row in found.four
    ]
    return Figure(f"rq4-ndcg-{name}", f"NDCG@k in four categories of {name}", panels)


def _scatter(found: Imbalance) -> Figure:
    pairs = [row["training_pairs"] for row in found.rows]
    panels = [
        Panel(
            f"over {rival}",
            "training pairs of the category",
            "relative gain of SIML",
            [Line("a category", pairs, found.gains(rival))],
            kind="points",
            log_x=True,
            level=(0.0, "no gain"),
        )
        for rival in RIVALS
    ]
    name = found.dataset.name
    return Figure(f"rq4-gain-{name}", f"Gain of SIML by size of category, {name}", panels)


def _claim(found: Imbalance, rival: str) -> Claim:
    rho, p = found.correlation(rival)
    ahead = sum(gain > 0 for gain in found.gains(rival))
    verdict: Verdict = "holds" if rho > 0 and p < LEVEL else "does not hold"
    return Claim(
        f"The rarer a category, the more SIML gains over {rival.upper()} ({found.dataset.name})",
        verdict,
        f"Spearman's rho of gain with rarity {rho:+.3f} ({p_text(p)}); SIML is ahead in {ahead} of "
        f"{len(found.rows)} categories.",
    )


def _four_claim(found: Imbalance) -> Claim:
    ks = found.dataset.plan.ks
    cells = [(row, k, rival) for row in found.four for k in ks for rival in RIVALS]
    won = sum(row[f"{PROPOSED}_ndcg@{k}"] > row[f"{rival}_ndcg@{k}"] for row, k, rival in cells)
    verdict: Verdict = "holds" if won == len(cells) else "holds in part" if won else "does not hold"
    return Claim(
        f"SIML is ahead of CML and SML in every one of the four ({found.dataset.name})",
        verdict,
        f"ahead in {won} of {len(cells)} comparisons (4 categories, {len(ks)} cut-offs, 2 rivals).",
    )


QUESTION = Imbalance
