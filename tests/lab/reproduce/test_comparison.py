from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from xorec.lab.reproduce.cache import Result
from xorec.lab.reproduce.comparison import Comparison, best_of_all
from xorec.lab.reproduce.plan import Plan, Source
from xorec.lab.reproduce.sections import Verdict

from .conftest import MakeDataset

KS = (10, 50)


class PlantedDataset:
    """Answers with planted figures: {method (and length): NDCG@10, NDCG@50, HR@10 of each seed}."""

    name, main_metric = "set", "ndcg@10"
    source = Source(path="x/amazon-cds")

    def __init__(
        self, figures: dict[str, list[tuple[float, float, float]]], bits: tuple[int, ...] = (20,)
    ) -> None:
        self.figures = figures
        seeds = tuple(range(len(next(iter(figures.values())))))
        self.plan = Plan(ks=KS, seeds=seeds, bits=bits)

    def test(self, method: str, seed: int, bits: int | None) -> Result:
        ten, fifty, rate = self.figures[method if bits is None else f"{method} {bits}"][seed]
        metrics = {"ndcg@10": ten, "ndcg@50": fifty}
        for name in ("hr@10", "hr@50", "user_hr@10", "user_hr@50"):
            metrics[name] = rate
        values = np.full(400, ten) + np.random.default_rng([seed, len(method)]).normal(0, 1e-3, 400)
        arrays = {"users": np.arange(400), "counts": np.ones(400, np.int64), "ndcg": values}
        sizes = {"user_bits": 1, "item_bits": 1, "shared_bits": 0}
        return Result(
            {"metrics": metrics, "sizes": sizes, "seconds": 1.0, "categories": []}, arrays
        )


def comparison(**figures: list[tuple[float, float, float]]) -> Comparison:
    dataset: Any = PlantedDataset(figures)
    return Comparison(dataset, "rq2", list(figures), ["siml"])


def test_rows_are_means_and_deviations_over_seeds_with_the_papers_figures() -> None:
    one = comparison(siml=[(0.2, 0.4, 0.1), (0.4, 0.4, 0.1)], bpr=[(0.1, 0.2, 0.3)] * 2)
    ours, other = one.rows()
    assert ours["ndcg@10"] == pytest.approx(0.3)
    assert ours["ndcg@10_sd"] == pytest.approx(0.1 * 2**0.5)
    assert ours["ndcg@50_sd"] == 0
    assert (ours["paper_hr@10"], ours["paper_hr@100"]) == (0.1281, 0.4501)
    assert (other["paper_hr@10"], other["paper_hr@50"]) == (0.1013, None)
    assert ours["p"] is None
    assert other["p"] < 0.001
    heads = [column.head for column in one.tables()[0].columns]
    assert heads[:4] == ["method", "HR@10", "paper, HR@10", "HR@50"]
    lines = one.figure().panels[0].lines
    assert [(line.label, line.highlight) for line in lines] == [("siml", True), ("bpr", False)]


@pytest.mark.parametrize(
    ("rival", "verdict", "words"),
    [
        ((0.1, 0.2, 0.3), "holds", "ahead at every cut-off"),
        ((0.1, 0.2, 0.5), "holds in part", "not ahead at HR@10"),
        ((0.4, 0.2, 0.5), "holds in part", "behind bpr at NDCG@10"),
        ((0.4, 0.7, 0.5), "does not hold", "behind bpr"),
        ((0.3 - 1e-9, 0.2, 0.3), "holds in part", "p = "),
    ],
)
def test_verdicts_follow_the_figures(
    rival: tuple[float, float, float], verdict: Verdict, words: str
) -> None:
    one = comparison(siml=[(0.3, 0.6, 0.4)], bpr=[rival])
    claim = best_of_all(one, "SIML is best", "siml", ["bpr"])
    assert claim.verdict == verdict
    assert words in claim.evidence


WEAK, EQUAL, STRONG = (0.1, 0.2, 0.3), (0.3 - 1e-9, 0.2, 0.3), (0.4, 0.7, 0.5)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("rivals", "verdict", "words", "silent"),
    [
        ((WEAK, WEAK), "holds", "ahead at every cut-off", "behind"),
        ((WEAK, EQUAL), "holds in part", "the best other (cml) 0.3000: +0.0%, p = ", "behind"),
        ((WEAK, STRONG), "holds in part", "behind cml at NDCG@10", "bpr"),
        ((STRONG, STRONG), "does not hold", "behind", "ahead"),
        ((WEAK, (0.1, 0.7, 0.3)), "holds in part", "not ahead at NDCG@50", "behind"),
    ],
)
def test_a_claim_is_held_against_the_best_of_all_rivals(
    rivals: Any, verdict: Verdict, words: str, silent: str, turned: bool
) -> None:
    """In whatever order the rivals come."""
    one = comparison(siml=[(0.3, 0.6, 0.4)], bpr=[rivals[0]], cml=[rivals[1]])
    others = ["cml", "bpr"] if turned else ["bpr", "cml"]
    claim = best_of_all(one, "SIML is best", "siml", others)
    assert claim.verdict == verdict
    assert words in claim.evidence
    assert silent not in claim.evidence


def test_each_method_has_its_own_p_value_against_the_proposed_one() -> None:
    one = comparison(siml=[(0.3, 0.6, 0.4)], bpr=[WEAK], cml=[EQUAL])
    ours, far, near = (row["p"] for row in one.rows())
    assert ours is None
    assert far < 0.001 < 0.05 < near


def test_codes_are_held_against_the_proposed_ones_of_the_same_length() -> None:
    figures = {
        **{"dsiml 16": [(0.1, 0.2, 0.1)], "dsiml 24": [(0.3, 0.4, 0.1)]},
        **{"dcf 16": [(0.05, 0.2, 0.1)], "dcf 24": [(0.3, 0.4, 0.1)]},
    }
    dataset: Any = PlantedDataset(figures, (16, 24))
    one = Comparison(dataset, "rq1", ["dsiml", "dcf"], ["dsiml"], (16, 24))
    p = {row["method"]: row["p"] for row in one.rows()}
    assert p["dsiml 16"] is p["dsiml 24"] is None
    assert p["dcf 16"] < 0.001
    assert p["dcf 24"] > 0.05


def test_steps_are_a_choice_and_a_test_for_each_seed_and_length(make_dataset: MakeDataset) -> None:
    dataset = make_dataset(bits=(16, 24), hashing=("popularity", "signs"))
    one = Comparison(dataset, "rq1", dataset.plan.hashing, ["signs"], dataset.plan.bits)
    keys = [step.key for step in one.steps()]
    assert keys == [
        ("planted", "popularity", None),
        ("planted", "popularity", None, 0),
        ("planted", "popularity", None, 1),
        *(("planted", "signs", bits, *seed) for bits in (16, 24) for seed in ((), (0,), (1,))),
    ]
