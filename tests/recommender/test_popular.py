"""What most users have: the list for somebody of whom nothing is known."""

from __future__ import annotations

from functools import cache

from xorec.models.baselines.popularity import Popularity
from xorec.recommender.recommender import Recommender
from xorec.testing.data import planted

DATA = planted(40, 80, per_user=6)


@cache
def _shop() -> Recommender:
    return Recommender.from_model(Popularity().fit(DATA), DATA)


def test_it_is_what_the_popularity_model_gives_to_a_user_without_items() -> None:
    best, scores = _shop().popular(80), _shop().recommend(3, k=80, seen=True)
    assert best.ids() == scores.ids()
    counts = dict(zip(DATA.items, DATA.item_counts.tolist(), strict=True))
    assert [one.score for one in best.items] == [counts[one] for one in best.ids()]


def test_allow_and_deny() -> None:
    every = _shop().popular(80).ids()
    assert _shop().popular(3, deny=every[:2]).ids() == every[2:5]
    for allow in (every[1::2], _shop().item_filter(every[1::2])):
        assert _shop().popular(3, allow=allow, deny=every[:2]).ids() == every[3:8:2]


def test_an_update_counts() -> None:
    rare = _shop().popular(80).ids()[-1]
    after = _shop().update([(user, rare) for user in range(40)])
    assert after.popular(1).ids() == [rare]
    assert _shop().popular(80).ids()[-1] == rare
