"""What the front sends to shards and makes of their answers, with shards in this process."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.support.service_in_process import served
from xorec.core.errors import OptionError
from xorec.search.sharded import Shard
from xorec.service.http.problems import HttpError
from xorec.service.live.generations import Generation
from xorec.service.live.model import LiveModel
from xorec.service.schemas.shards import ShardSearchBody
from xorec.service.service import Service
from xorec.service.shards.front import Front
from xorec.service.shards.held import HeldShard
from xorec.service.shards.remote import RemoteShard
from xorec.service.shards.remote_index import RemoteIndex
from xorec.service.shards.share import Share
from xorec.service.tasks.schedule import Schedule
from xorec.service.workers import start
from xorec.testing.store_models import codes, recommender_of

SHOP = recommender_of(codes(20, n_items=300, distinct=30))
DIGEST = "blake3:0123456789"


class Local(Front):
    """A front whose shards are here: bodies go through JSON as they would over HTTP."""

    def __init__(self, count: int) -> None:
        shares = [Share(number, count) for number in range(1, count + 1)]
        far = [RemoteShard(f"http://s{one}", one, seconds=1, connections=1) for one in shares]
        super().__init__(far, 1)
        self.held = [held(share) for share in shares]
        self.sent: list[dict[str, Any]] = []

    def ask(self, method: str, path: str, bodies: Sequence[bytes]) -> list[Any]:
        assert (method, path) == ("POST", "/v1/shard/search")
        self.sent = [json.loads(body) for body in bodies]
        answers = [
            one.search(ShardSearchBody.model_validate_json(body))
            for one, body in zip(self.held, bodies, strict=True)
        ]
        return [json.loads(one.model_dump_json()) for one in answers]


class Nothing:
    """What has happened since: nothing."""

    def __init__(self) -> None:
        self.recent: Any = None
        self.catalogue: Any = SimpleNamespace(infos={}, version=0)
        self.erased: dict[Any, int] = {}
        self.cold: dict[Any, int] = {}


def held(share: Share) -> HeldShard:
    shard = Shard.of(SHOP.representation, SHOP.tie_rank, share.rows(len(SHOP.item_ids)), threads=1)
    about = Generation(1, Path("m"), DIGEST, 0, 0, "", 40, 300, 0, "dsiml")
    return HeldShard(LiveModel("default", about, SHOP.searched_by(shard), Nothing()), share)


FRONTS = {count: Local(count) for count in (1, 2, 7)}


@settings(deadline=None, max_examples=60)
@given(data=st.data())
def test_any_question_has_the_answer_of_one_index(data: st.DataObject) -> None:
    rng = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    front = FRONTS[data.draw(st.sampled_from(sorted(FRONTS)))]
    index = RemoteIndex(front, DIGEST, SHOP.tie_rank)
    query = SHOP.representation.queries(rng.integers(40, size=1))
    k = data.draw(st.integers(1, 400))
    share = data.draw(st.sampled_from([0, 0.2, 1]))
    seen = np.flatnonzero(rng.random(300) < share).astype(np.int32)
    how: dict[str, Any] = {}
    if data.draw(st.booleans()):
        how["exclude"] = (np.array([0, len(seen)]), seen)
    if data.draw(st.booleans()):
        how["deny"] = rng.choice(300, size=40)
    chosen = data.draw(st.sampled_from([None, 0.0, 0.01, 0.5, 1.0]))
    mask = rng.random(300) < (chosen or 0)
    ready: list[Any] = [None, None]
    if chosen is not None:
        ready = [one.item_filter(mask) for one in (SHOP.index, index)]
    expected = SHOP.index.search(query, k, allow=ready[0], **how)
    found = index.search(query, k, allow=ready[1], **how)
    count = int(expected.counts[0])
    assert found.counts.tolist() == [count]
    for name in ("items", "scores", "distances"):
        values = getattr(expected, name)[0, :count]
        np.testing.assert_array_equal(getattr(found, name)[0, :count], values)


def test_a_choice_is_sent_as_rows_or_as_bits_whichever_is_shorter() -> None:
    front = FRONTS[2]
    index = RemoteIndex(front, DIGEST, SHOP.tie_rank)
    query = SHOP.representation.queries(np.array([1]))
    for rows, names in ((np.arange(4), {"allow"}), (np.arange(0, 300, 2), {"allow_bits"})):
        for choice in (rows, index.item_filter(rows)):
            index.search(query, 5, allow=choice)
            sent = front.sent[0]
            assert {"allow", "allow_bits"} & set(sent) == names
            assert len(next(sent[name] for name in names)) <= 4 * 150 / 24 + 4


@pytest.mark.parametrize(
    ("answer", "line"),
    [
        ({}, "answers what is no list"),
        ([], "answers what is no list"),
        ({"rows": ["x"], "scores": [1.0], "distances": [1]}, "answers what is no list"),
        ({"rows": [10**30], "scores": [1.0], "distances": [1]}, "answers what is no list"),
        ({"rows": [150], "scores": [1.0], "distances": [1]}, "items that it does not hold"),
        ({"rows": [-1], "scores": [1.0], "distances": [1]}, "items that it does not hold"),
        ({"rows": [2**40], "scores": [1.0], "distances": [1]}, "items that it does not hold"),
        ({"rows": [1], "scores": [1.0, 2.0], "distances": [1]}, "items that it does not hold"),
        ({"rows": [1], "scores": [1.0], "distances": []}, "items that it does not hold"),
        ({"rows": [1] * 9, "scores": [1.0] * 9, "distances": [1] * 9}, "that it does not hold"),
        ({"rows": [[1]], "scores": [[1.0]], "distances": [[1]]}, "items that it does not hold"),
    ],
)
def test_what_a_shard_answers_is_looked_at(answer: Any, line: str) -> None:
    class Strange(Local):
        def ask(self, method: str, path: str, bodies: Sequence[bytes]) -> list[Any]:
            good = {"rows": [200], "scores": [0.5], "distances": [9]}
            return [answer, good]

    index = RemoteIndex(Strange(2), DIGEST, SHOP.tie_rank)
    with pytest.raises(HttpError, match=r"shard 1 of 2 \(http://s1/2\).* " + line) as error:
        index.search(SHOP.representation.queries(np.array([1])), 5)
    assert error.value.status == 503


def test_one_query_at_a_time() -> None:
    index = RemoteIndex(FRONTS[2], DIGEST, SHOP.tie_rank)
    with pytest.raises(OptionError, match="one query at a time"):
        index.search(SHOP.representation.queries(np.array([1, 2])), 5)


def test_another_model_is_never_merged() -> None:
    index = RemoteIndex(FRONTS[2], "blake3:another", SHOP.tie_rank)
    with pytest.raises(HttpError, match="serves the model 0123456789, not 'another'"):
        index.search(SHOP.representation.queries(np.array([1])), 5)


@pytest.mark.exhaustive
@pytest.mark.parametrize("how", [{"shard": "1/2"}, {"shards": ["http://127.0.0.1:9"]}])
def test_the_file_stays_as_all_others_have_it(
    tmp_path: Path, how: dict[str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Events never become a generation here: nobody else would have it, so nobody looks."""
    made: list[Service] = []

    class Watched(Schedule):
        def __init__(self, service: Service) -> None:
            made.append(service)
            super().__init__(service)

    monkeypatch.setattr(start, "Schedule", Watched)
    with served(SHOP, tmp_path / "whole") as ask:
        assert made == [ask.service]
    update = {"events": 1, "minutes": 0.0001}
    with served(SHOP, tmp_path, update=update, **how) as ask:
        assert ask.post("events", {"user": 3, "item": 1005})["accepted"] == 1
        assert len(made) == 1
        assert ask.service.require_tasks().tasks() == []
        assert ask.service.models.default.about.number == 1
