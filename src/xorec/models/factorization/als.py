"""ALS for implicit feedback (Hu et al. 2008), in the form that Rendle et al. (2022) tuned.

minimise  sum over the pairs (u, i) of w_ui (1 - b_u.d_i)^2
        + unobserved * sum over ALL (u, i) of (b_u.d_i)^2
        + reg * ( sum over u of (n_u + unobserved m)^nu |b_u|^2
                + sum over i of (n_i + unobserved n)^nu |d_i|^2 ),

n_u, n_i the weights w_ui of a user's and an item's pairs, summed (w_ui = 1 without weights, and
these are numbers of pairs), of n users and m items. The confidence c_ui = 1 + alpha w_ui of
Hu et al. is unobserved + w_ui here, divided by unobserved = 1 / alpha. With the items fixed each
user has a separate least squares problem, solved exactly; then each item; that is an epoch, and
the objective never rises.

In axes where the Gram matrix of the other side is diagonal, a row's problem is

    minimise over b   sum over its pairs i of (1 - b.x_i)^2 + sum over f of s_f b_f^2.

With Y = (x_if / sqrt(s_f)) over its pairs, and v_f = sqrt(s_f) b_f, that is |1 - Y v|^2 + |v|^2, so

    v = (I + Y'Y)^-1 Y'1 = Y' w,   w = (I + Y Y')^-1 1.

Where pairs have weights w, row i of Y and entry i of 1 are times sqrt(w_i), and n is their sum.

The smaller of the two systems is solved: one row per pair, or one per dimension. Both have
no eigenvalue below 1, which float32 bears well. The least value is n - 1'Y v = 1'w.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np
import numpy.typing as npt
from pydantic import Field

from xorec.core.engine import Arrays as EngineArrays
from xorec.core.engine import Blocks, Engine, row_ranges
from xorec.core.errors import DataError
from xorec.core.kernels import fast_kernel, inlined
from xorec.core.options import RunOptions
from xorec.core.threads import ThreadPool, one_blas_thread
from xorec.data.interactions import Interactions
from xorec.models.base import DataUpdate, Model, Part, expect
from xorec.models.linear_algebra import add_dots, solve_spd
from xorec.models.new_rows import once_for_each, solve_new_rows, with_room
from xorec.representations.base import Representation
from xorec.representations.vectors import Vectors
from xorec.training.config import Choice, EpochConfig, Float, Space
from xorec.training.epochs import Arrays, EpochTrainer

_WIDE = 256  # pairs taken at once where there are many: they stay in the cache
_APART = 16  # between rows of the buffer: a power of two would put its columns on one cache line


class RowPairs(NamedTuple):
    """Row r has the others indices[indptr[r]:indptr[r + 1]]; roots: of their weights, or empty."""

    indptr: npt.NDArray[np.int64]
    indices: npt.NDArray[np.int32]
    roots: npt.NDArray[np.float32]


@fast_kernel
def solve_rows(
    rows: Any, pairs: Any, others: Any, spread: Any, ridge: Any, found: Any, values: Any
) -> None:
    """The best vectors of `rows` into found (rows, d), their least values into values (rows,).

    pairs: `RowPairs`; others (m, d): the other side; s_f = spread[f] + ridge[r].
    """
    indptr = pairs.indptr
    size = others.shape[1]
    padded = (size + 3) // 4 * 4
    system = np.empty((padded, padded), dtype=others.dtype)
    Y = np.empty((padded, max(size, _WIDE) + _APART), dtype=others.dtype)
    scale = np.empty(size, dtype=others.dtype)
    right = np.empty(padded, dtype=others.dtype)
    for at in range(len(rows)):
        row = rows[at]
        own = pairs.indices[indptr[row] : indptr[row + 1]]
        roots = pairs.roots[indptr[row] : indptr[row + 1]]  # none where all are 1
        for f in range(size):
            scale[f] = 1 / np.sqrt(spread[f] + ridge[row])
        if len(own) == 0:
            found[at] = 0
            values[at] = 0
        elif len(own) <= size:
            values[at] = _by_pairs(own, roots, others, scale, Y, system, right, found[at])
        else:
            values[at] = _by_dimensions(own, roots, others, scale, Y, system, right, found[at])


@inlined
def _by_pairs(
    pairs: Any, roots: Any, others: Any, scale: Any, Y: Any, system: Any, right: Any, found: Any
) -> Any:
    """w, then v = Y'w; Y has a row for each pair."""
    count, size = len(pairs), others.shape[1]
    padded = (count + 3) // 4 * 4
    for p in range(count):
        for f in range(size):
            Y[p, f] = others[pairs[p], f] * scale[f]
    for p in range(len(roots)):
        for f in range(size):
            Y[p, f] *= roots[p]
    Y[count:padded, :size] = 0
    system[:padded, :padded] = 0
    _add_products(Y, padded, size, system)
    for p in range(padded):
        system[p, p] += 1
        right[p] = p < count
    for p in range(len(roots)):
        right[p] = roots[p]
    solve_spd(system, padded, right)
    found[:] = 0
    value = 0.0
    for p in range(count):
        value += right[p] * roots[p] if len(roots) else right[p]
        for f in range(size):
            found[f] += right[p] * Y[p, f]
    for f in range(size):
        found[f] *= scale[f]
    return value


@inlined
def _by_dimensions(
    pairs: Any, roots: Any, others: Any, scale: Any, Y: Any, system: Any, right: Any, found: Any
) -> Any:
    """v itself; here Y is transposed, a row for each dimension, some pairs at a time."""
    count, size = len(pairs), others.shape[1]
    padded = (size + 3) // 4 * 4
    system[:] = 0
    Y[size:padded] = 0
    right[:] = 0
    for begin in range(0, count, _WIDE):
        width = min(_WIDE, count - begin)
        for p in range(width):
            i = pairs[begin + p]
            for f in range(size):
                Y[f, p] = others[i, f] * scale[f]
        for f in range(size):
            total = Y.dtype.type(0)
            if len(roots):
                for p in range(width):
                    Y[f, p] *= roots[begin + p]
                    total += Y[f, p] * roots[begin + p]
            else:
                for p in range(width):
                    total += Y[f, p]
            right[f] += total
        _add_products(Y, padded, width, system)
    for f in range(padded):
        system[f, f] += 1
    for f in range(size):
        found[f] = right[f]
    solve_spd(system, padded, right)
    value = float(count)
    if len(roots):
        value = 0.0
        for p in range(count):
            value += roots[p] * roots[p]
    for f in range(size):
        value -= found[f] * right[f]
        found[f] = right[f] * scale[f]
    return value


@inlined
def _add_products(Y: Any, count: Any, width: Any, system: Any) -> None:
    """system[p, q] += Y[p].Y[q] for q <= p (and a little above); count is a multiple of 4."""
    for p in range(0, count, 2):
        for q in range(0, p + 2, 4):
            add_dots(system, p, q, Y, width, Y.dtype.type(1))


_CHUNK = 2048
"""Rows in one product, whatever the number of threads."""

Rows = npt.NDArray[np.integer]
Floats = npt.NDArray[Any]
Axes = tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]]


class ALSConfig(EpochConfig):
    """Settings of ALS."""

    dimensions: int = Field(64, ge=1, le=4096, description="length of the vectors")
    reg: float = Field(0.003, gt=0, description="L2 penalty of the vectors")
    unobserved: float = Field(
        0.05,
        gt=0,
        description="weight of an unobserved pair (alpha_0); observed: 1; less for more items",
    )
    reg_exponent: float = Field(
        1.0, ge=0, le=2, description="L2 penalty grows with a row's pairs to this power (nu)"
    )
    init_scale: float = Field(0.1, gt=0, description="length of the random initial vectors")
    epochs: int = Field(16, ge=1, description="sweeps over all users and all items, at most")
    validate_every: int = Field(2, ge=1, description="epochs between two validations")


class ALS(Model[ALSConfig]):
    """Matrix factorisation with the squared loss over all pairs, seen and unseen.

    >>> import xorec
    >>> data = xorec.Interactions.from_pairs([("ann", "tea"), ("ann", "rye"), ("bob", "fig")])
    >>> model = xorec.ALS(dimensions=8, epochs=3).fit(data)
    >>> model.representation_.user_vectors.shape, len(model.history_)
    ((2, 8), 3)
    """

    name = "als"
    work = "rows"
    runs_on_engine = True
    Config = ALSConfig
    space: ClassVar[Space] = {
        "reg": Float(1e-3, 3e-2, log=True),
        "unobserved": Float(2e-3, 0.5, log=True),
        "reg_exponent": Choice((0.5, 1.0)),
    }
    weighting = "the error of a pair counts as its weight (confidence unobserved + weight)"
    learns_vectors = True

    def _learn(self, train: Interactions, validation: Part, options: RunOptions) -> Representation:
        trainer = EpochTrainer(self, train, validation, options)
        users, items = self._sides(train)
        engine = options.block_engine
        placed = engine.place(users.blocks()), engine.place(items.blocks())
        with options.thread_pool() as pool:

            def step(epoch: int, arrays: Arrays) -> dict[str, float]:
                B, D = arrays["user_vectors"], arrays["item_vectors"]
                users.solve_all(B, D, engine, placed[0], pool)
                value = items.solve_all(D, B, engine, placed[1], pool)
                return {"loss": (value + users.penalty(B)) / train.n_pairs}

            state = trainer.run(self._start(train, options.seed), step, _vectors)
        for blocks in placed:
            engine.release(blocks)
        return _vectors(state.arrays)

    def _start(self, train: Interactions, seed: int) -> Arrays:
        """Normal items, from NumPy's own counter-based Philox; users follow from them."""
        rng = np.random.Generator(np.random.Philox(seed))
        size = self.config.dimensions
        scale = np.float32(self.config.init_scale / np.sqrt(size))
        return {
            "user_vectors": np.zeros((train.n_users, size), dtype=np.float32),
            "item_vectors": scale * rng.standard_normal((train.n_items, size), dtype=np.float32),
        }

    def _sides(self, train: Interactions) -> tuple[ALSPairs, ALSPairs]:
        weights = train.weights
        by_item = None if weights is None else weights[train.item_order]
        users = ALSPairs.of(train.indptr, train.indices, train.n_items, self.config, weights)
        return users, ALSPairs.of(*train.by_item, train.n_users, self.config, by_item)

    def fold_in(self, representation: Representation, history: npt.NDArray[np.integer]) -> Any:
        """A new user's vector: the step of a sweep over users, for this one alone."""
        representation = expect(representation, Vectors)
        items = representation.item_vectors[np.unique(history)]
        user = np.zeros((1, items.shape[1]), dtype=np.float32)
        places = np.arange(len(items), dtype=np.int32)
        side = ALSPairs.of(np.array([0, len(items)]), places, representation.n_items, self.config)
        side.solve(user, items, np.zeros(1, dtype=np.int64), _item_axes(representation))
        return user

    def _update(self, representation: Representation, update: DataUpdate) -> Representation:
        """The rows of `update`, by the step of a sweep."""
        representation = expect(representation, Vectors)
        B = with_room(representation.user_vectors, update.train.n_users)
        D = with_room(representation.item_vectors, update.train.n_items)
        users, items = self._sides(update.train)
        with one_blas_thread():
            solve_new_rows(
                update,
                representation.n_users,
                lambda rows: users.solve(B, D, rows),
                lambda rows: items.solve(D, B, rows),
            )
        return Vectors(B, D)


@dataclass(frozen=True, eq=False)
class ALSPairs:
    """The pairs by user, or by item; ridge (rows,): the weight of each row's squared norm."""

    pairs: RowPairs
    ridge: npt.NDArray[np.float64]
    unobserved: float

    @classmethod
    def of(
        cls,
        indptr: npt.NDArray[np.int64],
        indices: npt.NDArray[np.int32],
        others: int,
        config: ALSConfig,
        weights: npt.NDArray[np.float32] | None = None,
    ) -> ALSPairs:
        """others: how many rows there are on the other side."""
        sums, roots = np.diff(indptr), np.empty(0, np.float32)
        if weights is not None:
            sums = np.bincount(np.repeat(np.arange(len(sums)), sums), weights, len(sums))
            roots = np.sqrt(weights)
        ridge = config.reg * (sums + config.unobserved * others) ** config.reg_exponent
        return cls(RowPairs(indptr, indices, roots), ridge, config.unobserved)

    def penalty(self, vectors: npt.NDArray[Any]) -> float:
        """What the norms of these rows add to the objective."""
        return float(self.ridge @ np.einsum("rf,rf->r", vectors, vectors, dtype=np.float64))

    def solve(self, vectors: Floats, others: Floats, rows: Rows, axes: Axes | None = None) -> None:
        """Put `rows` of `vectors` (n, d) where the objective is least, `others` fixed.

        axes: the principal axes, where `others` are only some of the other side.
        """
        chosen = np.asarray(rows, dtype=np.int64)
        pool = ThreadPool(1)
        seen = self._seen(others, axes or principal_axes(others, pool), pool)
        vectors[chosen], _ = _solved(chosen, self.pairs, self.ridge, seen)

    def blocks(self) -> list[Arrays]:
        """The rows in blocks, for `solve_all`."""
        indptr, indices, roots = self.pairs
        made = []
        for begin, end in row_ranges(len(self.ridge)):
            own, part = indptr[begin : end + 1], slice(indptr[begin], indptr[end])
            pairs = {"indptr": own - own[0], "indices": indices[part], "roots": roots[part]}
            made.append({**pairs, "ridge": self.ridge[begin:end]})
        return made

    def solve_all(
        self, vectors: Floats, others: Floats, engine: Engine, blocks: Blocks, pool: ThreadPool
    ) -> float:
        """All rows of `vectors`, block by block. Returns the parts of the objective that hang on
        these rows: all of it but the other side's penalty."""
        seen = self._seen(others, principal_axes(others, pool), pool)
        begin, values = 0, []
        for made in engine.map_blocks(solve_block, blocks, [seen]):
            end = begin + len(made["vectors"])
            vectors[begin:end] = made["vectors"]
            values.append(made["values"])
            begin = end
        return float(np.concatenate(values).sum())

    def _seen(self, others: Floats, axes: Axes, pool: ThreadPool) -> Arrays:
        """The other side in its principal axes, and what a row pays there for its length."""
        lengths, turn = axes
        spread = (self.unobserved * lengths).astype(others.dtype)
        return {"others": _products(others, turn, pool), "turn": turn, "spread": spread}


def solve_block(block: EngineArrays, shared: EngineArrays) -> Arrays:
    """The best vectors of the rows of a block, and their parts of the objective."""
    rows = np.arange(len(block["ridge"]))
    pairs = RowPairs(block["indptr"], block["indices"], block["roots"])
    vectors, values = _solved(rows, pairs, block["ridge"], shared)
    return {"vectors": vectors, "values": values}


def _solved(
    rows: npt.NDArray[np.int64], pairs: RowPairs, ridge: npt.NDArray[np.float64], seen: EngineArrays
) -> tuple[Floats, npt.NDArray[np.float64]]:
    others, values = seen["others"], np.zeros(len(rows))
    found = np.empty((len(rows), others.shape[1]), dtype=others.dtype)
    penalty = ridge.astype(others.dtype)
    solve_rows(rows, pairs, others, seen["spread"], penalty, found, values)
    return _products(found, seen["turn"].T, ThreadPool(1)), values


@once_for_each
def _item_axes(vectors: Vectors) -> Axes:
    with one_blas_thread():
        return principal_axes(vectors.item_vectors, ThreadPool(1))


def principal_axes(rows: npt.NDArray[Any], pool: ThreadPool) -> Axes:
    """Eigenvalues (d,) and vectors (d, d, a column each) of rows'rows, summed in a fixed order."""
    chunks = range(0, len(rows), _CHUNK)
    sums = np.empty((len(chunks), rows.shape[1], rows.shape[1]))

    def work(at: int) -> None:
        chunk = rows[chunks[at] : chunks[at] + _CHUNK].astype(np.float64)
        np.matmul(chunk.T, chunk, out=sums[at])

    pool.map(len(chunks), work)
    try:
        lengths, axes = np.linalg.eigh(sums.sum(axis=0))
    except np.linalg.LinAlgError:
        raise DataError("the vectors are too large, or not finite: fit the model again.") from None
    return np.maximum(lengths, 0), axes


def _products(
    rows: npt.NDArray[Any], axes: npt.NDArray[np.float64], pool: ThreadPool
) -> npt.NDArray[Any]:
    """rows @ axes in the type of the rows."""
    right = np.ascontiguousarray(axes, dtype=rows.dtype)
    turned = np.empty_like(rows)

    def work(at: int) -> None:
        chunk = slice(at * _CHUNK, (at + 1) * _CHUNK)
        np.matmul(rows[chunk], right, out=turned[chunk])

    pool.map(-(-len(rows) // _CHUNK), work)
    return turned


def _vectors(arrays: Arrays) -> Vectors:
    return Vectors(arrays["user_vectors"], arrays["item_vectors"])
