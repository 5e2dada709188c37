from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

from xorec.core.options import RunOptions
from xorec.models.pretraining import pretrain
from xorec.models.siml.dsiml import DSIML
from xorec.testing.data import planted


@pytest.mark.exhaustive
def test_who_learns_the_same_vectors_at_the_same_time_may_keep_them(tmp_path: Path) -> None:
    """Choices at several lengths start from the same vectors, and run side by side on an engine."""
    data, start = planted(60, 40), DSIML(start={"model": "als", "epochs": 1}).config.start
    for round_ in range(12):
        options = RunOptions(threads=1, cache=tmp_path / str(round_))
        with ThreadPoolExecutor(8) as pool:
            made = list(pool.map(lambda _: pretrain(start, data, None, options), range(8)))  # noqa: B023
        assert all(np.array_equal(one.user_vectors, made[0].user_vectors) for one in made)
        assert not list((tmp_path / str(round_)).glob(".*.tmp"))
