from __future__ import annotations

import json
from typing import Any

import pytest

from xorec.core.errors import OptionError
from xorec.lab.reproduce.paper import CONTINUOUS, HASHING, HR, hit_rate, set_of
from xorec.lab.reproduce.plan import (
    QUICK,
    QUICK_EPOCHS,
    DataSpec,
    Plan,
    label_of,
    make_plan,
    method_of,
)
from xorec.models import model_class


def test_json_and_back() -> None:
    plan = make_plan(
        data=[{"path": "a/b.csv", "core": 5}], settings={"bpr": {"epochs": 3}}, **QUICK
    )
    assert make_plan(**json.loads(json.dumps(plan.model_dump()))) == plan
    assert (plan.data[0].name, DataSpec(path="x/amazon-cds").name) == ("b.csv-5core", "amazon-cds")


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"trials": 0}, ["trials", "0"]),
        ({"questions": ["rq9"]}, ["questions", "rq9"]),
        ({"seeds": []}, ["seeds"]),
        ({"colour": 1}, ["colour"]),
        ({"data": [{"path": "x/d"}, {"path": "y/d"}]}, ["same name", "d"]),
    ],
)
def test_a_bad_plan_says_what_is_wrong(fields: dict[str, object], words: list[str]) -> None:
    with pytest.raises(OptionError) as error:
        make_plan(**fields)
    assert all(word in str(error.value) for word in words)


def test_a_method_has_a_model_a_start_and_the_size_of_the_plan() -> None:
    settings: dict[str, dict[str, Any]] = {
        "starts": {"als": {"epochs": 7}},
        "signs-als": {"model": "signs", "start": "als"},
        "dsiml": {"start": {"model": "siml", "epochs": 3}},
    }
    plan = Plan(settings=settings, bits=(24, 32), dimensions=12)
    expected = {"start": {"model": "als", "epochs": 7}, "bits": 24}
    assert method_of("signs-als", plan) == ("signs", expected)
    assert method_of("signs-als", plan, 32)[1]["bits"] == 32
    assert method_of("dsiml", plan)[1]["start"] == {"model": "siml", "epochs": 3}
    assert method_of("bpr", plan) == ("bpr", {"dimensions": 12})
    assert method_of("popularity", plan) == ("popularity", {})
    assert settings["signs-als"] == {"model": "signs", "start": "als"}
    assert (label_of("dcf", 24, plan.bits), label_of("dcf", 24, (24,))) == ("dcf 24", "dcf")


@pytest.mark.parametrize("method", ["dsiml", "signs", "siml", "dcf", "popularity"])
def test_quick_fits_are_short(method: str) -> None:
    model, fixed = method_of(method, Plan(**QUICK))
    config = model_class(model)(**fixed).config.model_dump()
    assert config.get("epochs", 0) <= QUICK_EPOCHS
    assert config.get("start", {}).get("epochs", 0) <= QUICK_EPOCHS


def test_the_papers_figures_are_found_by_the_name_of_the_data() -> None:
    assert set_of("/data/amazon-cds") == "CDs"
    assert set_of("amazon-movies") == "Movies"
    assert set_of("movies.csv") is None
    assert hit_rate("x/amazon-books", "siml-gcn", 100) == 0.0312
    assert hit_rate("x/amazon-books", "dpr", 10) is None
    assert hit_rate("debian", "dsiml", 10) is None
    assert list(HR[10]) == [*HASHING, *CONTINUOUS]
    for data in range(3):
        ours = max(HASHING, key=lambda method: HR[10][method][data])
        assert ours == "dsiml"  # as the paper says


def test_an_address_with_a_password_is_refused() -> None:
    """The plan is written to run.json."""
    for secret in ("ann:s3cret@db/shop?table=orders", "db/shop?password=s3cret&table=orders"):
        address = f"postgresql://{secret}"
        for data in ({"path": address}, {"path": "debian", "columns": {"item_info": address}}):
            with pytest.raises(OptionError, match="give it by PGPASSWORD") as caught:
                make_plan(data=[data])
            assert "s3cret" not in str(caught.value)
    plan = make_plan(data=[{"path": "postgresql://ann@db/shop?query=SELECT a/b FROM c", "core": 5}])
    assert plan.data[0].name == "shop-5core"
