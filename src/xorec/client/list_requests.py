"""Requests for lists: a person's, of similar items, popular, latest, trending."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from xorec.client.request import Request, body, pairs, reader
from xorec.service.api.base import JsonId
from xorec.service.api.batch import BatchAnswer
from xorec.service.api.list_request import Where
from xorec.service.api.popular import RankedAnswer
from xorec.service.api.recommend import RecommendAnswer
from xorec.service.api.similar import ExplainAnswer, SimilarAnswer, SimilarUsersAnswer

Ids = Iterable[JsonId]


def query(
    user: JsonId | None = None,
    *,
    items: Ids = (),
    k: int = 10,
    seen: bool = False,
    allow: Ids | None = None,
    deny: Ids = (),
    shown: Ids = (),
    where: Where | Mapping[str, Any] | None = None,
    model: str | None = None,
    experiment: str | None = None,
    explain: bool = False,
) -> dict[str, Any]:
    """The body of a request for a list: what `recommend` sends and `recommend_batch` takes.

    >>> query("ann", k=3, deny=["tea"])
    {'user': 'ann', 'k': 3, 'deny': ['tea']}
    """
    return body(
        user=user,
        items=list(items) or None,
        k=k,
        seen=seen or None,
        allow=None if allow is None else list(allow),
        deny=list(deny) or None,
        shown=list(shown) or None,
        where=where,
        model=model,
        experiment=experiment,
        explain=explain or None,
    )


def recommend(
    user: JsonId | None = None,
    *,
    items: Ids = (),
    k: int = 10,
    seen: bool = False,
    allow: Ids | None = None,
    deny: Ids = (),
    shown: Ids = (),
    where: Where | Mapping[str, Any] | None = None,
    model: str | None = None,
    experiment: str | None = None,
    explain: bool = False,
) -> Request[RecommendAnswer]:
    """The `k` best items for a user, for somebody new who has `items`, or for both together.

    seen: items that the user has may come, too. allow: only these items; deny, shown: not these.
    where: categories (any, all, none) and attributes. experiment: the model is the user's arm.

    >>> recommend("ann", k=2).body
    {'user': 'ann', 'k': 2}
    """
    wanted = query(
        user,
        items=items,
        k=k,
        seen=seen,
        allow=allow,
        deny=deny,
        shown=shown,
        where=where,
        model=model,
        experiment=experiment,
        explain=explain,
    )
    return Request("POST", "/v1/recommend", reader(RecommendAnswer), body=wanted, seq="body")


def recommend_batch(
    queries: Sequence[Mapping[str, Any]], *, distinct: bool = False
) -> Request[BatchAnswer]:
    """Several lists by one request, each with its own status. queries: see `query`.

    distinct: the lists are the shelves of one page, and no item comes twice.

    >>> recommend_batch([query("ann"), query(items=["tea"])]).path
    '/v1/recommend/batch'
    """
    wanted = {"queries": [dict(one) for one in queries], "distinct": distinct}
    return Request("POST", "/v1/recommend/batch", reader(BatchAnswer), body=wanted, seq="queries")


def next_items(request_id: str, k: int | None = None) -> Request[RecommendAnswer]:
    """Go on after a list that was answered, without repeats.

    >>> next_items("r1", 5).params
    (('request_id', 'r1'), ('k', '5'))
    """
    return Request("GET", "/v1/next", reader(RecommendAnswer), pairs(request_id=request_id, k=k))


def similar(
    item: JsonId,
    k: int = 10,
    *,
    allow: Ids | None = None,
    deny: Ids = (),
    category: Sequence[str] = (),
    not_category: Sequence[str] = (),
    model: str | None = None,
) -> Request[SimilarAnswer]:
    """The `k` items most like this one.

    >>> similar("tea", category=["drinks"]).params
    (('item', 'tea'), ('k', '10'), ('category', 'drinks'))
    """
    params = pairs(
        item=item,
        k=k,
        allow=None if allow is None else list(allow),
        deny=list(deny),
        category=list(category),
        not_category=list(not_category),
        model=model,
    )
    return Request("GET", "/v1/similar", reader(SimilarAnswer), params, seq="query")


def similar_users(
    user: JsonId, k: int = 10, *, model: str | None = None
) -> Request[SimilarUsersAnswer]:
    """The `k` users most like this one.

    >>> similar_users(7).params
    (('user', '7'), ('k', '10'))
    """
    params = pairs(user=user, k=k, model=model)
    return Request("GET", "/v1/similar-users", reader(SimilarUsersAnswer), params)


def explain(
    item: JsonId,
    user: JsonId | None = None,
    *,
    items: Ids = (),
    k: int = 5,
    model: str | None = None,
) -> Request[ExplainAnswer]:
    """Why this item for a user, or for somebody who has `items`.

    >>> explain("tea", "ann").params
    (('item', 'tea'), ('user', 'ann'), ('k', '5'))
    """
    params = pairs(item=item, user=user, items=list(items), k=k, model=model)
    return Request("GET", "/v1/explain", reader(ExplainAnswer), params, seq="query")


def _ranked(path: str, **wanted: Any) -> Request[RankedAnswer]:
    return Request("GET", path, reader(RankedAnswer), pairs(**wanted), seq="query")


def popular(
    k: int = 10,
    *,
    user: JsonId | None = None,
    deny: Ids = (),
    category: Sequence[str] = (),
    not_category: Sequence[str] = (),
    model: str | None = None,
) -> Request[RankedAnswer]:
    """What most people have; without what `user` has.

    >>> popular(3, user="ann").params
    (('k', '3'), ('user', 'ann'))
    """
    categories = {"category": list(category), "not_category": list(not_category)}
    return _ranked("/v1/popular", k=k, user=user, deny=list(deny), **categories, model=model)


def latest(
    k: int = 10,
    *,
    user: JsonId | None = None,
    deny: Ids = (),
    category: Sequence[str] = (),
    not_category: Sequence[str] = (),
    model: str | None = None,
) -> Request[RankedAnswer]:
    """The newest items, also those that no model has yet.

    >>> latest(deny=["tea"]).params
    (('k', '10'), ('deny', 'tea'))
    """
    categories = {"category": list(category), "not_category": list(not_category)}
    return _ranked("/v1/latest", k=k, user=user, deny=list(deny), **categories, model=model)


def trending(
    window: str = "24h",
    k: int = 10,
    *,
    user: JsonId | None = None,
    deny: Ids = (),
    category: Sequence[str] = (),
    not_category: Sequence[str] = (),
    model: str | None = None,
) -> Request[RankedAnswer]:
    """What people took in the last while. window: 90s, 15m, 24h, 7d.

    >>> trending("7d").params
    (('window', '7d'), ('k', '10'))
    """
    categories = {"category": list(category), "not_category": list(not_category)}
    ranked = {"k": k, "user": user, "deny": list(deny), **categories, "model": model}
    return _ranked("/v1/trending", window=window, **ranked)
