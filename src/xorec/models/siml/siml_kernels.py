"""The steps of SIML over a block of pairs (see `training.passes`), in float32.

With cosines c, g = gamma^2, temperature tau and the offset of the margin (METHOD, section 2):

    x_k = (c_uj - c_ui) / 2          v_k = sigma(x_k)
    y_k = tau (2g (c_uj + c_ij) - (1+g) c_ui + offset)
    w_k = sigma(y_k), or e^y_k / (1 + sum_l e^y_l) inside the log (N-pair)

    u:   sum_k  lambda tau w_k (2g d_j - (1+g) d_i)  +  v_k (d_j - d_i) / 2
    i:   sum_k  lambda tau w_k (2g d_j - (1+g) b_u)  -  v_k b_u / 2
    j_k: lambda tau w_k 2g (b_u + d_i)  +  v_k b_u / 2

Where a teacher has a weight, with t the cosines of its vectors and s its steepness, over the
candidates v of a pair, the positive and its negatives (distillation):

    p_v = e^(s t_v) / sum e^(s t_w)        q_v = e^(s c_v) / sum e^(s c_w)
    loss - weight sum_v p_v log q_v         gradient at c_v: weight s (q_v - p_v)

A teacher with lists has other candidates and other p. A pair's last `listed` negatives are items of
its user's list. The loss of the pairs does not see them; the distillation is over all negatives v
of the pair, without the positive:

    p_v = e^(l_v + s t_v) / sum             l_v: the list's logit, 0 where v is not on it

`tests/support/references` has the same in plain NumPy. Rows are `training.rows.Rows`: vectors that
move, and the snapshot that the others see. For vectors both are one. For codes the snapshot is
sign(row) / sqrt(d), a unit vector, or drawn around the row, and the gradient at the snapshot moves
the row behind it (straight-through). Items are read as they were before the block.

Shapes: P pairs, K negatives, a negative of -1 is none. Nothing is written but `new` and `kept`.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from xorec.core.arrays import APART, empty_apart
from xorec.core.kernels import fast_kernel, inlined, kernel
from xorec.core.rng import below, draw, stream
from xorec.training.rows import SIGNS, SPHERE, adagrad_step, draw_code, prefetch_next, project


class Lists(NamedTuple):
    """The best items of each user by a teacher, by row and not by rank.

    items (n, N): ascending, counts (n,) of them; logits (n, N): how much the teacher wants each.
    """

    items: Any
    logits: Any
    counts: Any


NO_LISTS = Lists(
    np.zeros((0, 0), dtype=np.int32),
    np.zeros((0, 0), dtype=np.float32),
    np.zeros(0, dtype=np.int32),
)


@inlined
def list_logit(lists: Any, u: Any, v: Any) -> Any:
    """The logit of item v in the list of user u, 0 where it is not on it (binary search)."""
    lo, hi = 0, lists.counts[u]
    while lo < hi:
        middle = (lo + hi) >> 1
        if lists.items[u, middle] < v:
            lo = middle + 1
        else:
            hi = middle
    value = np.float32(0)
    if lo < lists.counts[u] and lists.items[u, lo] == v:
        value = lists.logits[u, lo]
    return value


@kernel
def draw_listed(out: Any, first: Any, pairs: Any, users: Any, lists: Any, keys: Any) -> None:
    """Fill out[:, first:] with items of the users' lists, evenly and with repetition; -1: none.

    pairs: the position of each pair's draws; keys: (seed, epoch).
    """
    seed, epoch = keys
    count = out.shape[1] - first
    for row in range(len(users)):
        u = users[row]
        key, known = stream(seed, epoch, u), lists.counts[u]
        for k in range(count):
            out[row, first + k] = -1
            if known > 0:
                place = below(draw(key, pairs[row] * count + k), known)
                out[row, first + k] = lists.items[u, place]


STEEP = np.float32(30)
USERS, ITEMS = 0x7573657273, 0x6974656D73
"""These keep the draws of users and of items apart."""


class LossParams(NamedTuple):
    """The loss, its steps, and where rows live (`training.rows`).

    kind, softness, hardness: what the others see of a row; the draws of a row are those of its
    stream in this epoch. listed: how many of a pair's negatives are a list's, for its teacher.
    """

    gamma_sq: Any
    lambda_: Any
    temperature: Any
    offset: Any
    npair: bool
    kind: int = SPHERE
    rate: Any = 1.0
    reg: Any = 0.0
    softness: Any = 0.0
    hardness: Any = 1.0
    seed: int = 0
    epoch: int = 0
    listed: int = 0

    def cast(self, dtype: Any = np.float32) -> LossParams:
        """The numbers as the kernels take them."""
        number = np.dtype(dtype).type
        cast: list[Any] = [number(term) if isinstance(term, float) else term for term in self]
        return LossParams(*cast)


class PairGradients(NamedTuple):
    """What the items' step needs of a pair.

    scale (P, K): lambda tau w_k 2g, and pairwise (P, K): v_k / 2, the weights of j_k;
    positive (P,): sum_k lambda tau w_k (1+g) + v_k / 2, that of i;
    negatives (P, d): sum_k scale_k d_jk; losses (P,): the loss as it was met.
    """

    scale: Any
    pairwise: Any
    positive: Any
    negatives: Any
    losses: Any

    @classmethod
    def empty(cls, pairs: int, negatives: int, size: int, dtype: Any = np.float32) -> PairGradients:
        """Room for so many pairs."""
        each = (pairs, negatives)
        return cls(
            *(empty_apart(shape, dtype) for shape in (each, each, pairs, (pairs, size), pairs))
        )


class Teacher(NamedTuple):
    """Unit vectors of users (n, D) and items (m, D) whose order is learned beside the pairs.

    distill_weight (n,): what that order weighs for each user, or (0,): no teacher. lists: of
    users, or empty.
    """

    users: Any
    items: Any
    distill_weight: Any
    steepness: Any
    lists: Lists = NO_LISTS


_EMPTY = np.zeros((0, 0), dtype=np.float32)
NO_TEACHER = Teacher(_EMPTY, _EMPTY, np.zeros(0, dtype=np.float32), np.float32(0))


@inlined
def pair_gradients(
    users: Any, u: Any, items: Any, triplets: Any, pair: Any, params: Any, kept: Any, gradient: Any
) -> None:
    """The loss of one pair and its coefficients (`PairGradients`), the user's row being users[u].

    gradient (d,) = sum_k (scale_k + pairwise_k) d_jk; the user's is that less positive d_i.
    """
    negatives, scale, pairwise = triplets.negatives, kept.scale, kept.pairwise
    size, count, i = users.shape[1], negatives.shape[1], triplets.positives[pair]
    own = count - params.listed
    tau, npair = params.temperature, params.npair
    two_g, one_g = np.float32(2) * params.gamma_sq, np.float32(1) + params.gamma_sq
    c_ui = np.float32(0)
    for f in range(size):
        c_ui += users[u, f] * items[i, f]
        kept.negatives[pair, f] = np.float32(0)
        gradient[f] = np.float32(0)
    total, loss, positive = np.float32(1), np.float32(0), np.float32(0)
    for k in range(count):
        j = negatives[pair, k]
        scale[pair, k] = np.float32(0)
        pairwise[pair, k] = np.float32(0)
        if j >= 0 and k < own:
            c_uj, c_ij = np.float32(0), np.float32(0)
            for f in range(size):
                c_uj += users[u, f] * items[j, f]
                c_ij += items[i, f] * items[j, f]
            y = tau * (two_g * (c_uj + c_ij) - one_g * c_ui + params.offset)
            power = np.exp(min(max(y, -STEEP), STEEP))
            scale[pair, k] = power
            total += power
            if not npair:
                loss += params.lambda_ * np.log(np.float32(1) + power)
            x = (c_uj - c_ui) * np.float32(0.5)
            power = np.exp(min(max(x, -STEEP), STEEP))
            pairwise[pair, k] = np.float32(0.5) * power / (np.float32(1) + power)
            loss += np.log(np.float32(1) + power)
    if npair:
        loss += params.lambda_ * np.log(total)
    for k in range(own):
        j = negatives[pair, k]
        if j >= 0:
            power = scale[pair, k]
            weight = power / total if npair else power / (np.float32(1) + power)
            weight *= params.lambda_ * tau
            positive += weight * one_g + pairwise[pair, k]
            weight *= two_g
            scale[pair, k] = weight
            both = weight + pairwise[pair, k]
            for f in range(size):
                kept.negatives[pair, f] += weight * items[j, f]
                gradient[f] += both * items[j, f]
    kept.positive[pair] = positive
    kept.losses[pair] = loss


@inlined
def cosine(users: Any, u: Any, items: Any, v: Any) -> Any:
    """The dot product of unit rows."""
    total = np.float32(0)
    for f in range(users.shape[1]):
        total += users[u, f] * items[v, f]
    return total


@inlined
def powers(values: Any, steepness: Any) -> Any:
    """values <- e^(steepness (value - the largest)); their sum. Below -1: no candidate, 0."""
    largest, total = np.float32(-1), np.float32(0)
    for k in range(len(values)):
        largest = max(largest, values[k])
    for k in range(len(values)):
        if values[k] < np.float32(-2):
            values[k] = np.float32(0)
        else:
            values[k] = np.exp(steepness * (values[k] - largest))
        total += values[k]
    return total


@inlined
def distill(
    users: Any, row: Any, items: Any, triplets: Any, pair: Any, teacher: Any, kept: Any, room: Any
) -> None:
    """Add one pair's distillation to its coefficients (`PairGradients`); users[row] learns.

    By a teacher with lists it is over the negatives of the pair alone. room: the user's gradient
    (d,), and of teacher and student the probabilities of the candidates (K + 1,), positive last.
    """
    negatives, i, u = triplets.negatives, triplets.positives[pair], triplets.users[pair]
    gradient, teacher_p, student_p = room
    count, weight, steepness = negatives.shape[1], teacher.distill_weight[u], teacher.steepness
    listed = len(teacher.lists.items) > 0
    for k in range(count + 1):
        v = negatives[pair, k] if k < count else (-1 if listed else i)
        teacher_p[k] = student_p[k] = np.float32(-4)
        if v >= 0:
            logit = list_logit(teacher.lists, u, v) if listed else np.float32(0)
            teacher_p[k] = cosine(teacher.users, u, teacher.items, v) + logit / steepness
            student_p[k] = cosine(users, row, items, v)
    teacher_total, student_total = powers(teacher_p, steepness), powers(student_p, steepness)
    for k in range(count + 1):
        v = negatives[pair, k] if k < count else (-1 if listed else i)
        if v >= 0:
            p, q = teacher_p[k] / teacher_total, student_p[k] / student_total
            at_v = weight * steepness * (q - p)
            kept.losses[pair] -= weight * p * np.log(max(q, np.float32(1e-30)))
            if k < count:
                kept.pairwise[pair, k] += at_v
                for f in range(len(gradient)):
                    gradient[f] += at_v * items[v, f]
            else:
                kept.positive[pair] -= at_v


@fast_kernel
def step_users(
    users: Any, items: Any, triplets: Any, params: Any, teacher: Any, new: Any, kept: Any
) -> None:
    """Each user's step, pair after pair; what the items' step needs of a pair is kept.

    users: their rows before; items (m, d): the items' snapshot; new: the rows of the users of the
    triplets after the step. See `Teacher`.
    """
    size, candidates = items.shape[1], triplets.negatives.shape[1] + 1
    gradient = np.empty(size + 2 * APART, dtype=np.float32)[APART : APART + size]
    room = gradient, np.empty(candidates, np.float32), np.empty(candidates, np.float32)
    table, row = items.ravel(), -1
    for pair in range(len(triplets.users)):
        prefetch_next(table, size, triplets.positives, triplets.negatives, pair)
        u, i = triplets.users[pair], triplets.positives[pair]
        if pair == 0 or u != triplets.users[pair - 1]:
            row += 1
            new.grad_sq_sum[row] = users.grad_sq_sum[u]
            for f in range(size):
                new.vectors[row, f] = users.vectors[u, f]
                new.snapshot[row, f] = users.snapshot[u, f]
        pair_gradients(new.snapshot, row, items, triplets, pair, params, kept, gradient)
        if len(teacher.distill_weight) > 0 and teacher.distill_weight[u] > 0:
            distill(new.snapshot, row, items, triplets, pair, teacher, kept, room)
        square = np.float32(0)
        for f in range(size):
            gradient[f] += params.reg * new.vectors[row, f] - kept.positive[pair] * items[i, f]
            square += gradient[f] * gradient[f]
        adagrad_step(new.vectors, row, gradient, square, new.grad_sq_sum, params.rate)
        if params.kind == SIGNS:
            key = stream(params.seed ^ USERS, params.epoch, u)
            position = (i + 1) * size
            draw_code(
                new.vectors, new.snapshot, row, params.softness, params.hardness, key, position
            )
        else:
            project(new.vectors, new.snapshot, row, params.kind)


@fast_kernel
def step_items(
    users: Any, items: Any, triplets: Any, local: Any, params: Any, kept: Any, new: Any
) -> None:
    """The items of `new`, by their numbers in `local`, in both roles, pair after pair.

    users (R, d): the snapshot of the users of the triplets, after their own step; items (m, d):
    that of the items before the block.
    """
    size, count = items.shape[1], local.negatives.shape[1]
    gradient = np.empty(size + 2 * APART, dtype=np.float32)[APART : APART + size]
    rows, grad_sq_sum, rate, reg = new.vectors, new.grad_sq_sum, params.rate, params.reg
    table = rows.ravel()
    for pair in range(len(local.users)):
        prefetch_next(table, size, local.positives, local.negatives, pair)
        u, i, v = local.users[pair], triplets.positives[pair], local.positives[pair]
        if v >= 0:
            positive = kept.positive[pair]
            square = np.float32(0)
            for f in range(size):
                gradient[f] = kept.negatives[pair, f] - positive * users[u, f] + reg * rows[v, f]
                square += gradient[f] * gradient[f]
            adagrad_step(rows, v, gradient, square, grad_sq_sum, rate)
        for k in range(count):
            v = local.negatives[pair, k]
            if v >= 0:
                with_i = kept.scale[pair, k]
                with_u = with_i + kept.pairwise[pair, k]
                square = np.float32(0)
                for f in range(size):
                    gradient[f] = with_u * users[u, f] + with_i * items[i, f] + reg * rows[v, f]
                    square += gradient[f] * gradient[f]
                adagrad_step(rows, v, gradient, square, grad_sq_sum, rate)


@fast_kernel
def finish_items(ids: Any, new: Any, params: Any, block: Any) -> None:
    """Write rows that have moved back to the item arrays; draw their codes again."""
    size = new.vectors.shape[1]
    for row in range(len(ids)):
        if params.kind == SIGNS:
            key = stream(params.seed ^ ITEMS, params.epoch, ids[row])
            position = (block + 1) * size
            draw_code(
                new.vectors, new.snapshot, row, params.softness, params.hardness, key, position
            )
        else:
            project(new.vectors, new.snapshot, row, params.kind)
