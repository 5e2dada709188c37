"""What the recommender answers: an item of a list, and the list. Raw ids only."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import polars as pl


@dataclass(frozen=True)
class Recommended:
    """One item of a list: its raw id, its name where there is one, and its score.

    distance: the Hamming distance, where the model ranks by codes.
    """

    id: Any
    name: str | None
    score: float
    distance: int | None = None


@dataclass(frozen=True, eq=False)
class Choice:
    """Items that may be shown, made ready by `Recommender.only` in the way its index wants them."""

    ready: Any


@dataclass(frozen=True)
class Recommendations:
    """The best items for `query` (a user, an item, or the list of a new user's items)."""

    query: Any
    items: tuple[Recommended, ...]

    def __len__(self) -> int:
        return len(self.items)

    def ids(self) -> list[Any]:
        """The raw ids, best first."""
        return [item.id for item in self.items]

    def to_frame(self) -> pl.DataFrame:
        """A polars frame: rank, id, name, score."""
        import polars as pl

        return pl.DataFrame(
            {
                "rank": range(1, len(self.items) + 1),
                "id": self.ids(),
                "name": [item.name for item in self.items],
                "score": [item.score for item in self.items],
            }
        )
