"""The values of the tables: what a recommender has of items and users, by consecutive rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.bits import Words
from xorec.core.errors import StoreError
from xorec.core.printable import quoted
from xorec.data.ids import Ids
from xorec.data.text import Text
from xorec.recommender.recommender import Recommender
from xorec.representations.base import Representation
from xorec.representations.codes import Codes
from xorec.representations.two_stage import TwoStage
from xorec.stores.about import About

Makers = Mapping[str, Callable[[slice], Any]]
"""By column: the values of consecutive rows."""
Values = tuple[int, Makers]
"""The rows of a table, and its columns; there may be more than its schema asks for."""


def codes_of(learned: Representation) -> Codes:
    """The codes that the store's distances are between."""
    codes = learned.codes if isinstance(learned, TwoStage) else learned
    assert isinstance(codes, Codes)
    return codes


def about(recommender: Recommender, told: About) -> Values:
    """Names and values of `About`."""
    names, values = zip(*told.rows(), strict=True)
    return len(names), {"name": lambda span: [*names[span]], "value": lambda span: [*values[span]]}


def items(recommender: Recommender, told: About) -> Values:
    """Row, id, place among equals, name, code, and what the distance is corrected by."""
    ids, names, tie_rank = recommender.item_ids, recommender.names, recommender.tie_rank
    makers: dict[str, Callable[[slice], Any]] = {
        "item_row": row_numbers,
        "item_id": lambda span: _ids(ids, span, "the id of an item"),
        "tie_rank": lambda span: tie_rank[span],
    }
    if names is not None:
        makers["name"] = lambda span: _text(names, span, "the name of an item")
    if told.bits:
        codes = codes_of(recommender.representation)
        makers["code"] = lambda span: codes.item_rows[span]
        makers["set_bits"] = lambda span: _set_bits(codes.item_rows[span])
        if (offsets := codes.item_offsets) is not None:
            makers["item_offset"] = lambda span: offsets[span].astype(np.int32)
    return len(ids), makers


def users(recommender: Recommender, told: About) -> Values:
    """Row, id and code."""
    ids = recommender.user_ids
    makers: dict[str, Callable[[slice], Any]] = {
        "user_row": row_numbers,
        "user_id": lambda span: _ids(ids, span, "the id of a user"),
    }
    if told.bits:
        codes = codes_of(recommender.representation)
        makers["code"] = lambda span: codes.user_rows[span]
        makers["set_bits"] = lambda span: _set_bits(codes.user_rows[span])
    return len(ids), makers


def categories(recommender: Recommender, told: About) -> Values:
    """The categories of each item, several an item."""
    found = recommender.categories
    assert found is not None
    indptr, indices, labels = found.indptr, found.indices, found.labels

    def label(span: slice) -> list[str]:
        return _strings(labels.strings(indices[span].tolist()), "a category")

    return len(indices), {"item_row": lambda span: rows_of_pairs(indptr, span), "category": label}


def seen(recommender: Recommender, told: About) -> Values:
    """What each user has, and what it counts where item weights look at it."""
    indptr, rows = recommender.seen
    makers: dict[str, Callable[[slice], Any]] = {
        "user_row": lambda span: rows_of_pairs(indptr, span),
        "item_row": lambda span: rows[span],
    }
    learned = recommender.representation
    if isinstance(learned, TwoStage) and learned.weights is not None:
        weights = learned.weights.history.data
        makers["weight"] = lambda span: weights[span]
    return len(rows), makers


def row_numbers(span: slice) -> npt.NDArray[np.int32]:
    """The rows of a span themselves."""
    return np.arange(span.start, span.stop, dtype=np.int32)


def rows_of_pairs(indptr: npt.NDArray[np.int64], span: slice) -> npt.NDArray[np.int32]:
    """The rows that the pairs of a span belong to; indptr: where each row's pairs begin.

    >>> rows_of_pairs(np.array([0, 2, 2, 3]), slice(1, 3))
    array([0, 2], dtype=int32)
    """
    rows = np.searchsorted(indptr, np.arange(span.start, span.stop), side="right") - 1
    return np.asarray(rows, dtype=np.int32)


def _set_bits(words: Words) -> npt.NDArray[np.int32]:
    return np.asarray(np.bitwise_count(words).sum(axis=1, dtype=np.int32))


def _ids(ids: Ids, span: slice, what: str) -> Any:
    return _text(ids.values, span, what) if isinstance(ids.values, Text) else ids.values[span]


def _text(text: Text, span: slice, what: str) -> list[str]:
    return _strings(text.strings(range(span.start, span.stop)), what)


def _strings(strings: list[str], what: str) -> list[str]:
    """The strings; refused where one is no Unicode, which no text column takes."""
    try:
        "".join(strings).encode()
    except UnicodeEncodeError:
        wrong = next(one for one in strings if any("\ud800" <= c <= "\udfff" for c in one))
        raise StoreError(
            f"{what} is {quoted(wrong)}, whose bytes are no UTF-8 and fit no text column: mend it "
            "in the data and fit again."
        ) from None
    return strings
