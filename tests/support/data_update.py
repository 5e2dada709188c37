"""check_data_update: what a model of plain codes must keep when pairs come late."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.data.ids import Ids
from xorec.data.interactions import Interactions
from xorec.models.base import DataUpdate
from xorec.representations.codes import Codes
from xorec.testing.data import planted


def check_data_update(model: Any) -> None:
    """New rows and changed rows are made, no others; newcomers rank their own items high, and new
    items rank high for their own users."""
    data = planted(80, 60)
    early = data.select((data.user_rows < 70) & (data.indices < 55))
    ids = Ids("int64", np.arange(70)), Ids("int64", 1000 + np.arange(55))
    early = Interactions.from_rows(*ids, early.user_rows, early.indices)
    old = model.fit(early).representation_
    changed = np.concatenate([[2, 5], np.arange(70, 80)])
    update = DataUpdate(data, changed, np.arange(55, 60), np.pad(early.user_counts, (0, 10)))
    new = model.update(old, update).representation_
    assert isinstance(old, Codes)
    assert isinstance(new, Codes)
    same = np.setdiff1d(np.arange(70), changed)
    np.testing.assert_array_equal(new.user_codes[same], old.user_codes[same])
    np.testing.assert_array_equal(new.item_codes[:55], old.item_codes)
    scores = new.scores(np.arange(70, 80))
    own = np.mean([scores[u - 70][data.of_user(u)].mean() for u in range(70, 80)])
    assert own > scores.mean() + 0.1
    scores = new.scores(np.arange(80))
    for item in range(55, 60):
        users = data.user_rows[data.indices == item]
        assert scores[users, item].mean() > scores[:, item].mean()
