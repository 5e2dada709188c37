"""DCF (Zhang et al. 2016): codes by squared loss on sampled pairs, balanced and decorrelated.

minimise  sum over sampled (u, i) of (s_ui - b_u.d_i)^2 - 2 alpha tr(B'X) - 2 alpha tr(D'Y),

s = +r for a pair that is there, `negative_target` r for one that is not. `FactoredCodes` is the
form with groups of bits, which CCCF shares:

minimise  sum over sampled (u, i) of (s_ui - x_ui)^2 - 2 alpha sum_g (tr B_g'X_g + tr D_g'Y_g),
x_ui = sum over the groups g of eta_ug xi_ig b_ug.d_ig,

over codes b, d of G groups of r bits and real X, Y with zero column sums, X'X = nI, Y'Y = mI. DCF
has one group and weights 1. A sweep takes the best X and Y (`discrete.balance`), then the bits of
each user, one after another, then those of each item: while the sample stays, the objective never
rises. Real rows, learned the same way, are where the codes start.
"""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar, TypeVar

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.bits import Words, pack_signs, unpack_signs
from xorec.core.options import RunOptions
from xorec.core.threads import ThreadPool
from xorec.data.interactions import Interactions
from xorec.data.negatives import Negatives
from xorec.models.base import DataUpdate, EpochModel, expect, expect_size
from xorec.models.hashing.factored_kernels import (
    Entities,
    Floats,
    RowRule,
    Side,
    Sides,
    mixed_weights,
    of_history,
    sampled,
    solve,
    solve_new,
)
from xorec.models.new_rows import signs_of
from xorec.representations.base import Representation
from xorec.representations.codes import Codes
from xorec.training.config import Choice, EpochConfig, Float, Space
from xorec.training.discrete.balance import balanced
from xorec.training.epochs import Arrays

_USERS, _ITEMS = 0, 1


class FactoredCodesConfig(EpochConfig):
    """Settings of DCF and CCCF."""

    bits: int = Field(64, ge=8, le=256, description="length of the codes")
    negatives: int = Field(10, ge=1, le=100, description="negatives sampled for each positive")
    target: float = Field(
        1.0, gt=0, le=1, description="similarity that positives are fitted to; 1: all bits equal"
    )
    negative_target: float = Field(
        -0.4, ge=-1, lt=1, description="similarity that negatives are fitted to, times `target`"
    )
    alpha: float = Field(
        0.5, ge=0, le=2, description="negatives are drawn by popularity to this power; 0: uniformly"
    )
    fresh: bool = Field(True, description="new negatives in each epoch; false: one sample for all")
    balance: float = Field(
        0.2, ge=0, description="weight of balanced, decorrelated bits (the paper's alpha and beta)"
    )
    passes: int = Field(
        5, ge=1, le=100, description="coordinate-descent passes over the bits of a code, at most"
    )
    start_rounds: int = Field(
        3, ge=0, description="sweeps over real-valued rows whose signs the codes start from"
    )
    start_reg: float = Field(
        0.03, ge=0, description="L2 penalty of those real-valued rows, for each pair of a row"
    )
    epochs: int = Field(10, ge=1, description="sweeps over all users and all items, at most")
    validate_every: int = Field(1, ge=1, description="epochs between two validations")


M = TypeVar("M", bound=FactoredCodesConfig)


class FactoredCodes(EpochModel[M]):
    """A model says how codes are kept, and where there are groups, what they weigh."""

    @property
    def groups(self) -> int:
        """G, which divides the number of bits."""
        return 1

    def _weights(self, train: Interactions, options: RunOptions) -> tuple[Floats, Floats]:
        """The weights eta (n, G) and xi (m, G)."""
        return ones(train.n_users), ones(train.n_items)

    @abstractmethod
    def _represent(self, arrays: Arrays) -> Representation: ...

    @abstractmethod
    def _stored(self, representation: Representation) -> tuple[Words, Words, Floats, Floats]:
        """The inverse: codes of users and of items, weights of users and of items."""

    @abstractmethod
    def _query(self, user: Entities) -> Any:
        """One user as the representation takes them."""

    @property
    def rule(self) -> RowRule:
        """The targets: +r / G for a positive, r = bits / G, and how a row is solved.

        With equal weights 1 / G this is the problem of one group divided by G^4.
        """
        best = self.config.target * self.config.bits
        high = best / self.groups**2
        low = high * self.config.negative_target
        ridge = np.float32(self.config.start_reg * best)
        return RowRule(np.float32(high), np.float32(low), ridge, self.config.passes)

    def _epochs(self, train: Interactions, options: RunOptions, pool: ThreadPool) -> Any:
        sampler = Negatives.of(train, self.config.alpha)
        count, seed = self.config.negatives, options.seed
        kept: list[Sides] = []

        def step(epoch: int, arrays: Arrays) -> dict[str, float]:
            if self.config.fresh or not kept:
                turn = epoch if self.config.fresh else 0
                kept[:] = [sampled(train, sampler, count, seed, turn)]
            if epoch == 0:
                weights = self._weights(train, options)
                arrays["user_weights"][...], arrays["item_weights"][...] = weights
                self.begin(arrays, kept[0], seed, pool)
            return self.sweep(arrays, kept[0], seed, pool)

        return self._room(train.n_users, train.n_items), step, self._represent

    def _room(self, n_users: int, n_items: int) -> Arrays:
        """Zeros, which the first epoch overwrites with its start."""
        arrays: Arrays = {}
        for name, count in (("user", n_users), ("item", n_items)):
            arrays[f"{name}_rows"] = np.zeros((count, self.config.bits), dtype=np.float32)
            arrays[f"{name}_weights"] = np.zeros((count, self.groups), dtype=np.float32)
        return arrays

    def begin(self, arrays: Arrays, sides: Sides, seed: int, pool: ThreadPool) -> None:
        """Normal rows, `start_rounds` real sweeps with the same objective and a ridge, signs.

        (Uniform ones from 0 to 1, as in the released code, have equal signs: no bit would say
        anything.)
        """
        rng = np.random.Generator(np.random.Philox(seed))
        for name in ("user_rows", "item_rows"):
            arrays[name][...] = rng.standard_normal(arrays[name].shape, dtype=np.float32)
        for _ in range(self.config.start_rounds):
            self.sweep(arrays, sides, seed, pool, real=True)
        for name in ("user_rows", "item_rows"):
            arrays[name][...] = signs_of(arrays[name])

    def sweep(
        self, arrays: Arrays, sides: Sides, seed: int, pool: ThreadPool, *, real: bool = False
    ) -> dict[str, float]:
        """X and Y, all users, all items; the objective for each sampled pair, and what changed."""
        both, changed, value = entities(arrays), [0, 0], 0.0
        pulls = [self.pull(both[at].rows, seed + at) for at in (_USERS, _ITEMS)]
        for at in (_USERS, _ITEMS):
            facing = (sides[at], both[at], both[1 - at], pulls[at])
            value, changed[at] = solve(self.rule._replace(real=real), *facing, pool)
        for side, pull in zip(both, pulls, strict=True):
            value -= 2 * float(np.sum(side.rows * pull, dtype=np.float64))
        return {
            "loss": value / len(sides[_USERS].pairs),
            "user_flips": changed[_USERS] / both[_USERS].rows.size,
            "item_flips": changed[_ITEMS] / both[_ITEMS].rows.size,
        }

    def pull(self, rows: Floats, seed: int) -> Floats:
        """alpha X: the balanced rows that agree best with these, group by group.

        alpha is `balance` bits / G^4, so that the setting means the same for any length (residuals
        grow with it) and any number of groups (equal weights divide the rest by G^4).
        """
        each = rows.shape[1] // self.groups
        pull = np.zeros_like(rows)
        weight = np.float32(self.config.balance * self.config.bits / self.groups**4)
        if weight > 0:
            for begin in range(0, rows.shape[1], each):
                group = slice(begin, begin + each)
                pull[:, group] = weight * balanced(rows[:, group], seed)
        return pull

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user's code: their own problem, real rows first, the items as they are.

        Their groups weigh what those of their items weigh on average.
        """
        _, words, _, weights = self._stored(representation)
        chosen = np.unique(history).astype(np.int32)
        side, used = of_history(chosen, len(words), self.config.negatives)
        codes = unpack_signs(words[used], self.config.bits).astype(np.float32)
        code = np.zeros((1, self.config.bits), dtype=np.float32)
        user = Entities(code, mixed_weights(weights[chosen])[None])
        items = Entities(codes, weights[used])
        solve_new(self.rule, side, user, items, np.zeros(1, dtype=np.int64))
        return self._query(user)

    def _update(self, representation: Representation, update: DataUpdate) -> Representation:
        """New users by the items that were there, new items by all users, then changed users."""
        train = update.train
        old_users, old_items, *weights = self._stored(representation)
        arrays = self._room(train.n_users, train.n_items)
        for name, words, old in zip(("user", "item"), (old_users, old_items), weights, strict=True):
            arrays[f"{name}_rows"][: len(words)] = unpack_signs(words, self.config.bits)
            arrays[f"{name}_weights"][: len(words)] = old
        users, items = entities(arrays)
        sampler = Negatives.of(train, self.config.alpha)
        sides = sampled(train, sampler, self.config.negatives, 0, 0)
        new = update.users[update.users >= len(old_users)]
        self._solve_new(new, sides[_USERS], users, items)
        self._solve_new(update.items, sides[_ITEMS], items, users)
        solve(self.rule, sides[_USERS], users, items, None, ThreadPool(1), update.users)
        return self._represent(arrays)

    def _solve_new(
        self, rows: npt.NDArray[np.integer], side: Side, entities: Entities, others: Entities
    ) -> None:
        for row in rows:
            entities.weights[row] = mixed_weights(others.weights[side.positives(int(row))])
        solve_new(self.rule, side, entities, others, rows)


def ones(count: int) -> Floats:
    """The weights of one group."""
    return np.ones((count, 1), dtype=np.float32)


def entities(arrays: Arrays) -> tuple[Entities, Entities]:
    """Users and items of the arrays of a fit, in place."""
    users = Entities(arrays["user_rows"], arrays["user_weights"])
    return users, Entities(arrays["item_rows"], arrays["item_weights"])


class DCFConfig(FactoredCodesConfig):
    """Settings of DCF."""


class DCF(FactoredCodes[DCFConfig]):
    """Binary matrix factorisation with the squared loss: one group, whose weights are 1.

    >>> import xorec
    >>> data = xorec.Interactions.from_pairs([("ann", "tea"), ("ann", "rye"), ("bob", "fig")])
    >>> codes = xorec.DCF(bits=16, negatives=1, epochs=2).fit(data).representation_
    >>> codes.user_codes.shape, codes.bits
    ((2, 1), 16)
    """

    name = "dcf"
    Config = DCFConfig
    triplet_cost = 1.5
    space: ClassVar[Space] = {
        "negative_target": Float(-0.6, -0.15),
        "start_reg": Float(0.02, 0.06, log=True),
        "negatives": Choice((5, 10)),
    }
    cost = 2.0

    def _represent(self, arrays: Arrays) -> Representation:
        return Codes.from_signs(arrays["user_rows"], arrays["item_rows"])

    def _stored(self, representation: Representation) -> tuple[Words, Words, Floats, Floats]:
        representation = expect(representation, Codes)
        expect_size("bits", representation.bits, self.config.bits)
        users, items = representation.user_codes, representation.item_codes
        return users, items, ones(len(users)), ones(len(items))

    def _query(self, user: Entities) -> Any:
        return pack_signs(user.rows)
