"""About: what an export says of itself, so that whoever opens it knows how its lists are made."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from xorec.core.errors import StoreError

FORMAT = 1
"""The number of this layout of tables."""
Ranking = Literal["codes", "masked-codes", "two-stage", "lists"]


@dataclass(frozen=True, kw_only=True)
class About:
    """The facts of an export, kept in it as a table of names and values (JSON).

    ranking: how the store ranks. codes: by Hamming distance, less the item's offset where there are
    `offsets`; masked-codes: by the bits of the user that an item lacks; two-stage: codes find, the
    tables of vectors and weights put in order; lists: only by the lists that were exported.
    bits: of a code, 0 for none. item_kind, user_kind: of `data.ids`; "": no users were exported.
    lists: the k of the lists, 0 for none. The rest is of two stages, see `TwoStage`: sources and
    blend; dimensions: of the vectors, 0 for none; keep: the type of the items' vectors, "" for
    none; bias: whether items have one; weights_keep: the type of the item weights, "" for none;
    history_weights: whether a user's items count differently.
    """

    model: str
    ranking: Ranking
    bits: int
    items: int
    item_kind: str
    users: int = 0
    user_kind: str = ""
    offsets: bool = False
    names: bool = False
    categories: bool = False
    lists: int = 0
    sources: tuple[int, ...] = ()
    blend: float = 1.0
    dimensions: int = 0
    keep: str = ""
    bias: bool = False
    weights_keep: str = ""
    history_weights: bool = False
    digest: str = ""
    xorec: str = ""
    format: int = FORMAT

    def rows(self) -> Iterator[tuple[str, str]]:
        """Names and values as text."""
        for name, value in asdict(self).items():
            yield name, json.dumps(value)

    @classmethod
    def of_rows(cls, rows: Iterable[tuple[str, str]], where: str) -> About:
        """The inverse of `rows`; where: the store, for messages."""
        try:
            found: dict[str, Any] = {name: json.loads(value) for name, value in rows}
            if found["format"] == FORMAT:
                known = {field.name for field in fields(cls)}
                made = {name: value for name, value in found.items() if name in known}
                return cls(**{**made, "sources": tuple(found["sources"])})
        except (ValueError, TypeError, KeyError):
            raise StoreError(
                f"{where} says nothing that xorec understands of its tables: export again."
            ) from None
        raise StoreError(
            f"{where} has tables of format {found['format']}, this xorec knows {FORMAT}: export "
            "the model again with this version."
        )

    def describe(self) -> str:
        """What was exported and who makes the lists of it, in one line."""
        codes = f"{self.model}: {self.bits}-bit codes"
        if self.ranking == "lists":
            return f"{self.model}: each user's {self.lists} best items; the store does not rank"
        if self.ranking == "masked-codes":
            return f"{codes}; the store ranks by the user's bits that an item lacks, then tie_rank"
        if self.ranking == "codes":
            less = ", less the item's offset" if self.offsets else ""
            return f"{codes}; the store ranks by Hamming distance{less}, then tie_rank"
        parts = [
            *(["item weights"] if self.weights_keep else []),
            *(["vectors"] if self.dimensions else []),
        ]
        return (
            f"{codes} and {' and '.join(parts)}; the store finds by code, `xorec recommend` puts "
            "in order"
        )
