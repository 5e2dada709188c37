"""Databases in a plan, which is written to run.json: short names, and no secrets."""

from __future__ import annotations

import pytest

from xorec.core.errors import OptionError
from xorec.lab.reproduce.plan import make_plan


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:s3cret@db/shop?table=orders",
        "postgresql://db/shop?password=s3cret&table=orders",
    ],
)
def test_an_address_with_a_password_is_refused(address: str) -> None:
    with pytest.raises(OptionError, match="give it by PGPASSWORD") as caught:
        make_plan(data=[{"path": address}])
    assert "s3cret" not in str(caught.value)
    with pytest.raises(OptionError, match="give it by PGPASSWORD") as caught:
        make_plan(data=[{"path": "debian", "columns": {"item_info": address}}])
    assert "s3cret" not in str(caught.value)


def test_a_short_name() -> None:
    plan = make_plan(data=[{"path": "postgresql://ann@db/shop?query=SELECT a/b FROM c", "core": 5}])
    assert plan.data[0].name == "shop-5core"
