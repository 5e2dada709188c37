"""One pass over the training pairs, block by block: users first, then items, on a pool of threads.

A model defines the two steps (`TripletStep`). The pass gives every pair once, with fresh negatives,
and the same result for any number of threads.

A step is a function: triplets and tables in, new rows out. It writes none of its arguments, so it
may run in any thread, process or machine; the pass writes the new rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, Protocol

import numpy as np
import numpy.typing as npt

from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.training.blocks import Block, blocks_of, item_parts, user_blocks_of
from xorec.training.rows import empty_rows, hold_rows, renumber, take_rows, write_rows, zero_rows

BY_SAMPLING = "pairs are sampled in proportion to their weights, in each epoch"
"""The effect of weights on a model that learns by passes (`Model.weighting`)."""
_BLOCKS, _FEWEST = 64, 256
"""The fewest blocks of a pass, and pairs of a block, which is stronger. In larger blocks rows would
be too old, and popular items overshoot."""
SHARE = 1 << 20
"""Numbers that a thread reads in less time than it takes to wake another thread."""
_PIECES = 4
"""The most pieces of a block's users for each thread."""


class Triplets(NamedTuple):
    """Pairs, grouped by user, with their negatives.

    users, positives: (P,) rows; negatives: (P, K) rows, -1 where a user has every item.
    """

    users: npt.NDArray[np.int32]
    positives: npt.NDArray[np.int32]
    negatives: npt.NDArray[np.int32]


class Sampler(Protocol):
    """The source of a pass's negatives (`data.negatives.Negatives`)."""

    def draw(
        self,
        out: npt.NDArray[np.int32],
        pairs: npt.NDArray[np.int64],
        users: npt.NDArray[np.int32],
        seed: int,
        epoch: int,
    ) -> None:
        """Fill out (len(pairs), K): K negatives for each pair, for any part of the pairs alone."""


class UserResult(NamedTuple):
    """The result of the users' step for some triplets.

    users (R,): in the order of the triplets; rows: their new rows, R of each array; kept: data of
    each pair for the items' step, and `losses` (P,), each pair's loss when it was met.
    """

    triplets: Triplets
    users: npt.NDArray[np.int32]
    rows: Any
    kept: Any


class ItemResult(NamedTuple):
    """The result of the items' step for a block: the items (T,), and their new rows."""

    items: npt.NDArray[np.int64]
    rows: Any


@dataclass(frozen=True, eq=False)
class TripletStep(ABC):
    """A model's step for the triplets of one block.

    users, items: the tables (`training.rows`) that the new rows are written to, and read from; or
    tables of gradients.
    """

    users: Any
    items: Any
    moves_items: ClassVar[bool] = True
    """Whether there is an items' step at all."""
    reads_other_items: ClassVar[bool] = True
    """Whether an item's step reads other items, which must then be as before the block. Else items
    move on the table itself, without copies of rows, which cost BPR a tenth of its time."""

    @abstractmethod
    def keep(self, pairs: int, negatives: int, users: int) -> Any:
        """Arrays for `kept`: a named tuple with `losses` (P,)."""

    @abstractmethod
    def move_users(self, triplets: Triplets, new: Any, kept: Any) -> None:
        """Fill `new`, the rows of the users of these triplets in their order, and `kept`."""

    @abstractmethod
    def move_items(self, result: UserResult, local: Triplets, new: Any) -> None:
        """Move `new`, the rows of some items, by the pairs of a result, in order.

        local: the triplets by rows: of `result.rows`, and of `new`, -1 where an item is not there.
        """

    def finish_items(self, items: npt.NDArray[np.int64], new: Any) -> Any:
        """The rows to write, when all pairs of the block have moved `new`."""
        return new

    def touched(self, result: UserResult) -> npt.NDArray[np.int32]:
        """(P, T): the items that the items' step moves, besides the positive of each pair."""
        return result.triplets.negatives

    def start_items(self, items: npt.NDArray[np.int64]) -> Any:
        """The rows at the start of the items' step."""
        return take_rows(self.items, items)

    def loss(self, losses: npt.NDArray[np.float32]) -> float:
        """The sum of the loss over the triplets of a block, from that of each pair."""
        return float(losses.sum(dtype=np.float64))

    def step_users(self, triplets: Triplets) -> UserResult:
        """All pairs of some users, in order; items are as before the block."""
        first = np.ones(len(triplets.users), dtype=np.bool_)
        np.not_equal(triplets.users[1:], triplets.users[:-1], out=first[1:])
        users = triplets.users[first]
        new = empty_rows(self.users, len(users))
        pairs, negatives = triplets.negatives.shape
        kept = self.keep(pairs, negatives, len(users))
        self.move_users(triplets, new, kept)
        return UserResult(triplets, users, new, kept)

    def step_items(self, results: Sequence[UserResult], part: int, parts: int) -> ItemResult:
        """All pairs of a block in order, for the items v with v & (parts - 1) == part."""
        slots = np.full(len(self.items[0]), -1, dtype=np.int32)
        items, triplets = self._renumbered(results, part, parts, slots)
        new = self.start_items(items)
        for result, local in zip(results, triplets, strict=True):
            self.move_items(result, local, new)
        return ItemResult(items, self.finish_items(items, new))

    def step_items_in_place(self, results: Sequence[UserResult], part: int, parts: int) -> None:
        """The same on the tables themselves, for a model whose `reads_other_items` is False."""
        raise NotImplementedError

    def _renumbered(
        self, results: Sequence[UserResult], part: int, parts: int, slots: npt.NDArray[np.int32]
    ) -> tuple[npt.NDArray[np.int64], list[Triplets]]:
        """The items of a part that are touched, and the triplets by their numbers (`renumber`)."""
        ids, count, renumbered = np.empty(len(slots), dtype=np.int64), 0, []
        for result in results:
            triplets = result.triplets._replace(negatives=self.touched(result))
            local = Triplets(*(np.empty_like(array) for array in triplets))
            count = renumber(triplets, part, parts, slots, ids, count, local)
            renumbered.append(local)
        return ids[:count].copy(), renumbered


@dataclass(frozen=True, eq=False)
class GradientStep(TripletStep):
    """A step that reads vectors and writes tables of gradients (`training.rows.Gradients`)."""

    user_vectors: npt.NDArray[Any]
    item_vectors: npt.NDArray[Any]

    def start_items(self, items: npt.NDArray[np.int64]) -> Any:
        return zero_rows(self.items, len(items))


class Moving(NamedTuple):
    """Masks of the rows that a pass may move; the others are read and stay as they are."""

    users: npt.NDArray[np.bool_]
    items: npt.NDArray[np.bool_]


StepOf = Callable[[int, int], TripletStep]
"""The step of a block, by its number in the pass and its number of pairs."""


@dataclass(frozen=True, eq=False)
class Pass:
    """One epoch's pass: its pairs, its negatives, its offset in the random streams."""

    train: Interactions
    sampler: Sampler
    negatives: int
    block_size: int
    seed: int
    epoch: int
    pool: ThreadPool
    least_blocks: int = _BLOCKS
    per_user: bool = False
    """Every user has as many pairs in the pass as any other, drawn from their own."""
    moving: Moving | None = None
    """None: all rows."""

    def run(self, step_of: StepOf, after: Callable[[int], object] = lambda pairs: None) -> float:
        """Learn from every pair once (or by weight); returns the mean loss of a triplet when met.

        after(pairs): called after each block with its number of pairs.
        """
        size = min(self.block_size, max(_FEWEST, self.train.n_pairs // self.least_blocks))
        deal = user_blocks_of if self.per_user else blocks_of
        total, pairs = 0.0, 0
        for number, block in enumerate(deal(self.train, size, self.seed, self.epoch)):
            total += self.run_block(block, number, step_of(number, len(block)))
            pairs += len(block)
            after(len(block))
        return total / (pairs * self.negatives)

    def run_block(self, block: Block, number: int, step: TripletStep) -> float:
        """Users, then items; writes their new rows and returns the sum of the losses."""
        numbers = len(block) * (1 + self.negatives) * step.users[0].shape[-1]
        threads = min(self.pool.threads, 1 + numbers // SHARE)
        each = max(1, min(_PIECES, numbers // (threads * 2 * SHARE)))
        pieces = min(block.n_runs, threads * each) if threads > 1 else 1
        results: dict[int, UserResult] = {}

        def step_users(piece: int) -> None:
            begin, end = (block.n_runs * at // pieces for at in (piece, piece + 1))
            chunk = slice(block.starts[begin], block.starts[end])
            results[piece] = result = step.step_users(self._triplets(block, chunk, number))
            if self.moving is not None:
                hold_rows(step.users, result.users, result.rows, self.moving.users)
            write_rows(step.users, result.users, result.rows)  # no two pieces have a user in common

        self.pool.map(pieces, step_users)
        ordered = [results[piece] for piece in range(pieces)]
        if step.moves_items:
            self._items(step, ordered, item_parts(threads))
        return step.loss(np.concatenate([result.kept.losses for result in ordered]))

    def _items(self, step: TripletStep, results: Sequence[UserResult], parts: int) -> None:
        """The items' step of each part; rows are written after all parts have read."""
        if not step.reads_other_items and self.moving is None:
            self.pool.map(parts, lambda part: step.step_items_in_place(results, part, parts))
            return
        moved: dict[int, ItemResult] = {}

        def step_items(part: int) -> None:
            moved[part] = step.step_items(results, part, parts)
            if self.moving is not None:
                hold_rows(step.items, *moved[part], self.moving.items)

        self.pool.map(parts, step_items)
        self.pool.map(parts, lambda part: write_rows(step.items, *moved[part]))

    def _triplets(self, block: Block, chunk: slice, number: int) -> Triplets:
        """Some pairs of a block, with fresh negatives."""
        pairs, users = block.pairs[chunk], block.users[chunk]
        negatives = np.empty((len(pairs), self.negatives), dtype=np.int32)
        turn = (self.epoch << 24) + number if self.per_user else self.epoch  # pairs come again
        self.sampler.draw(negatives, block.draws[chunk], users, self.seed, turn)
        return Triplets(users, self.train.indices[pairs], negatives)
