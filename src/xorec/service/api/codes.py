"""Figures for the page: histograms of distances."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from pydantic import BaseModel, Field

from xorec.core.bits import Words, bytes_for
from xorec.core.errors import OptionError, UnknownIdError
from xorec.core.printable import quoted
from xorec.service.api.base import Answer, JsonId, ModelQuery
from xorec.service.api.list_request import check_seq, item_of, items_of, user_of
from xorec.service.http.routes import Routes
from xorec.service.live.model import LiveModel
from xorec.service.service import Service

ROUTES = Routes("figures")


class HistogramQuery(ModelQuery):
    """How far all items are from a user or an item."""

    user: str | None = None
    item: str | None = None
    k: int = Field(10, ge=1)


class HistogramAnswer(Answer):
    """counts[d]: items at distance d. cut: of the k-th; tie: items at that distance."""

    counts: list[int]
    cut: int
    tie: int


_HEX = "Hexadecimal, bytes in order; bit 0 is the lowest bit of the first byte."


class CodesQuery(ModelQuery):
    """Whose codes: of a user, of a user with `items` (as well), of the items `of`."""

    user: str | None = None
    items: tuple[str, ...] = Field((), description="Items of a new user, or more of a user.")
    of: tuple[str, ...] = Field((), description="Items whose codes are wanted.")
    seq: int | None = Field(None, ge=0)


class ItemCode(BaseModel):
    """The code of an item; none where the model does not have the item, or has no codes."""

    id: JsonId
    code: str | None = Field(None, description=_HEX)


class CodesAnswer(Answer):
    """user: the code that a list for them is searched with, none where nothing is known of them.

    bits: of every code; none where the model has no codes.
    """

    bits: int | None = None
    user: str | None = Field(None, description=_HEX)
    items: list[ItemCode] = []


@ROUTES("GET", "/v1/codes")
async def get_codes(service: Service, query: CodesQuery) -> CodesAnswer:
    """The query code of a user, and the codes of items."""
    await check_seq(service, query.seq)
    live = service.models[query.name]
    wanted = items_of(live, query.of, "of")
    live.require_known(wanted)
    rows, _ = live.item_rows(wanted)
    learned = live.recommender.representation
    bits, words = learned.code_length, learned.codes_of(rows)
    codes: dict[int, str] = {}
    user = None
    if bits is not None and words is not None:
        codes = {row: _hex(one, bits) for row, one in zip(rows.tolist(), words, strict=True)}
        code = _user_code(live, query.user, query.items)
        user = None if code is None else _hex(code, bits)
    return CodesAnswer(
        model=live.ref,
        bits=bits,
        user=user,
        items=[ItemCode(id=item, code=codes.get(live.item_row(item))) for item in wanted],
    )


def _user_code(live: LiveModel, user: str | None, items: Sequence[str] = ()) -> Words | None:
    """The code that a user's list is searched with; None where nothing is known of them."""
    rows, _ = live.item_rows(items_of(live, items, "items"))
    whom = live.query_user(None if user is None else user_of(live, user))
    query = live.with_items(whom, rows).query
    return None if query is None else live.recommender.representation.query_code(query)


def _hex(words: Words, bits: int) -> str:
    """The bytes of a code, from the first bit on.

    >>> import numpy as np
    >>> _hex(np.array([0x1FF], dtype=np.uint64), 12)
    'ff01'
    """
    return words.astype("<u8").tobytes()[: bytes_for(bits)].hex()


@ROUTES("GET", "/v1/histogram", thread=True)
def get_histogram(service: Service, query: HistogramQuery) -> HistogramAnswer:
    """How many items stand at each distance, the cut-off, and the tie there."""
    live = service.models[query.name]
    bits = live.recommender.representation.code_length
    codes = live.recommender.representation.arrays().get("item_codes")
    if codes is None or bits is None:
        raise OptionError("this model has no codes: there are no distances to count.")
    if (query.user is None) == (query.item is None):
        raise OptionError("give user=ID or item=ID, one of them.")
    if query.item is not None:
        code = codes[live.require_item(item_of(live, query.item))]
    else:
        code = _user_code(live, query.user)
        if code is None:
            user = user_of(live, str(query.user))
            raise UnknownIdError(f"user {quoted(user)} has no code in this model.")
    distances = np.bitwise_count(codes ^ code).sum(axis=1, dtype=np.int64)
    counts = np.bincount(distances, minlength=bits + 1)
    cut = int(np.searchsorted(np.cumsum(counts), min(query.k, len(codes))))
    return HistogramAnswer(model=live.ref, counts=counts.tolist(), cut=cut, tie=int(counts[cut]))
