"""Means over epochs: late ones weigh more, nothing but the means is written."""

from __future__ import annotations

import numpy as np
import pytest

from xorec.training import table_steps
from xorec.training.table_steps import LATE, add_to_means, mean_of, start_means


@pytest.mark.parametrize("rows_at_once", [2, 1 << 16])
def test_the_mean_is_that_of_all_epochs_weighed_by_how_late_they_are(
    monkeypatch: pytest.MonkeyPatch, rows_at_once: int
) -> None:
    monkeypatch.setattr(table_steps, "_ROWS", rows_at_once)
    rng = np.random.default_rng(0)
    epochs = rng.standard_normal((6, 5, 3)).astype(np.float32)
    arrays = {"rows": np.zeros((5, 3), np.float32), "others": np.ones(4, np.float32)}
    start_means(arrays, ("rows",))
    assert mean_of(arrays, "rows") is None
    weights = np.zeros(6)
    for t, rows in enumerate(epochs, start=1):
        arrays["rows"][:] = rows
        add_to_means(arrays)
        share = (1 + LATE) / (t + LATE)
        weights *= 1 - share
        weights[t - 1] = share
        expected = np.tensordot(weights, epochs.astype(np.float64), axes=1)
        found = mean_of(arrays, "rows")
        assert found is not None
        np.testing.assert_allclose(found, expected, atol=1e-5)
        np.testing.assert_array_equal(arrays["rows"], rows)
    assert weights.sum() == pytest.approx(1)
    assert (np.diff(weights) > 0).all()
    np.testing.assert_array_equal(arrays["others"], 1)
