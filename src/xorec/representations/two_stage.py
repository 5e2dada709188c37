"""TwoStage: codes and item weights find a few items, what is finer puts them in order."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self, TypeVar

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import as_contiguous
from xorec.core.bits import Words
from xorec.core.errors import DataError
from xorec.core.schema import Schema, Tensor
from xorec.core.threads import ThreadPool
from xorec.representations.base import Floats, Representation, Rows, Scores, Tensors
from xorec.representations.codes import Codes
from xorec.representations.histories import Histories
from xorec.representations.neighbours import Neighbours
from xorec.representations.ranking_vectors import RANKING_VECTORS, RankingVectors, quantized_schema
from xorec.representations.vectors import Vectors

T = TypeVar("T", bound=np.generic)


@dataclass(frozen=True, eq=False)
class TwoStageQueries:
    """codes (B, W) find items; vectors (B, d) and histories (B rows of items) rank them.

    vectors, histories: None where the second stage has no use for them.

    >>> queries = TwoStageQueries(np.array([[1], [2]], dtype=np.uint64), None, None)
    >>> len(queries), queries[1].codes.tolist()
    (2, [[2]])
    """

    codes: Words
    vectors: Floats | None
    histories: Histories | None

    def __post_init__(self) -> None:
        object.__setattr__(self, "codes", _rows(self.codes, np.uint64))
        if self.vectors is not None:
            vectors = np.asarray(self.vectors, dtype=np.float32)
            object.__setattr__(self, "vectors", _rows(vectors, np.float32))

    def __len__(self) -> int:
        return len(self.codes)

    @property
    def shape(self) -> tuple[int, ...]:
        """(B, W), of the codes."""
        return self.codes.shape

    def __getitem__(self, rows: Any) -> TwoStageQueries:
        """Some of them: a slice, one row, or an array of rows."""
        if isinstance(rows, int | np.integer):
            rows = slice(rows, rows + 1) if rows >= 0 else slice(rows, rows + 1 or None)
        return TwoStageQueries(
            self.codes[rows],
            None if self.vectors is None else self.vectors[rows],
            None if self.histories is None else self.histories[rows],
        )


def _rows(array: npt.NDArray[T], number: type[np.generic]) -> npt.NDArray[T]:
    """Two-dimensional and as kernels take it; cheap for an array that is so already."""
    is_ready = type(array) is np.ndarray and array.ndim == 2 and array.dtype == number
    return array if is_ready and array.flags.carray else as_contiguous(np.atleast_2d(array))


class Sources(NamedTuple):
    """The most items from each source of candidates.

    near: the nearest to the user's code. best: the best by item weights. per_item: the nearest to
    the code of each of the user's items, the last item first, `neighbours` in all.
    """

    near: int
    best: int = 0
    per_item: int = 0
    neighbours: int = 0

    @property
    def most(self) -> int:
        """The most items of all sources together."""
        return self.near + self.best + self.neighbours


class TwoStage(Representation):
    """score(u, i) = sum of the item weights + blend x vector score, of the items that were found.

    vectors: dot products, or float users against bits. weights: item weights and histories. One of
    them may be None: then the score is that of the other.
    """

    kind = "two-stage"
    schema: ClassVar[Schema] = {
        **{name: Codes.schema[name] for name in ("bits", "user_codes", "item_codes")},
        **RANKING_VECTORS,
        **{name: one.as_optional() for name, one in Neighbours.schema.items()},
        "sources": Tensor("int64", (4,), least=0, most=1 << 24),
        "blend": Tensor("float32", (1,), least=0),
    }

    def __init__(
        self,
        codes: Codes,
        vectors: RankingVectors | None,
        weights: Neighbours | None,
        sources: Sources,
        blend: float = 1.0,
    ) -> None:
        if vectors is None and weights is None:
            raise DataError("two stages need vectors or item weights for the second.")
        if vectors is not None:
            vectors.check(codes)
        n, m = self.n_users, self.n_items = codes.n_users, codes.n_items
        self.code_length = codes.bits
        if weights is not None and (weights.n_users, weights.n_items) != (n, m):
            raise DataError(
                f"there are item weights of {weights.n_users} users and {weights.n_items} items, "
                f"but codes of {n} and {m}."
            )
        if sources.near < 1 or min(sources) < 0:
            raise DataError(f"the sources are {tuple(sources)}: at least one item must be near.")
        if weights is None and sources != Sources(sources.near):
            raise DataError("without item weights only the user's code finds candidates.")
        self.codes = Codes(codes.user_rows, codes.item_rows, codes.bits)
        self.vectors, self.weights = vectors, weights
        self.sources, self.blend = sources, np.float32(blend)

    def with_sources(self, sources: Sources) -> TwoStage:
        """Two stages with other numbers of candidates."""
        return TwoStage(self.codes, self.vectors, self.weights, sources, float(self.blend))

    def with_blend(self, blend: float) -> TwoStage:
        """Two stages with another weight of the vectors."""
        return TwoStage(self.codes, self.vectors, self.weights, self.sources, blend)

    def queries(self, users: Rows) -> TwoStageQueries:
        rows: Rows | slice = users
        if len(users) == 1 and 0 <= users[0] < self.n_users:  # a slice costs less than a list
            rows = slice(int(users[0]), int(users[0]) + 1)
        return TwoStageQueries(
            self.codes.user_rows[rows],
            None if self.vectors is None else self.vectors.users.floats(rows),
            None if self.weights is None else self.weights.queries(users),
        )

    def score(self, queries: Any) -> Scores:
        """The second stage's score of every item, found or not."""
        scores = np.empty((len(queries), self.n_items), dtype=np.float32)
        every = np.arange(self.n_items, dtype=np.int32)[None], np.array([self.n_items])
        with ThreadPool(1) as pool:
            for b in range(len(queries)):
                one = queries[b]
                sums = None if self.weights is None else self.weights.score(one.histories)
                scores[b] = self.combine(sums, self.vector_scores(one, every, pool))[0]
        return scores

    def vector_scores(
        self,
        queries: TwoStageQueries,
        candidates: tuple[npt.NDArray[np.int32], npt.NDArray[np.int64]],
        pool: ThreadPool,
    ) -> Scores | None:
        """The scores (B, s) by vectors of candidates: (items (B, s), counts (B,))."""
        if self.vectors is None or queries.vectors is None:
            return None
        return self.vectors.rescore(self.codes, queries.vectors, candidates, pool)

    def combine(self, sums: Scores | None, products: Scores | None) -> Scores:
        """The score from the sums of item weights and the scores by vectors."""
        if sums is None:
            assert products is not None
            return products
        return sums if products is None else sums + self.blend * products

    def score_parts(self, query: Any, item: int) -> dict[str, float]:
        """The parts of the item weights and of the vectors, each times its weight."""
        if self.weights is None or self.vectors is None:
            return {}
        row = np.array([[item]], dtype=np.int32), np.ones(1, dtype=np.int64)
        with ThreadPool(1) as pool:
            products = self.vector_scores(query, row, pool)
        assert products is not None
        sums = self.weights.score(query.histories)
        vectors = float(self.blend * products[0, 0])
        return {"item weights": float(sums[0, item]), "vectors": vectors}

    @cached_property
    def float_vectors(self) -> Vectors | None:
        """The vectors as float32, where items have any."""
        return None if self.vectors is None else self.vectors.floats()

    def arrays(self) -> Tensors:
        """The codes, and the vectors as float32."""
        if self.vectors is None:
            return self.codes.arrays()
        vectors = self.float_vectors
        users = {"user_vectors": self.vectors.users.floats()}
        return {**self.codes.arrays(), **(users if vectors is None else vectors.arrays())}

    def among_items(self) -> Representation:
        """By the vectors, or else by the codes."""
        return (self.float_vectors or self.codes).among_items()

    def among_users(self) -> Representation:
        """By the vectors, or else by the codes."""
        return (self.float_vectors or self.codes).among_users()

    def likeness(self, items: Rows, item: int) -> Scores:
        """By the item weights if there are any, else as `among_items` compares."""
        if self.weights is not None:
            return self.weights.likeness(items, item)
        return super().likeness(items, item)

    @property
    def score_description(self) -> str:
        weights = "" if self.weights is None else self.weights.score_description
        if self.vectors is None:
            return weights
        vectors = self.vectors.description
        return f"{weights}, plus {self.blend:.3g} times {vectors}" if weights else vectors

    def query_code(self, query: Any) -> Words:
        return self.codes.query_code(query.codes)

    def codes_of(self, items: Rows) -> Words:
        return self.codes.codes_of(items)

    def bits_agreed(self, query: Any, item: int) -> int:
        return self.codes.bits_agreed(query.codes, item)

    def item_distances(self, items: Rows, item: int) -> npt.NDArray[np.integer] | None:
        by_bits = self.weights is None and self.float_vectors is None
        return self.codes.item_distances(items, item) if by_bits else None

    def metadata(self) -> dict[str, Any]:
        return self.codes.metadata()

    @property
    def second_stage_nbytes(self) -> int:
        """Bytes of the second stage without its users."""
        vectors = 0 if self.vectors is None else self.vectors.item_nbytes
        return vectors + (0 if self.weights is None else self.weights.item_nbytes)

    def tensors(self) -> Tensors:
        return {
            **self.codes.tensors(),
            **({} if self.vectors is None else self.vectors.tensors()),
            **({} if self.weights is None else self.weights.tensors()),
            "sources": np.array(self.sources, dtype=np.int64),
            "blend": np.array([self.blend], dtype=np.float32),
        }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, npt.NDArray[Any]]) -> Self:
        codes = Codes.from_tensors({name: tensors[name] for name in _CODES})
        weights = Neighbours.from_tensors(tensors) if "neighbour_indptr" in tensors else None
        sources = Sources(*(int(count) for count in tensors["sources"]))
        vectors = RankingVectors.from_tensors(tensors)
        return cls(codes, vectors, weights, sources, float(tensors["blend"][0]))


_CODES = ("user_codes", "item_codes", "bits")


class Shortlist:
    """The `size` nearest items by code, in the order of vectors."""

    kind = "shortlist"
    schema: ClassVar[Schema] = {
        **{name: Codes.schema[name] for name in ("bits", "user_codes", "item_codes")},
        **quantized_schema("user"),
        **quantized_schema("item", optional=True),
        "size": Tensor("int64", (1,), least=1),
    }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, npt.NDArray[Any]]) -> TwoStage:
        """The two stages of an older file."""
        sources = np.array([tensors["size"][0], 0, 0, 0], dtype=np.int64)
        blend = np.ones(1, dtype=np.float32)
        return TwoStage.from_tensors({**tensors, "sources": sources, "blend": blend})
