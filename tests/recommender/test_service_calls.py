"""What a service calls: batches, a warm start, one recommender for many threads, the log."""

from __future__ import annotations

import logging
import pickle
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from tests.support.waiting import until
from xorec.core.errors import OptionError, UnknownIdError
from xorec.models.baselines.popularity import Popularity
from xorec.models.siml.dsiml import DSIML
from xorec.recommender.recommender import Recommender
from xorec.search import index as search_index

from .conftest import DATA, MODELS, QUICK, fitted


@pytest.fixture(scope="module", params=list(MODELS))
def shop(request: pytest.FixtureRequest) -> Recommender:
    return fitted(request.param)


@pytest.mark.parametrize("threads", [None, 1, 2])
@pytest.mark.parametrize(
    "rules",
    [
        {},
        {"seen": True},
        {"allow": range(1000, 1060, 2), "deny": [1002, 1004]},
        {"deny": [1000, 1001], "seen": True},
    ],
)
def test_many_lists_are_the_lists_one_by_one(
    shop: Recommender, threads: int | None, rules: dict[str, Any]
) -> None:
    users = [5, 88, 5, 0, 17]
    many = shop.recommend_many(users, 7, threads=threads, **rules)
    assert [best.query for best in many] == users
    for user, best in zip(users, many, strict=True):
        one = shop.recommend(user, 7, **rules)
        assert best.ids() == one.ids()
        assert [item.distance for item in best.items] == [item.distance for item in one.items]
        assert [i.score for i in best.items] == pytest.approx(
            [i.score for i in one.items], rel=1e-5, abs=1e-6
        )


@pytest.mark.parametrize("order", [1, -1])
def test_somebody_new_is_offered_none_of_their_items_in_whatever_order_they_come(
    shop: Recommender, order: int
) -> None:
    history = [1000 + item for item in (3, 8, 8, 21, 34, 55)][::order]
    rules: dict[str, Any] = {"deny": [1040, 1007], "allow": [*range(1059, 999, -1)]}
    for how in ({}, rules):
        best = shop.recommend_for(history, 60, **how)
        assert set(best.ids()) == {*range(1000, 1060)} - {*history} - {*how.get("deny", [])}
        assert best.ids() == shop.recommend_for(sorted(history), 60, **how).ids()


def test_an_unknown_user_among_many_is_named(shop: Recommender) -> None:
    with pytest.raises(UnknownIdError, match="user 'nobody' is not in the model"):
        shop.recommend_many([3, "nobody", 4])
    with pytest.raises(UnknownIdError, match="user 4711 "):
        shop.recommend_many([*range(90), 4711])
    with pytest.raises(OptionError, match="k is 0"):
        shop.recommend_many([3], 0)
    with pytest.raises(OptionError, match="threads is 0"):
        shop.recommend_many([3], threads=0)
    assert shop.recommend_many([]) == []


def test_a_warm_start_makes_the_indexes(shop: Recommender, tmp_path: Path) -> None:
    shop.save(tmp_path / "m.xorec")
    fresh = Recommender.load(tmp_path / "m.xorec")
    assert fresh.warm_up(5) is fresh
    assert "index" in vars(fresh)
    assert ("item_neighbours" in vars(fresh)) == shop.representation.compares_items


def test_threads_share_one_recommender(
    shop: Recommender, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shop.save(tmp_path / "m.xorec", index=False)
    fresh = Recommender.load(tmp_path / "m.xorec")
    made, start, begun = [], threading.Barrier(8), list[int]()
    build = search_index.index_of

    def slowly(representation: Any, *rest: Any, **more: Any) -> Any:
        if representation is fresh.representation:
            made.append(threading.get_ident())
            until(lambda: len(begun) == 8)  # all ask by now
        return build(representation, *rest, **more)

    monkeypatch.setattr(search_index, "index_of", slowly)

    def ask(first: int) -> list[Any]:
        start.wait()
        begun.append(first)
        found: list[Any] = [fresh.recommend(user, 9) for user in range(first, 90, 8)]
        if fresh.representation.compares_items:
            found += [fresh.similar(item, 5) for item in range(1000 + first, 1060, 8)]
        return found

    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(ask, range(8)))
    assert len(made) == 1
    for first, found in enumerate(answers):
        users = range(first, 90, 8)
        assert found[: len(users)] == [shop.recommend(user, 9) for user in users]
        items = range(1000 + first, 1060, 8)
        assert all(
            one == shop.similar(item, 5)
            for one, item in zip(found[len(users) :], items, strict=False)
        )


def test_a_pickle_has_the_state_and_not_the_indexes(shop: Recommender) -> None:
    expected = shop.recommend(3, 5)
    again = pickle.loads(pickle.dumps(shop))
    assert "index" not in vars(again)
    assert again.recommend(3, 5) == expected


def test_the_log_tells_what_took_how_long(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.INFO, logger="xorec"):
        model = DSIML(**QUICK).fit(DATA)
        shop = Recommender.from_model(model, DATA)
        shop.save(tmp_path / "m.xorec")
        Recommender.load(tmp_path / "m.xorec").recommend(3)
        shop.update(DATA.select(DATA.indices < 9))
    records: list[Any] = [record for record in caplog.records if record.name == "xorec"]
    events = [record.event for record in records]
    told = [one for one in events if one not in ("fit", "progress")]  # progress: of what is slow
    assert told == ["save", "load", "index", "update"]
    assert events.count("fit") == 2  # DSIML, and the SIML that it starts from
    assert all(record.seconds >= 0 for record in records)
    about = {record.event: record for record in records}
    assert about["load"].items == 60
    assert about["load"].path == str(tmp_path / "m.xorec")
    assert about["fit"].model == "dsiml"


def test_nothing_is_printed_unless_somebody_listens(capfd: pytest.CaptureFixture[str]) -> None:
    Recommender.from_model(Popularity().fit(DATA), DATA).recommend(3)
    assert capfd.readouterr() == ("", "")
