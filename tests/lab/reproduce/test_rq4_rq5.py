from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from xorec.core.options import RunOptions
from xorec.evaluation.protocol import evaluate
from xorec.lab.reproduce.report import cells_of
from xorec.lab.reproduce.rq4_imbalance import RIVALS, Imbalance, training_pairs
from xorec.lab.reproduce.rq5_sensitivity import Sensitivity
from xorec.models import model_class

from .conftest import MakeDataset


def imbalance(make_dataset: MakeDataset, rows: list[dict[str, Any]]) -> Imbalance:
    """With planted rows."""
    found = Imbalance(make_dataset())
    found.rows = rows
    return found


def planted_rows(sizes: list[int], gain: Any) -> list[dict[str, Any]]:
    rows = []
    for size in sorted(sizes, reverse=True):
        row: dict[str, Any] = {"category": f"c{size}", "training_pairs": size, "items": 1}
        row |= {"users": 50, "test_items": 60}
        for k in range(10, 101, 10):
            row |= {f"siml_ndcg@{k}": 0.5, f"cml_ndcg@{k}": 0.5 - gain(size)}
            row[f"sml_ndcg@{k}"] = 0.5 + gain(size)
        rows.append(row)
    return rows


def test_pairs_of_a_category_by_a_plain_loop(make_dataset: MakeDataset) -> None:
    dataset = make_dataset()
    counts = dict.fromkeys([*(f"group {g}" for g in range(5)), "even"], 0)
    categories = dataset.all_train.categories
    assert categories is not None
    for item in dataset.all_train.indices:
        for label in categories.of(int(item)):
            counts[label] += 1
    assert training_pairs(dataset) == counts


def test_the_four_are_the_first_the_last_and_those_a_third_and_two_thirds_down(
    make_dataset: MakeDataset,
) -> None:
    rows = planted_rows([2**n for n in range(13)], lambda size: 0.1)
    found = imbalance(make_dataset, rows)
    assert [row["training_pairs"] for row in found.four] == [4096, 256, 16, 1]
    whole = found.section().tables[-1]
    assert len(whole.rows) == 13
    assert len(cells_of(whole)) == 10
    assert len(imbalance(make_dataset, rows[:2]).four) == 2


def test_gain_that_grows_with_rarity_is_a_correlation_of_one(make_dataset: MakeDataset) -> None:
    found = imbalance(
        make_dataset, planted_rows([2**n for n in range(13)], lambda size: 0.1 / size)
    )
    assert found.correlation("cml")[0] == pytest.approx(1.0)
    assert found.correlation("sml")[0] == pytest.approx(-1.0)
    verdicts = [claim.verdict for claim in found.section().claims]
    assert verdicts == ["holds", "does not hold", "holds in part"]


def test_rows_are_the_means_of_the_tests_by_category(make_dataset: MakeDataset) -> None:
    quick = {"epochs": 1}
    dataset = make_dataset(settings={"siml": quick, "cml": quick, "sml": quick})
    found = Imbalance(dataset)
    rows = {row["category"]: row for row in found.rows}
    assert {"even"} < set(rows) <= {"even", *(f"group {g}" for g in range(5))}
    assert [row["training_pairs"] for row in found.rows] == sorted(
        (row["training_pairs"] for row in found.rows), reverse=True
    )
    for method in ("siml", *RIVALS):
        tests = [dataset.test(method, seed) for seed in dataset.plan.seeds]
        by_seed = [
            next(one["ndcg@20"] for one in test.values["categories"] if one["category"] == "even")
            for test in tests
        ]
        assert rows["even"][f"{method}_ndcg@20"] == pytest.approx(np.mean(by_seed))
    assert found.section().tables[0].rows == found.four
    tested = dataset.test("siml", 0).values["categories"]
    smallest = min(tested, key=lambda one: int(one["users"]))
    with pytest.MonkeyPatch.context() as patch:  # so many users, or more
        patch.setattr("xorec.lab.reproduce.rq4_imbalance.USERS", smallest["users"])
        assert len(Imbalance(dataset).rows) == len(tested)
        patch.setattr("xorec.lab.reproduce.rq4_imbalance.USERS", smallest["users"] + 1)
        assert smallest["category"] not in [row["category"] for row in Imbalance(dataset).rows]


def test_a_point_changes_both_stages_and_is_judged_on_validation(make_dataset: MakeDataset) -> None:
    dataset = make_dataset()
    found = Sensitivity(dataset)
    assert found.points == [("lambda_", 0.1), ("lambda_", 1.0), ("gamma", 1.1)]
    part = found.point("lambda_", 0.1, 0)
    chosen = dataset.choose("dsiml").settings
    start = {**chosen["start"], "lambda_": 0.1}
    model = model_class("dsiml")(**{**chosen, "lambda_": 0.1, "start": start})
    model.fit(dataset.train, None, RunOptions())
    result = evaluate(model.representation_, dataset.train, dataset.validation, ks=dataset.plan.ks)
    assert part.values["codes"]["ndcg@10"] == result["ndcg@10"]
    assert part.values["codes"]["hr@20"] == result["hr@20"]
    start.pop("model")
    vectors = model_class("siml")(**start).fit(dataset.train, None, RunOptions()).representation_
    result = evaluate(vectors, dataset.train, dataset.validation, ks=dataset.plan.ks)
    assert part.values["vectors"]["ndcg@10"] == result["ndcg@10"]


def test_the_section_of_rq5_follows_its_rows(make_dataset: MakeDataset) -> None:
    found = Sensitivity(make_dataset())
    made = found.section()
    rows = made.tables[0].rows
    assert [row["value"] for row in rows] == [0.1, 1.0, 1.1] * 2
    values = {row["value"]: row["ndcg@10"] for row in rows[:3]}
    best = max((0.1, 1.0), key=lambda value: values[value])
    assert f"best at {best:g}" in made.claims[0].evidence
    assert made.claims[1].verdict == "holds"
    assert [panel.log_x for panel in made.figures[0].panels] == [True, True, False, False]
