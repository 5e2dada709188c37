"""Sweeps on an engine: the codes of `sweeps.sweep`, bit for bit, with the pairs elsewhere.

A sweep is 3 + B calls of the engine, B the blocks of items that go one after another:

1. users: each block of users draws its negatives and finds its new codes, the items standing still;
2. exchange: the blocks of users send every triplet to the two items in it, in order;
3. for each of the B blocks of items: its pieces find new codes in parallel, and send those of their
   triplets that hold an item before them in the block. The driver needs no more to accept codes one
   after another (`sweeps`);
4. the loss, summed by block of users, then on the driver in order.

A call sends 8 bytes for each user and item; the exchange 4 (2 + 4 K) bytes a pair with K negatives.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.bits import pack_signs, unpack_signs
from xorec.core.engine import Arrays, Engine, Shared, row_ranges
from xorec.data.negatives import Negatives
from xorec.training.blocks import counting_order
from xorec.training.discrete.problem import (
    ITEM,
    USER,
    Problem,
    Signs,
    SweepCodes,
    TripletLoss,
    lists_by_item,
    lists_by_user,
    loss_tables,
    pair_losses,
)
from xorec.training.discrete.sweeps import ITEM_BLOCKS, Proposals, Proposer, SweepResult, accept
from xorec.training.passes import Triplets

Rows = npt.NDArray[np.integer]
_PIECE_BYTES = 64 << 20
_ROLES = ("p_item", "p_user", "p_negatives", "n_item", "n_user", "n_positive")
"""Pairs by their positive, triplets by their negative: the arrays of `roles_of_block`."""


class Draw(NamedTuple):
    """The negatives of a sweep: so many for each pair, of this seed and epoch."""

    negatives: int
    seed: int
    epoch: int


@dataclass(frozen=True)
class ItemCut:
    """Items in consecutive blocks, each cut into parallel pieces.

    Block b has the items b, b + blocks, b + 2 blocks, ...; its pieces are consecutive runs of them.
    (piece s, block b) is the engine's new block s blocks + b, so that the pieces of one block are
    apart.
    """

    items: int
    blocks: int
    pieces: int

    def rows(self, block: int, piece: int) -> Rows:
        """The items of a piece."""
        rows = np.arange(block, self.items, self.blocks)
        return rows[len(rows) * piece // self.pieces : len(rows) * (piece + 1) // self.pieces]

    def targets(self, items: npt.NDArray[np.integer]) -> npt.NDArray[np.int64]:
        """The number of the new block that each item belongs to."""
        block = items % self.blocks
        length = (self.items - block + self.blocks - 1) // self.blocks
        rank = items // self.blocks
        piece = ((rank + 1) * self.pieces - 1) // length
        targets: npt.NDArray[np.int64] = (piece * self.blocks + block).astype(np.int64)
        return targets


def item_pieces(pairs: int, negatives: int, partitions: int) -> int:
    """The number of pieces of a block of items: a multiple of the partitions, none too large."""
    block = role_bytes(pairs, negatives) // ITEM_BLOCKS
    return partitions * max(1, -(-block // (_PIECE_BYTES * partitions)))


def role_bytes(pairs: int, negatives: int) -> int:
    """Bytes of the exchange: (2 + K) numbers for a pair as a positive, 3 for each negative."""
    return 4 * (2 + 4 * negatives) * pairs


def user_blocks(sampler: Negatives) -> Iterator[Arrays]:
    for begin, end in row_ranges(len(sampler.indptr) - 1):
        first, past = sampler.indptr[begin], sampler.indptr[end]
        yield {
            "first": np.array([begin, sampler.n_items]),
            "indptr": sampler.indptr[begin : end + 1] - first,
            "indices": sampler.indices[first:past],
        }


def _triplets(block: Arrays, shared: Arrays, draw: Draw) -> Triplets:
    """The pairs of a block of users, by their rows in the block, with fresh negatives."""
    first, n_items = (int(one) for one in block["first"])
    indptr, indices = block["indptr"], block["indices"]
    sampler = Negatives.weighted(indices, indptr, n_items, shared.get("cumulative"), first)
    users = np.repeat(np.arange(len(indptr) - 1, dtype=np.int32), np.diff(indptr))
    return Triplets(users, indices, sampler.draw_all(*draw))


def _user_problem(
    block: Arrays, shared: Arrays, loss: TripletLoss, bits: int, draw: Draw
) -> Problem:
    first, count = int(block["first"][0]), len(block["indptr"]) - 1
    b_words, d_words = shared["b_words"][first : first + count], shared["d_words"]
    codes = SweepCodes(
        unpack_signs(b_words, bits), unpack_signs(d_words, bits), b_words.copy(), d_words
    )
    lists = lists_by_user(_triplets(block, shared, draw), count)
    return Problem(codes, lists, loss_tables(bits, loss))


def users_block(
    block: Arrays, shared: Arrays, loss: TripletLoss, bits: int, draw: Draw, propose: Proposer
) -> Arrays:
    """The new codes of the users of a block."""
    problem = _user_problem(block, shared, loss, bits, draw)
    Z, _ = propose(problem, USER, np.arange(len(problem.codes.B)))
    return {"words": pack_signs(Z)}


def loss_block(block: Arrays, shared: Arrays, loss: TripletLoss, bits: int, draw: Draw) -> Arrays:
    """The loss of the pairs of a block of users."""
    problem = _user_problem(block, shared, loss, bits, draw)
    return {"loss": np.array([pair_losses(problem, 0, len(problem.lists.users))])}


def roles_of_block(
    block: Arrays, shared: Arrays, draw: Draw, cut: ItemCut
) -> Iterator[tuple[int, Arrays]]:
    """The triplets of a block of users, for each piece of items that has one: in both roles.

    p_item, p_user, p_negatives: pairs by their positive; n_item, n_user, n_positive: triplets by
    their negative. Each in the order of the pairs.
    """
    triplets = _triplets(block, shared, draw)
    users = (triplets.users + block["first"][0]).astype(np.int32)
    flat, count = triplets.negatives.ravel(), cut.blocks * cut.pieces
    there = np.flatnonzero(flat >= 0)
    pair = there // triplets.negatives.shape[1]
    by_positive, p_starts = counting_order(cut.targets(triplets.positives), count)
    by_negative, n_starts = counting_order(cut.targets(flat[there]), count)
    for target in range(count):
        p = by_positive[p_starts[target] : p_starts[target + 1]]
        n = by_negative[n_starts[target] : n_starts[target + 1]]
        yield (
            target,
            {
                "target": np.full(1 if block["first"][0] == 0 else 0, target),
                "p_item": triplets.positives[p],
                "p_user": users[p],
                "p_negatives": triplets.negatives[p],
                "n_item": flat[there[n]],
                "n_user": users[pair[n]],
                "n_positive": triplets.positives[pair[n]],
            },
        )


def items_block(
    block: Arrays, shared: Arrays, loss: TripletLoss, bits: int, propose: Proposer, cut: ItemCut
) -> Arrays:
    """New codes of the items of a piece, and their triplets with items before them in the block.

    words, gains: as `Proposals` has them; p_row, p_user, p_other and n_row, n_user, n_other: such
    triplets of items that would move, as positive and as negative.
    """
    piece, number = divmod(int(block["target"][0]), cut.blocks)
    rows = cut.rows(number, piece)
    p_item, p_user, p_negatives, n_item, n_user, n_positive = (block[name] for name in _ROLES)
    users = RowSubset.of(len(shared["b_words"]), p_user, n_user)
    others = RowSubset.of(len(shared["d_words"]), rows, p_negatives.ravel(), n_positive)
    b_words, d_words = shared["b_words"][users.rows], shared["d_words"][others.rows]
    signs = unpack_signs(b_words, bits), unpack_signs(d_words, bits)
    pairs = Triplets(users.find(p_user), others.find(p_item), others.find(p_negatives))
    triplets = (others.find(n_item), users.find(n_user), others.find(n_positive))
    lists = lists_by_item(len(others.rows), pairs, *triplets)
    problem = Problem(SweepCodes(*signs, b_words, d_words), lists, loss_tables(bits, loss))
    Z, gains = propose(problem, ITEM, others.find(rows))
    words = pack_signs(Z)
    moves = (words != shared["d_words"][rows]).any(axis=1)
    return {"rows": rows, "words": words, "gains": gains, **_conflicts(block, rows, moves, cut)}


def _conflicts(block: Arrays, rows: Rows, moves: npt.NDArray[np.bool_], cut: ItemCut) -> Arrays:
    """The triplets of items that would move with one that may have moved before them."""
    p_item, p_user, p_negatives, *triplets = (block[name] for name in _ROLES)
    pairs = (np.repeat(rows, p_negatives.shape[1]) for rows in (p_item, p_user))
    found, first = dict[str, npt.NDArray[np.int32]](), rows[0] // cut.blocks if len(rows) else 0
    for role, (own, users, others) in (("p", (*pairs, p_negatives.ravel())), ("n", triplets)):
        before = (others >= 0) & (others < own) & (others % cut.blocks == own % cut.blocks)
        chosen = np.flatnonzero(before)
        chosen = chosen[moves[own[chosen] // cut.blocks - first]]
        for name, values in (("row", own), ("user", users), ("other", others)):
            found[f"{role}_{name}"] = values[chosen].astype(np.int32)
    return found


class RowSubset(NamedTuple):
    """Some of n rows, ascending, and the number of each row among them (-1: it is not there)."""

    rows: Rows
    table: npt.NDArray[np.int32]

    @classmethod
    def of(cls, n: int, *named: Rows) -> RowSubset:
        """Of all rows that are named; -1 names none."""
        there = np.zeros(n + 1, dtype=np.bool_)  # the last is for -1
        for rows in named:
            there[rows] = True
        there[n] = False
        table = np.cumsum(there, dtype=np.int32) - np.int32(1)
        table[n] = -1
        return cls(np.flatnonzero(there), table)

    def find(self, rows: Rows) -> npt.NDArray[np.int32]:
        """The numbers of rows that are there; of -1, -1."""
        return self.table[rows]


class BlockSweeps:
    """Sweeps over the pairs of a sampler, which stay on the engine from one to the next."""

    def __init__(self, engine: Engine, sampler: Negatives) -> None:
        self._engine, self._items, self._pairs = engine, sampler.n_items, len(sampler.indices)
        self._known = {} if sampler.cumulative is None else {"cumulative": sampler.cumulative}
        self._blocks = engine.place(user_blocks(sampler))

    def close(self) -> None:
        """Let the pairs go."""
        self._engine.release(self._blocks)

    def sweep(
        self, B: Signs, D: Signs, loss: TripletLoss, propose: Proposer, draw: Draw
    ) -> SweepResult:
        """Users, then items, in place of the codes. The loss before is not computed: 0."""
        bits = B.shape[1]
        codes = SweepCodes(B, D, pack_signs(B), pack_signs(D))
        about: dict[str, Any] = {"loss": loss, "bits": bits, "draw": draw}
        user_flips = self._sweep_users(codes, propose, about)
        item_flips = self._sweep_items(codes, propose, about)
        pieces = [
            made["loss"]
            for made in self._engine.map_blocks(
                loss_block, self._blocks, [self._shared(codes)], **about
            )
        ]
        return SweepResult(0.0, float(np.concatenate(pieces).sum()), user_flips, item_flips)

    def _shared(self, codes: SweepCodes) -> Arrays:
        return {"b_words": codes.b_words, "d_words": codes.d_words, **self._known}

    def _sweep_users(self, codes: SweepCodes, propose: Proposer, about: dict[str, Any]) -> int:
        found = self._engine.map_blocks(
            users_block, self._blocks, [self._shared(codes)], propose=propose, **about
        )
        begin, flips = 0, 0
        for made in found:
            rows = slice(begin, begin + len(made["words"]))
            new = unpack_signs(made["words"], about["bits"])
            flips += int(np.count_nonzero(codes.B[rows] != new))
            codes.B[rows], codes.b_words[rows] = new, made["words"]
            begin = rows.stop
        return flips

    def _sweep_items(self, codes: SweepCodes, propose: Proposer, about: dict[str, Any]) -> int:
        engine = self._engine
        blocks = max(1, min(self._items, ITEM_BLOCKS))
        pieces = item_pieces(self._pairs, about["draw"].negatives, engine.partitions)
        cut = ItemCut(self._items, blocks, pieces)
        roles = engine.exchange(
            roles_of_block, self._blocks, cut.blocks * cut.pieces, [self._known],
            draw=about["draw"], cut=cut,
        )  # fmt: skip
        moved, flips = np.full(self._items, -1, dtype=np.int32), 0
        settings = {"loss": about["loss"], "bits": about["bits"], "propose": propose}
        with engine.share({"b_words": codes.b_words}) as users:
            for block in range(cut.blocks):
                placed = engine.every(roles, cut.blocks, block)
                shared: list[Shared | Arrays] = [users, {"d_words": codes.d_words}]
                found = list(engine.map_blocks(items_block, placed, shared, cut=cut, **settings))
                flips += _accept(codes, found, about, moved)
        engine.release(roles)
        return flips


def _accept(
    codes: SweepCodes, found: list[Arrays], about: dict[str, Any], moved: npt.NDArray[np.int32]
) -> int:
    """Give a block of items its new codes, one after another, where the loss falls."""
    made = {name: np.concatenate([one[name] for one in found]) for name in found[0]}
    rows, new = made["rows"], made["words"]
    Z = unpack_signs(new, about["bits"])
    proposals = Proposals(rows, Z, codes.d_words[rows], new, made["gains"])
    pairs = Triplets(made["p_user"], made["p_row"], made["p_other"][:, None])
    triplets = (made["n_row"], made["n_user"], made["n_other"])
    lists = lists_by_item(len(codes.D), pairs, *triplets)
    tables = loss_tables(about["bits"], about["loss"])
    return int(accept(Problem(codes, lists, tables), proposals, moved))
