"""Categories: which there are, and how many items are in each."""

from __future__ import annotations

from xorec.service.http.routes import Call, Route
from xorec.service.schemas.catalogue import CategoryList, CategoryOut, CategoryQuery
from xorec.service.service import Service


def get_categories(service: Service, call: Call) -> CategoryList:
    """The categories that most items are in."""
    query: CategoryQuery = call.query
    live = service.models[query.name]
    found = live.categories.most_items(query.k)
    return CategoryList(
        model=live.ref, categories=[CategoryOut(name=name, count=count) for name, count in found]
    )


ROUTES = (
    Route(
        method="GET",
        path="/v1/categories",
        handler=get_categories,
        query=CategoryQuery,
        answer=CategoryList,
        thread=True,
        tag="items",
        summary="Categories and how many items are in each, those with most items first.",
    ),
)
