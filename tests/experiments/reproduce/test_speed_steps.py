from __future__ import annotations

import pytest

from xorec.experiments.reproduce import rq3_speed
from xorec.experiments.reproduce.rq3_speed import Size
from xorec.experiments.reproduce.speed.steps import Speed

from .conftest import MakeLab


def test_every_size_is_measured_once_and_the_data_set_as_well(
    make_lab: MakeLab, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(rq3_speed, "SIZES", {"Movies": Size(50, 300, 5)})
    small = {"speed_bits": (16,), "speed_items": (200,), "speed_rounds": 1, "speed_budget": 0.2}
    lab = make_lab(**small)
    speed = Speed(lab.plan, [lab], lab.cache, lab.options)
    steps = list(speed.steps())
    assert [step.label for step in steps] == [
        "speed: Movies, 16 bits",
        "speed: 200 items, 16 bits",
        "speed: planted, 16 bits",
    ]
    for step in steps:
        assert not step.done()
        assert "us a user" in step.run()
        assert step.done()
    made = speed.section()
    rows = {table.name: table.rows for table in made.tables}
    assert [row["size"] for row in rows["rq3-sizes"]] == ["Movies"]
    assert [(row["size"], row["items"]) for row in rows["rq3-data"]] == [("planted", 80)]
    assert [row["items"] for row in rows["rq3-catalogue"]] == [200]
    assert rows["rq3-sizes"][0]["paper"] == 7.84
