from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
import pytest

import xorec
from xorec.core.errors import OptionError
from xorec.core.options import RunOptions
from xorec.core.threads import ThreadPool
from xorec.evaluation.protocol import evaluate
from xorec.models import blend
from xorec.models.base import fit_with_validation
from xorec.representations.two_stage import Sources, TwoStage
from xorec.search.filters import make_filters
from xorec.search.index import index_of
from xorec.testing.data import halves, planted
from xorec.testing.models import PersonalModelTests

QUICK: dict[str, Any] = {
    "bits": 16,
    "start": {
        **{"dimensions": 8, "epochs": 4, "alpha": 0.5, "temperature": 3.0, "negatives": 5},
        **{"form": "npair"},
    },
}


class TestBlend(PersonalModelTests):
    model = xorec.Blend
    settings: ClassVar[dict[str, Any]] = QUICK


def fitted(train: xorec.Interactions, **more: Any) -> TwoStage:
    learned = xorec.Blend(**{**QUICK, **more}).fit(train).representation_
    assert isinstance(learned, TwoStage)
    return learned


def test_the_score_is_the_sum_of_both() -> None:
    train = planted(60, 50)
    learned = fitted(train, weight=0.25)
    rows = np.arange(60)
    slim = xorec.SLIM(weight_dtype="int8").fit(train).representation_.scores(rows)
    assert learned.float_vectors is not None
    expected = slim + 0.25 * learned.float_vectors.scores(rows)
    np.testing.assert_allclose(learned.scores(rows), expected, atol=1e-5)
    parts = learned.score_parts(learned.queries(np.array([3])), 7)
    assert sum(parts.values()) == pytest.approx(float(expected[3, 7]), abs=1e-5)


def test_where_all_are_candidates_the_lists_are_those_of_the_scores() -> None:
    train = planted(60, 50)
    learned, rank = fitted(train, near=50), np.arange(50, dtype=np.int32)
    hits = index_of(learned, rank).search(learned.queries(np.arange(60)), 10)
    order = np.argsort(-learned.scores(np.arange(60)), axis=1, kind="stable")[:, :10]
    np.testing.assert_array_equal(hits.items, order)


def test_validation_chooses_the_weight_that_its_lists_like_best() -> None:
    """By plain evaluations of the same weights; the refit keeps what was chosen."""
    train, validation = halves(planted(300, 120))
    model = xorec.Blend(**QUICK).fit(train, validation)
    learned = model.representation_
    assert isinstance(learned, TwoStage)
    parts = blend.candidate_parts(learned, train, validation, RunOptions())
    tried = np.array([0.0, 0.1, 0.5, 2.0])
    expected = [
        evaluate(learned.with_blend(one), train, validation, ks=(10,))["ndcg@10"] for one in tried
    ]
    np.testing.assert_allclose(blend.ndcg_of_weights(parts, tried), expected, atol=1e-9)
    assert model.refit_settings()["weight"] == model.weight_
    final = fit_with_validation(xorec.Blend(**QUICK), train, validation)
    assert final.config.weight == model.weight_


def test_a_weight_out_of_range_is_refused() -> None:
    for wrong in (-1, "much", float("nan"), float("inf"), None):
        with pytest.raises(OptionError, match=r"weight is .*: input should be .*, or auto"):
            xorec.Blend(weight=wrong)


def test_explain_tells_parts_and_sources() -> None:
    train = planted(60, 50)
    model = xorec.Blend(**QUICK, near=5, best=5).fit(train)
    shop = xorec.Recommender.from_model(model, train)
    best = shop.recommend(train.users[0], 3).items[0]
    why = shop.explain(train.users[0], best.id)
    assert why.rank == 1
    assert set(why.parts) == {"item weights", "vectors"}
    assert sum(why.parts.values()) == pytest.approx(best.score, abs=1e-5)
    assert set(why.found_by) <= {"the user's code", "item weights"}
    assert why.found_by
    assert why.to_dict()["found_by"] == list(why.found_by)
    seen = shop.explain(train.users[0], train.items[int(train.of_user(0)[0])])
    assert seen.found_by == ()


def test_candidates_of_the_items_codes_are_told_too() -> None:
    train = planted(60, 50)
    learned = fitted(train, near=1, best=0, per_item=10, neighbours=30)
    assert learned.sources == Sources(1, 0, 10, 30)
    index = index_of(learned, np.arange(50, dtype=np.int32))
    queries = learned.queries(np.array([4]))
    with ThreadPool(1) as pool:
        filters = make_filters(1, None, None, 50)
        found = index.find(queries, 1, filters, pool)  # type: ignore[attr-defined]
    nothing = np.zeros(2, dtype=np.int64), np.zeros(0, dtype=np.int32)
    for item in found.items[0, 1 : found.counts[0]]:
        names = index.found_by(queries, int(item), nothing)  # type: ignore[attr-defined]
        assert names == ("the codes of the user's items",)
