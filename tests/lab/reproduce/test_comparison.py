from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from xorec.lab.reproduce.cache import Result
from xorec.lab.reproduce.comparison import Comparison, best_of_all
from xorec.lab.reproduce.plan import DataSpec, Plan
from xorec.lab.reproduce.rq1_hashing import Hashing
from xorec.lab.reproduce.sections import Verdict

from .conftest import MakeDataset

KS = (10, 50)


class PlantedDataset:
    """Answers with planted figures: {method (and length): NDCG@10, NDCG@50, HR@10 of each seed}."""

    name, main_metric = "set", "ndcg@10"
    source = DataSpec(path="x/amazon-cds")

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


WEAK, EQUAL, STRONG = (0.1, 0.2, 0.3), (0.3 - 1e-9, 0.2, 0.3), (0.4, 0.7, 0.5)


@pytest.mark.parametrize("turned", [False, True])
@pytest.mark.parametrize(
    ("rivals", "verdict", "words", "silent"),
    [
        ((WEAK, WEAK), "holds", "ahead at every cut-off", "behind"),
        ((WEAK, EQUAL), "holds in part", "the best other (cml) 0.3000: +0.0%, p = ", "behind"),
        ((WEAK, STRONG), "holds in part", "behind cml at NDCG@10", "bpr"),
        ((WEAK, (0.1, 0.2, 0.5)), "holds in part", "not ahead at HR@10", "behind"),
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


VARIANTS = {
    "dsiml-float": {"model": "dsiml", "asymmetric": True},
    "dsiml-plain": {"model": "dsiml", "teacher_list_length": 0},
}


def _hashing(**ndcg: float) -> Hashing:
    """RQ1 at 20 bits on planted figures, with variants of DSIML."""
    names = {name.replace("_", "-"): value for name, value in ndcg.items()}
    dataset: Any = PlantedDataset(
        {f"{name} 20": [(value, value, value)] for name, value in names.items()}
    )
    dataset.plan = Plan(ks=KS, seeds=(0,), bits=(20,), hashing=tuple(names), settings=VARIANTS)
    return Hashing(dataset)


def test_float_users_are_held_against_lightrec_and_codes_against_codes() -> None:
    claims = _hashing(dcf=0.1, lightrec=0.3, dsiml=0.2, dsiml_float=0.4).claims()
    found = {claim.text.partition(" (")[0]: (claim.verdict, claim.evidence) for claim in claims}
    everybody, codes, floats = found.values()
    assert everybody[0] == "holds in part"
    assert "the best other (dcf)" in codes[1]
    assert codes[0] == floats[0] == "holds"
    assert "With float users, DSIML is more accurate than LightRec" in found
    assert "0.4000, the best other (lightrec) 0.3000" in floats[1]


def test_its_own_variants_are_no_rivals_of_dsiml() -> None:
    claims = _hashing(dcf=0.1, dsiml=0.2, dsiml_float=0.4, dsiml_plain=0.3).claims()
    assert [claim.verdict for claim in claims] == ["holds"]
    table = _hashing(dcf=0.1, lightrec=0.3, dsiml=0.2).comparison.tables()[1]
    assert {"user_bits", "item_bits"} <= {column.key for column in table.columns}
