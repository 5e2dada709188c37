"""How DSIML learns its bits: one step of an epoch for each optimiser (METHOD, sections 3 and 4).

    ste   the gradient at the codes moves the rows behind them; bits are drawn, more and more
    flip  sweeps that turn a bit where the true loss falls
    bqp   the paper's: sweeps of binary quadratic problems under the variational bound

Each takes the rows behind the codes, learns, and leaves rows whose signs are the codes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from xorec.core.options import RunOptions
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.data.tie_rank import tie_rank
from xorec.models.siml.siml_steps import Floats, Rows, Steps, Teacher
from xorec.search.top_k import top_k
from xorec.training.checkpoint import Arrays
from xorec.training.discrete.bqp_sweep import bqp_sweep
from xorec.training.discrete.flip_sweep import flip_sweep
from xorec.training.discrete.problem import LossTerms
from xorec.training.passes import Pass, Triplets

if TYPE_CHECKING:
    from xorec.models.siml.dsiml import DSIMLConfig

Step = Callable[[int, Arrays], dict[str, float]]
Signs = npt.NDArray[np.int8]

_SPENT = 1.0
"""What rows count as spent before the first step: they come from vectors that are good already."""
_ONE_IN, _MOST_SCORES = 5_000, 1 << 32
_USERS_AT_ONCE = 1024


@dataclass(frozen=True, eq=False)
class Start:
    """What the optimisers start from: rows whose signs are the codes, the pairs, a teacher."""

    users: Floats
    items: Floats
    pairs: Interactions
    teacher: Teacher


def start_arrays(users: Floats, items: Floats, optimizer: str) -> Arrays:
    """What an optimiser works on: the rows behind the codes, and what they have spent."""
    arrays: Arrays = {"users": users, "items": items}
    if optimizer == "ste":
        for name, rows in (("user_spent", users), ("item_spent", items)):
            arrays[name] = np.full(len(rows), _SPENT, dtype=np.float32)
    return arrays


def step_of(
    optimizer: str, config: DSIMLConfig, begin: Start, options: RunOptions, pool: ThreadPool
) -> Step:
    """The step of an epoch of this optimiser, over the pairs of `begin`; ste has its teacher."""
    make = _straight_through if optimizer == "ste" else _sweeps
    learn = make(optimizer, config, begin, options, pool)

    def step(epoch: int, arrays: Arrays) -> dict[str, float]:
        before = (arrays["users"] >= 0, arrays["items"] >= 0)
        loss = learn(epoch, arrays)
        return {
            "loss": loss,
            "user_flips": float(np.mean(before[0] != (arrays["users"] >= 0))),
            "item_flips": float(np.mean(before[1] != (arrays["items"] >= 0))),
        }

    return step


def _straight_through(
    optimizer: str, config: DSIMLConfig, begin: Start, options: RunOptions, pool: ThreadPool
) -> Callable[[int, Arrays], float]:
    train, teacher = begin.pairs, begin.teacher
    sampler = Negatives.of(train, config.alpha)
    size = (config.negatives, config.block_size, options.seed)

    def learn(epoch: int, arrays: Arrays) -> float:
        terms, blocks = config.terms(epoch, options.seed), count()
        users = Rows.codes(arrays["users"], arrays["user_spent"], terms, pool)
        items = Rows.codes(arrays["items"], arrays["item_spent"], terms, pool, items=True)
        run = Pass(train, sampler, *size, epoch, pool)
        return run.run(lambda t: Steps(t, users, items, terms, next(blocks), teacher))

    return learn


def _sweeps(
    optimizer: str, config: DSIMLConfig, begin: Start, options: RunOptions, pool: ThreadPool
) -> Callable[[int, Arrays], float]:
    train = begin.pairs
    sampler = Negatives.of(train, config.alpha)
    terms = LossTerms(config.temperature, config.gamma, config.lambda_, config.margin)

    def learn(epoch: int, arrays: Arrays) -> float:
        users, items = signs(arrays["users"]), signs(arrays["items"])
        negatives = sampler.draw_all(config.negatives, options.seed, epoch)
        triplets = Triplets(train.user_rows, train.indices, negatives)
        if optimizer == "flip":
            done = flip_sweep(users, items, triplets, terms, pool)
        else:
            seed, solver = options.seed, config.solver
            done = bqp_sweep(users, items, triplets, terms, pool, solver=solver, seed=seed)
        for rows, codes in ((arrays["users"], users), (arrays["items"], items)):
            rows[...] = np.where(codes == signs(rows), rows, -rows)
        return done.loss_after / max(1, int(np.count_nonzero(negatives >= 0)))

    return learn


def signs(rows: npt.NDArray[np.floating]) -> Signs:
    """+1 where a row is not negative, else -1."""
    return np.where(rows >= 0, 1, -1).astype(np.int8)


def with_best_items(
    train: Interactions, users: Floats, items: Floats, count: int, fewer_than: int
) -> Interactions:
    """The pairs, and for each user with fewer than so many their `count` best items by vectors.

    A short history leaves many bits undetermined; the order that the vectors found settles them.
    Never more than one item in 5,000: in a small catalogue the next best are everybody's. On huge
    data every n-th such user gets them, so that at most 2**32 scores are computed.
    """
    count = min(count, train.n_items // _ONE_IN)
    if count == 0:
        return train
    short = np.flatnonzero((train.user_counts > 0) & (train.user_counts < fewer_than))
    short = short[:: max(1, -(-len(short) * train.n_items // _MOST_SCORES))]
    rank = tie_rank(train.items, train.item_counts)
    user_rows, item_rows = [train.user_rows], [train.indices]
    for begin in range(0, len(short), _USERS_AT_ONCE):
        rows = short[begin : begin + _USERS_AT_ONCE]
        own = [train.of_user(int(row)) for row in rows]
        seen = np.concatenate([[0], np.cumsum([len(one) for one in own])])
        hits = top_k(users[rows] @ items.T, count, rank, (seen, np.concatenate(own)))
        kept = np.arange(hits.items.shape[1]) < hits.counts[:, None]
        user_rows.append(np.repeat(rows, hits.counts).astype(np.int32))
        item_rows.append(hits.items[kept])
    pairs = np.concatenate(user_rows), np.concatenate(item_rows)
    return Interactions.from_rows(train.users, train.items, *pairs)
