"""Codes: the bits that a list is searched with, and those of items."""

from __future__ import annotations

from xorec.core.bits import Words, bytes_for
from xorec.service.endpoints.asking import check_seq, items_of, one_of
from xorec.service.endpoints.catalogue import is_known
from xorec.service.http.routes import Call, Route
from xorec.service.live.model import NOBODY, LiveModel
from xorec.service.schemas.codes import CodesAnswer, CodesQuery, ItemCode
from xorec.service.service import Service


async def get_codes(service: Service, call: Call) -> CodesAnswer:
    """The code of somebody as of now, and the codes of items."""
    query: CodesQuery = call.query
    await check_seq(service, query.seq)
    live = service.models[query.name]
    wanted = items_of(live, query.of, "of")
    for item in wanted:
        if not is_known(service, live, item):
            live.require_item(item)
    rows, _ = live.item_rows(wanted)
    learned = live.recommender.representation
    bits, words = learned.code_length, learned.codes_of(rows)
    codes: dict[int, str] = {}
    if bits is not None and words is not None:
        codes = {row: _hex(one, bits) for row, one in zip(rows.tolist(), words, strict=True)}
    return CodesAnswer(
        model=live.ref,
        bits=bits,
        user=_asker_code(live, query, bits),
        items=[ItemCode(id=item, code=codes.get(live.item_row(item))) for item in wanted],
    )


def _asker_code(live: LiveModel, query: CodesQuery, bits: int | None) -> str | None:
    """The code that a list for them is searched with; None where there is none."""
    asker = NOBODY if query.user is None else live.asker(one_of(live, "user", query.user))
    rows, _ = live.item_rows(items_of(live, query.items, "items"))
    if len(rows):
        asker = live.somebody(asker, rows)
    if bits is None or asker.query is None:
        return None
    words = live.recommender.representation.query_code(asker.query)
    return None if words is None else _hex(words, bits)


def _hex(words: Words, bits: int) -> str:
    """The bytes of a code, from the first bit on.

    >>> import numpy as np
    >>> _hex(np.array([0x1FF], dtype=np.uint64), 12)
    'ff01'
    """
    return words.astype("<u8").tobytes()[: bytes_for(bits)].hex()


ROUTES = (
    Route(
        method="GET",
        path="/v1/codes",
        handler=get_codes,
        query=CodesQuery,
        answer=CodesAnswer,
        tag="figures",
        summary="The bits that somebody's list is searched with, and the bits of items.",
    ),
)
