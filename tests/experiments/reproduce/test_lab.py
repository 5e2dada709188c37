from __future__ import annotations

from dataclasses import replace

import numpy as np

from xorec.core.options import RunOptions
from xorec.evaluation.protocol import evaluate
from xorec.experiments.reproduce.lab import Lab, evaluation_of
from xorec.models import model_class

from .conftest import MakeLab


def test_a_choice_has_as_many_trials_for_all_and_never_sees_the_test_part(
    make_lab: MakeLab,
) -> None:
    lab = make_lab(trials=2)
    choice = lab.choose("bpr")
    assert (choice.trials, choice.model, choice.data) == (2, "bpr", "planted")
    assert choice.validation is not None
    assert choice.default is not None
    assert choice.validation >= choice.default
    assert choice.settings["dimensions"] == 8
    assert lab.choose("popularity").trials == 0
    blind = replace(lab.parts, test=lab.parts.test.select(np.arange(lab.parts.test.n_pairs) < 5))
    other = Lab(lab.source, blind, lab.plan, lab.cache, lab.options)
    assert other.chosen("bpr")
    assert not other.tested("bpr", 0)
    assert other.choose("bpr") == choice


def test_a_test_is_the_plain_fit_and_evaluation(make_lab: MakeLab) -> None:
    lab = make_lab()
    assert not lab.tested("bpr", 1)
    part = lab.test("bpr", 1)
    assert lab.tested("bpr", 1)
    assert not lab.tested("bpr", 0)
    model = model_class("bpr")(**lab.choose("bpr").settings)
    model.fit(lab.everything, None, RunOptions(seed=1))
    result = evaluate(
        model.representation_, lab.everything, lab.parts.test, ks=lab.plan.ks, by_category=True
    )
    assert part.facts["metrics"]["ndcg@30"] == result["ndcg@30"]
    assert part.facts["metrics"]["hr@100"] == result["hr@100"]
    assert part.facts["categories"] == result.categories
    assert part.facts["sizes"] == {"user_bits": 256, "item_bits": 256, "shared_bits": 0}
    np.testing.assert_array_equal(part.arrays["ndcg"], result.per_user["ndcg@10"])
    assert not list(lab.cache.folder.glob("*.checkpoint*"))


def test_codes_are_tested_at_the_length_asked_for(make_lab: MakeLab) -> None:
    lab = make_lab()
    assert lab.test("dsiml", 0, 24).facts["sizes"]["item_bits"] == 24
    assert lab.tested("dsiml", 0, 24)
    assert not lab.tested("dsiml", 0, 16)


def test_values_of_users_are_averaged_over_seeds(make_lab: MakeLab) -> None:
    lab = make_lab()
    tests = [lab.test("bpr", seed) for seed in (0, 1)]
    mean = (tests[0].arrays["ndcg"] + tests[1].arrays["ndcg"]) / 2
    np.testing.assert_allclose(evaluation_of(tests).per_user["ndcg"], mean, rtol=1e-15)


def test_given_choices_are_taken(make_lab: MakeLab) -> None:
    lab = make_lab()
    choice = lab.choose("bpr")
    given = choice.model_copy(update={"settings": {**choice.settings, "epochs": 1}})
    plan = lab.plan.model_copy(update={"chosen": (given,)})
    other = Lab(lab.source, lab.parts, plan, lab.cache, lab.options)
    assert other.choose("bpr").settings["epochs"] == 1
    assert other.chosen("bpr")
    assert not other.chosen("cml")
