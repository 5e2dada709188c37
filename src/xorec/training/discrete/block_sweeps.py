"""Sweeps on an engine: the codes that `sweeps.sweep` gives, bit for bit, with the pairs elsewhere.

A sweep is 3 + B calls of the engine, B the blocks of items that go one after another:

1. users: each block of users draws its negatives and finds its new codes, the items standing still;
2. exchange: the blocks of users send every triplet to the two items in it, in order;
3. for each of the B blocks of items: its pieces find new codes side by side, and tell which of
   their triplets hold an item before them in the block: all that taking the codes one after
   another asks for. The driver takes them (`sweeps`);
4. the loss, summed by block of users, then on the driver in order.

What travels: 8 bytes for each user and item and call, and in the exchange 4 (2 + 4 K) bytes a pair
with K negatives.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from xorec.core.bits import pack_signs, unpack_signs
from xorec.core.engine import Arrays, Engine, Shared
from xorec.data.negatives import Negatives
from xorec.training.discrete.problem import (
    LossTerms,
    Problem,
    Signs,
    SweepCodes,
    TripletLists,
    loss_tables,
)
from xorec.training.discrete.sweep_blocks import (
    Draw,
    ItemCut,
    item_pieces,
    items_block,
    loss_block,
    roles_of_block,
    starts_of,
    user_blocks,
    users_block,
)
from xorec.training.discrete.sweeps import ITEM_BLOCKS, Proposals, Proposer, SweepResult, accept


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
        self, B: Signs, D: Signs, terms: LossTerms, propose: Proposer, draw: Draw
    ) -> SweepResult:
        """Users, then items, in place of the codes. The loss before is not computed: 0."""
        bits = B.shape[1]
        codes = SweepCodes(B, D, pack_signs(B), pack_signs(D))
        about: dict[str, Any] = {"terms": terms, "bits": bits, "draw": draw}
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
        settings = {"terms": about["terms"], "bits": about["bits"], "propose": propose}
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
    items = len(codes.D)
    lists = TripletLists(
        users=made["p_user"],
        positives=made["p_row"],
        negatives=made["p_other"][:, None],
        user_starts=np.zeros(1, dtype=np.int64),
        positive_starts=starts_of(made["p_row"], items),
        positive_pairs=np.arange(len(made["p_row"]), dtype=np.int32),
        negative_starts=starts_of(made["n_row"], items),
        negative_users=made["n_user"],
        negative_positives=made["n_other"],
    )
    tables = loss_tables(about["bits"], about["terms"])
    return int(accept(Problem(codes, lists, tables), proposals, moved))
