from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from xorec.core.options import RunOptions
from xorec.data.datasets.catalog import load_data
from xorec.data.split import Split, split
from xorec.evaluation.protocol import evaluate
from xorec.lab.reproduce.cache import Cache
from xorec.lab.reproduce.dataset_run import DatasetRun, bits_of, evaluation_of
from xorec.lab.reproduce.outputs import choices
from xorec.lab.reproduce.plan import DataSpec, Winner
from xorec.models import model_class
from xorec.representations.codebooks import Codebooks
from xorec.representations.codes import Codes, MaskedCodes
from xorec.representations.composed import ComposedCodes
from xorec.representations.vectors import Vectors
from xorec.selection.tuning.tuning import Trial, Tuned

from .conftest import MakeDataset, small_plan


def test_a_choice_has_as_many_trials_for_all_and_never_sees_the_test_part(
    make_dataset: MakeDataset,
) -> None:
    dataset = make_dataset(trials=2)
    choice = dataset.choose("bpr")
    assert (choice.trials, choice.model, choice.data) == (2, "bpr", "planted")
    assert choice.validation is not None
    assert choice.default is not None
    assert choice.validation >= choice.default
    assert choice.settings["dimensions"] == 8
    assert dataset.choose("popularity").trials == 0
    blind = replace(
        dataset.parts, test=dataset.parts.test.select(np.arange(dataset.parts.test.n_pairs) < 5)
    )
    other = DatasetRun(dataset.source, blind, dataset.plan, dataset.cache, dataset.options)
    assert other.is_chosen("bpr")
    assert not other.is_tested("bpr", 0)
    assert other.choose("bpr") == choice


def test_a_test_is_the_plain_fit_and_evaluation(make_dataset: MakeDataset) -> None:
    dataset = make_dataset()
    assert not dataset.is_tested("bpr", 1)
    part = dataset.test("bpr", 1)
    assert dataset.is_tested("bpr", 1)
    assert not dataset.is_tested("bpr", 0)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("xorec.lab.reproduce.cache.source_digest", lambda: "changed")
        assert not dataset.is_chosen("bpr")
        assert not dataset.is_tested("bpr", 1)
    model = model_class("bpr")(**dataset.choose("bpr").settings)
    model.fit(dataset.all_train, None, RunOptions(seed=1))
    result = evaluate(
        model.representation_,
        dataset.all_train,
        dataset.parts.test,
        ks=dataset.plan.ks,
        by_category=True,
    )
    assert part.values["metrics"]["ndcg@30"] == result["ndcg@30"]
    assert part.values["metrics"]["hr@100"] == result["hr@100"]
    assert part.values["categories"] == result.categories
    assert part.values["sizes"] == {"user_bits": 256, "item_bits": 256, "shared_bits": 0}
    np.testing.assert_array_equal(part.arrays["ndcg"], result.per_user["ndcg@10"])
    other = dataset.test("bpr", 0)
    mean = (part.arrays["ndcg"] + other.arrays["ndcg"]) / 2
    np.testing.assert_allclose(evaluation_of([part, other]).per_user["ndcg"], mean, rtol=1e-15)
    assert not list(dataset.cache.folder.glob("*.checkpoint*"))


def with_chosen(dataset: DatasetRun, *chosen: Winner) -> DatasetRun:
    """The same data set in a run that has these choices of an earlier one."""
    plan = dataset.plan.model_copy(update={"chosen": chosen})
    return DatasetRun(dataset.source, dataset.parts, plan, dataset.cache, dataset.options)


def test_given_choices_are_taken(make_dataset: MakeDataset) -> None:
    dataset = make_dataset()
    choice = dataset.choose("bpr")
    given = choice.model_copy(update={"settings": {**choice.settings, "epochs": 1}})
    other = with_chosen(dataset, given)
    assert other.choose("bpr").settings["epochs"] == 1
    assert other.is_chosen("bpr")
    assert not other.is_chosen("cml")
    elsewhere = given.model_copy(update={"data": "another set"})
    assert with_chosen(dataset, elsewhere, choice).choose("bpr") == choice


def test_every_length_of_codes_has_its_own_choice(make_dataset: MakeDataset) -> None:
    """Settings that 20 bits like are not those of 64: a number behind `auto` may hang on them."""
    dataset = make_dataset(bits=(8, 32), settings={"dsiml": {"epochs": 1, "start": {"epochs": 1}}})
    short, long = (dataset.choose("dsiml", bits) for bits in (8, 32))
    assert (short.bits, long.bits) == (8, 32)
    assert (short.settings["bits"], long.settings["bits"]) == (8, 32)
    assert short.settings["temperature"] < long.settings["temperature"]
    assert dataset.choose("dsiml") == short
    assert dataset._test_key("dsiml", 0, 32)["settings"] == long.settings
    kept = with_chosen(dataset, short, long)
    assert [kept.choose("dsiml", bits) for bits in (8, 32)] == [short, long]
    assert choices(kept.plan.model_copy(update={"questions": ("rq5",)}), [kept]) == [short, long]


def test_a_choice_for_all_lengths_is_taken_for_each(make_dataset: MakeDataset) -> None:
    """Of a run.json that was written before lengths had choices of their own."""
    short = {"epochs": 1, "start": {"epochs": 1}, "offset": 0.0}
    dataset = make_dataset(bits=(8, 32), settings={"dsiml": short})
    older = dataset.choose("dsiml").model_copy(update={"bits": None})
    other = with_chosen(dataset, older)
    assert other.choose("dsiml", 32) == older
    part = other.test("dsiml", 0, 32)
    assert part.values["sizes"]["item_bits"] == 32
    assert other.is_tested("dsiml", 0, 32)
    assert not other.is_tested("dsiml", 0, 8)


def test_a_choice_is_the_refit_of_the_best_trial(
    make_dataset: MakeDataset, monkeypatch: pytest.MonkeyPatch
) -> None:
    trials = [
        Trial(number, "complete", value, epochs, 2.0, {"reg": 0.1 * number}, {"epochs": epochs})
        for number, (value, epochs) in enumerate([(0.1, 9), (0.3, 4), (0.2, 7)])
    ]
    asked: list[dict[str, Any]] = []

    def tune(model: str, parts: Split, **how: Any) -> Tuned:
        asked.append(how)
        return Tuned(model, "ndcg@20", {}, trials)

    monkeypatch.setattr("xorec.lab.reproduce.dataset_run.tune", tune)
    choice = make_dataset(trials=3, seeds=(6, 7)).choose("bpr")
    assert choice.settings == {"epochs": 4}
    assert (choice.validation, choice.default, choice.trials, choice.seconds) == (0.3, 0.1, 3, 6.0)
    assert (asked[0]["trials"], asked[0]["options"].seed) == (3, 6)


def test_a_data_set_is_split_by_the_first_seed(tmp_path: Path) -> None:
    path = tmp_path / "pairs.csv"
    rows = [f"{user},{item}" for user in range(30) for item in range(user % 5, 40, 5)]
    path.write_text("user,item\n" + "\n".join(rows) + "\n")
    plan = small_plan(seeds=(4, 5), test=0.3, validation=0.2)
    found = DatasetRun.open(DataSpec(path=str(path)), plan, Cache(tmp_path / "c"), RunOptions())
    parts = split(load_data(str(path)), test=0.3, validation=0.2, seed=4)
    assert parts.validation is not None
    assert found._digests == [part.digest() for part in (parts.train, parts.validation, parts.test)]


def test_true_bits_of_a_user_an_item_and_of_all() -> None:
    rng = np.random.default_rng(0)
    users, items = rng.normal(size=(5, 20)), rng.normal(size=(7, 20))
    codes = Codes.from_signs(users, items)
    eta, xi = np.ones((5, 4), np.float32), np.ones((7, 4), np.float32)
    composed = ComposedCodes(codes.user_codes, codes.item_codes, eta, xi, 20)
    vectors = Vectors(users.astype(np.float32), items.astype(np.float32))
    words = rng.normal(size=(4, 32, 20)).astype(np.float32)
    picked = rng.integers(32, size=(7, 4)).astype(np.uint8)
    looked_up = Codebooks(vectors.user_vectors, picked, words)
    for learned, sizes in (
        (codes, (20, 20, 0)),
        (Codes.from_signs(users, items, asymmetric=True), (20 + 640, 20, 0)),
        (MaskedCodes(codes.user_codes, codes.item_codes, 20), (20, 20, 0)),
        (composed, (20 + 128, 20 + 128, 0)),
        (vectors, (640, 640, 0)),
        (looked_up, (640, 20, 8 * words.nbytes)),
    ):
        assert tuple(bits_of(learned).values()) == sizes
    assert list(bits_of(codes)) == ["user_bits", "item_bits", "shared_bits"]
