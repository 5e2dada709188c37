"""What a shard answers to its front, and what it refuses."""

from __future__ import annotations

import base64
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.service_in_process import Served, served
from xorec.recommender.recommender import Recommender
from xorec.service.shards.queries import pack_query
from xorec.testing.store_models import codes, recommender_of

SHOP = recommender_of(codes(20, n_items=300, distinct=40))


def packed(array: Any, kind: str = "<i4") -> str:
    return base64.b64encode(np.asarray(array).astype(kind).tobytes()).decode()


def query_of(recommender: Recommender, user: int) -> dict[str, str]:
    query = recommender.representation.queries(np.array([user]))
    return {name: packed(one, one.dtype.str) for name, one in pack_query(query).items()}


@pytest.fixture(scope="module")
def shard(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    with served(SHOP, tmp_path_factory.mktemp("shard"), shard="2/3") as made:
        yield made


@pytest.fixture
def body(shard: Served) -> dict[str, Any]:
    digest = shard.service.models.default.about.digest
    return {"digest": digest, "shard": "2/3", "k": 9, "query": query_of(SHOP, 7)}


def test_it_says_which_items_it_has(shard: Served) -> None:
    about = shard.get("shard")
    assert [about[name] for name in ("shard", "start", "stop", "items")] == ["2/3", 100, 200, 300]
    assert about["model"]["digest"] == shard.service.models.default.about.digest


def test_hits_are_those_of_its_rows_in_all(shard: Served, body: dict[str, Any]) -> None:
    without, allowed = np.arange(100, 160, 3), np.arange(110, 190)
    mask = np.isin(np.arange(100, 200), allowed)
    bits = packed(np.packbits(mask, bitorder="little"), "u1")
    for more in ({}, {"allow": packed(allowed)}, {"allow_bits": bits}, {"allow_bits": bits}):
        rows = np.arange(100, 200) if not more else allowed
        found = shard.post("shard/search", {**body, "without": packed(without), **more})
        hits = SHOP.index.search(
            SHOP.representation.queries(np.array([7])), 9, allow=rows, deny=without
        )
        assert found["rows"] == hits.items[0, : hits.counts[0]].tolist()
        assert found["scores"] == hits.scores[0, : hits.counts[0]].tolist()
        assert hits.distances is not None
        assert found["distances"] == hits.distances[0, : hits.counts[0]].tolist()
    assert len(shard.post("shard/search", {**body, "k": 1000})["rows"]) == 100


def test_another_model_or_another_share_is_a_conflict(shard: Served, body: dict[str, Any]) -> None:
    told = shard.post("shard/search", {**body, "digest": "f00d" * 16})
    assert shard.status == 409
    assert "not 'f00df00df00d': let the front and all shards have the same file" in told["detail"]
    told = shard.post("shard/search", {**body, "shard": "1/3"})
    assert shard.status == 409
    assert "this is shard 2/3, not '1/3'" in told["detail"]


@pytest.mark.parametrize(
    ("wrong", "line"),
    [
        ({"query": {"codes": packed([1, 2], "<u8")}}, "codes has 2 words: 20 bits are 1"),
        ({"query": {"codes": packed([1 << 20], "<u8")}}, "bits behind the last of 20"),
        ({"query": {"codes": "AAAA"}}, "codes has 3 bytes: 8 for each number"),
        ({"query": {"codes": "A"}}, "no base64"),
        ({"query": {}}, r"a query of this model \(codes\) is codes, this has nothing"),
        ({"query": {"vectors": packed([1], "<f4")}}, "is codes, this has vectors"),
        ({"without": packed([99])}, "rows of without do not ascend from 100 up to 200"),
        ({"without": packed([200])}, "do not ascend"),
        ({"without": packed([120, 110])}, "do not ascend"),
        ({"without": packed([110, 110])}, "do not ascend"),
        ({"without": "AAA="}, "without has 2 bytes"),
        ({"allow": packed([5])}, "rows of allow do not ascend"),
        ({"allow_bits": packed([1], "u1")}, "allow_bits has 1 bytes: a bit for each of 100 rows"),
        ({"allow": "", "allow_bits": ""}, "not both"),
        ({"k": 0}, "k is 0"),
        ({"k": 10**9}, "1,000 at most"),
        ({"row": 1}, "row"),
    ],
)
def test_what_is_no_question_is_refused(
    shard: Served, body: dict[str, Any], wrong: dict[str, Any], line: str
) -> None:
    import re

    told = shard.post("shard/search", {**body, **wrong})
    assert shard.status == 422, told
    assert re.search(line, told["detail"]), told["detail"]


def test_the_index_of_a_shard_is_of_its_items_alone(shard: Served) -> None:
    index = shard.service.models.default.recommender.index
    assert (index.start, index.stop, len(index.index)) == (100, 200, 100)  # type: ignore[attr-defined]
    assert "item_neighbours" not in vars(shard.service.models.default.recommender)


def test_a_server_that_has_all_items_is_the_only_shard(tmp_path: Path) -> None:
    with served(SHOP, tmp_path) as ask:
        about = ask.get("shard")
        assert [about[name] for name in ("shard", "start", "stop")] == ["1/1", 0, 300]
        body = {"digest": about["model"]["digest"], "query": query_of(SHOP, 3), "k": 5}
        found = ask.post("shard/search", body)
        hits = SHOP.index.search(SHOP.representation.queries(np.array([3])), 5)
        assert found["rows"] == hits.items[0].tolist()


def test_more_shards_than_items_are_refused(tmp_path: Path) -> None:
    from xorec.core.errors import OptionError

    with (
        pytest.raises(OptionError, match="shard 1/9 of 3 items has none"),
        served(recommender_of(codes(20, n_items=3)), tmp_path, shard="1/9"),
    ):
        pass
