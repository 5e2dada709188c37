"""Figures for the page: histograms of distances."""

from __future__ import annotations

from typing import Any

import numpy as np

from xorec.core.errors import OptionError, UnknownIdError
from xorec.core.printable import quoted
from xorec.service.endpoints.asking import one_of
from xorec.service.http.routes import Call, Route
from xorec.service.live.model import LiveModel
from xorec.service.schemas.admin import HistogramAnswer, HistogramQuery
from xorec.service.service import Service


def get_histogram(service: Service, call: Call) -> HistogramAnswer:
    """How many items stand at each Hamming distance from a user or an item."""
    query: HistogramQuery = call.query
    live = service.models[query.name]
    bits = live.recommender.representation.code_length
    codes = live.recommender.representation.arrays().get("item_codes")
    if codes is None or bits is None:
        raise OptionError("this model has no codes: there are no distances to count.")
    if (query.user is None) == (query.item is None):
        raise OptionError("give user=ID or item=ID, one of them.")
    if query.item is not None:
        row = live.require_item(one_of(live, "item", query.item))
        code = codes[row]
    else:
        code = _code_of(live, str(query.user))
    distances = np.bitwise_count(codes ^ code).sum(axis=1, dtype=np.int64)
    counts = np.bincount(distances, minlength=bits + 1)
    cut = int(np.searchsorted(np.cumsum(counts), min(query.k, len(codes))))
    return HistogramAnswer(model=live.ref, counts=counts.tolist(), cut=cut, tie=int(counts[cut]))


def _code_of(live: LiveModel, text: str) -> Any:
    user = one_of(live, "user", text)
    query = live.asker(user).query
    code = None if query is None else live.recommender.representation.query_code(query)
    if code is None:
        raise UnknownIdError(f"user {quoted(user)} has no code in this model.")
    return code


ROUTES = (
    Route(
        method="GET",
        path="/v1/histogram",
        handler=get_histogram,
        query=HistogramQuery,
        answer=HistogramAnswer,
        thread=True,
        tag="figures",
        summary="How many items stand at each distance, the cut-off, and the tie there.",
    ),
)
