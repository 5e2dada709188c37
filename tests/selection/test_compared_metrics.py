from __future__ import annotations

from xorec.data.split import split
from xorec.evaluation.protocol import evaluate
from xorec.models.baselines.item_knn import ItemKNN
from xorec.selection.comparison import compare_models
from xorec.testing.data import planted


def test_a_contender_learns_from_validation_pairs_too_and_is_not_ranked_against_them() -> None:
    parts = split(planted(80, 60), test=0.2, validation=0.2)
    assert parts.validation is not None
    known = parts.train.union(parts.validation)
    (found,) = compare_models(parts, ["item-knn"], ks=(10,))
    plain = evaluate(ItemKNN().fit(known).representation_, known, parts.test, ks=(10,))
    assert found.evaluation.metrics == plain.metrics
