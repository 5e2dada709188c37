"""Models take what people have: matrices, frames, pairs; and say their settings."""

from __future__ import annotations

import inspect
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
import scipy.sparse as sp

import xorec
from xorec.core.errors import DataError, NotFittedError, OptionError
from xorec.core.options import RunOptions
from xorec.core.progress import Progress
from xorec.selection.comparison import compare_models
from xorec.testing.data import planted

DATA = planted(50, 30)
COLUMNS = {"user": DATA.user_rows, "item": DATA.indices}
CSR = sp.csr_matrix(DATA.matrix())
KINDS: dict[str, Any] = {
    "csr": CSR,
    "coo": CSR.tocoo(),
    "pandas": pd.DataFrame(COLUMNS),
    "polars": pl.DataFrame(COLUMNS),
    "arrow": pa.table(COLUMNS),
    "pairs": list(zip(DATA.user_rows.tolist(), DATA.indices.tolist(), strict=True)),
}


def fitted(data: Any, validation: Any = None) -> xorec.ALS:
    return xorec.ALS(dimensions=4, epochs=2).fit(data, validation, RunOptions(threads=1))


@pytest.mark.parametrize("kind", KINDS)
def test_fit_and_evaluate_take_it(kind: str) -> None:
    model = fitted(KINDS[kind])
    np.testing.assert_array_equal(model.item_vectors, fitted(DATA).item_vectors)
    assert list(model.user_ids) == list(range(50))
    shop = xorec.Recommender.from_model(model, KINDS[kind])
    results = [
        xorec.evaluate(subject, KINDS[kind], KINDS[kind], ks=(5,)).metrics
        for subject in (model, shop, model.representation_)
    ]
    assert results[0] == results[1] == results[2]
    assert (
        xorec.split(KINDS[kind]).train.n_pairs == xorec.split(xorec.read(KINDS[kind])).train.n_pairs
    )
    assert xorec.prepare(KINDS[kind], core=2).n_pairs <= DATA.n_pairs


def test_rows_and_columns_of_a_matrix_without_pairs_stay() -> None:
    train = sp.csr_matrix(([1.0, 1.0, 1.0], ([0, 2, 2], [1, 0, 1])), shape=(5, 4))
    test = sp.csr_matrix(([1.0], ([0], [0])), shape=(5, 4))
    model = fitted(train)
    assert model.user_vectors.shape == (5, 4)
    assert model.item_vectors.shape == (4, 4)
    assert xorec.evaluate(model, train, test, ks=(1,))["hr@1"] == 1.0


def test_an_update_takes_pairs() -> None:
    shop = xorec.Recommender.from_model(fitted(CSR), CSR).update([(99, 3), (99, 4)])
    assert shop.user_ids.find(99) == 50


def test_tuning_and_comparing_hold_out_their_own_parts() -> None:
    found = xorec.tune("item-knn", CSR, trials=1)
    assert found.best.state == "complete"
    (one,) = compare_models(CSR, ["popularity"], ks=(5,))
    assert 0 < one.evaluation["recall@5"] <= 1


def test_a_validation_part_of_its_own_is_aligned() -> None:
    part = xorec.read([(3, 1005), (4, 1006), (4, 1007)])
    model = xorec.BPR(dimensions=4, epochs=1, validate_every=1)
    assert "validation_ndcg@20" in model.fit(DATA, part).history_[0]
    with pytest.raises(DataError, match="none of the 1 users of the validation part"):
        xorec.BPR(dimensions=4, epochs=1).fit(DATA, [("eve", 1005)])


def test_what_was_guessed_is_said() -> None:
    class Told(Progress):
        notes: ClassVar[list[str]] = []

        def note(self, text: str) -> None:
            self.notes.append(text)

    xorec.Popularity().fit(CSR, options=RunOptions(progress=Told()))
    expected = "the training part: users are the rows of the matrix, items its columns"
    assert Told.notes == [expected]


def test_what_is_no_data_is_refused_by_name() -> None:
    with pytest.raises(DataError, match="the training part: a int cannot be read: give a path"):
        fitted(7)
    with pytest.raises(DataError, match="give the data of the fit"):
        xorec.Recommender.from_model(fitted(CSR), CSR[:40])
    with pytest.raises(OptionError, match="cannot be evaluated: give a fitted model"):
        xorec.evaluate(xorec.ALS, CSR, CSR)
    with pytest.raises(NotFittedError, match="ALS has learned nothing yet"):
        xorec.evaluate(xorec.ALS(), CSR, CSR)
    with pytest.raises(OptionError, match="a ALS cannot be compared: give two evaluations"):
        xorec.compare(fitted(CSR), fitted(CSR), "ndcg@10")  # type: ignore[arg-type]


def test_help_tells_the_settings() -> None:
    text = inspect.getdoc(xorec.SIML) or ""
    assert "\nSettings:\n" in text
    assert "\n  dimensions = 64 (>= 1, <= 4096): length of the vectors" in text
    for name in xorec.SIML.Config.model_fields:
        assert f"\n  {name} = " in text
    assert "\n  none" in (inspect.getdoc(xorec.Popularity) or "")


def test_a_notebook_shows_a_paired_test() -> None:
    a, b = (
        xorec.evaluate(model.fit(CSR), CSR, CSR[::-1], ks=(5,))
        for model in (xorec.ItemKNN(), xorec.Popularity())
    )
    html = xorec.compare(a, b, "ndcg@5")._repr_html_()
    assert "<th>difference</th>" in html
    assert "<td>ndcg@5</td>" in html
