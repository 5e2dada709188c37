from __future__ import annotations

import pytest

from xorec.core.progress import SILENT
from xorec.lab import machine_constants as measuring
from xorec.lab.machine_constants import made_pairs
from xorec.selection.plan.constants import Constants


@pytest.mark.process
def test_every_measured_constant_has_a_name_and_is_above_0(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = {"_USERS": 300, "_ITEMS": 160, "_FAR_USERS": 600, "_FAR_ITEMS": 300, "_READ_ROWS": 3000}
    for name, value in sizes.items():
        monkeypatch.setattr(measuring, name, value)
    found = measuring.measure(SILENT, spark=False)
    assert len(found) == 8
    assert set(found) < set(Constants().row())
    assert all(value > 0 for value in found.values())
    assert found["far_times"] >= 1
    assert type(found["python_bytes"]) is int


def test_made_pairs_are_those_of_the_seed() -> None:
    one, two = (made_pairs(200, 50, 6.0) for _ in range(2))
    assert one.digest() == two.digest()
    assert one.n_pairs > 4 * 200
    counts = sorted(one.item_counts, reverse=True)
    assert sum(counts[:10]) > one.n_pairs / 3
