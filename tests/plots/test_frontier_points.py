"""Which points are on the frontier, and the ladder that they come from."""

from __future__ import annotations

import numpy as np
import pytest

from xorec.plots.frontier_picture import EASE_ITEMS, frontier, ladder
from xorec.selection.comparison import make_models
from xorec.selection.model_specs import parse_spec


@pytest.mark.parametrize("seed", range(5))
def test_the_frontier_is_what_nothing_beats(seed: int) -> None:
    rng = np.random.default_rng(seed)
    costs, values = (rng.integers(1, 12, 30).astype(float).tolist() for _ in range(2))
    best = frontier(costs, values)
    rows = list(zip(costs, values, strict=True))
    beaten = [
        any(c <= cost and v >= value and (c, v) != (cost, value) for c, v in rows)
        for cost, value in rows
    ]
    assert {rows[at] for at in best} == {
        row for row, lost in zip(rows, beaten, strict=True) if not lost
    }
    assert len({rows[at] for at in best}) == len(best)
    assert [rows[at] for at in best] == sorted(rows[at] for at in best)


def test_the_ladder_goes_from_few_bits_to_the_served_recipe() -> None:
    made = make_models([parse_spec(text) for text in ladder(1000)])
    names = [model.name for _, model in made]
    assert names == [
        *("popularity", "dsiml", "dsiml", "dsiml", "dsiml", "slim", "slim", "ease", "siml", "blend")
    ]
    assert [model.config.bits for _, model in made if model.name == "dsiml"] == [20, 32, 64, 64]
    assert [model.config.keep for _, model in made if model.name == "slim"] == ["int8", "float32"]
    assert [model.config.shortlist for _, model in made if model.name == "dsiml"] == [0, 0, 0, 200]
    assert "ease" not in ladder(EASE_ITEMS + 1)
    assert ladder(10, bits=(16, 128))[1:3] == ("dsiml:bits=16", "dsiml:bits=128")
