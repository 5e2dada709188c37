from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.steps import differences, take_step
from xorec.core.errors import OptionError
from xorec.core.options import RunOptions
from xorec.core.threads import ThreadPool
from xorec.models.hashing.lightrec import BatchLearner, LightRec, StartVectors, start_arrays
from xorec.models.hashing.lightrec_codebooks import (
    ItemEncoder,
    code_shape,
    residual_codebooks,
    whitening,
)
from xorec.representations.codebooks import Codebooks
from xorec.testing.data import planted
from xorec.testing.models import EpochModelTests
from xorec.training.passes import Triplets

START = {"model": "bpr", "dimensions": 16, "epochs": 40, "block_size": 500}


class TestLightRec(EpochModelTests):
    model = LightRec
    settings = {"bits": 20, "epochs": 6, "steps": 3, "start": START}  # noqa: RUF012


def small(rng: np.random.Generator, items: int = 7) -> tuple[Any, ItemEncoder]:
    """Vectors (7, 5) and an encoder of 3 codebooks of 4 words, in float64."""
    codebooks = rng.standard_normal((3, 4, 5))
    transforms = np.eye(5) + 0.3 * rng.standard_normal((3, 5, 5))
    return rng.standard_normal((items, 5)), ItemEncoder(codebooks, transforms, 0.9)


def plain_logits(x: Any, transform: Any, words: Any) -> list[float]:
    return [x @ transform @ word - word @ word / 2 for word in words]


def shares_of(logits: Any, temperature: float) -> Any:
    powers = np.exp(np.array(logits) / temperature)
    return powers / powers.sum()


def plain_codes(vectors: Any, encoder: ItemEncoder) -> list[list[int]]:
    """The recursion, item after item."""
    codes = []
    for v in vectors:
        x, own = v.copy(), []
        for words, transform in zip(encoder.codebooks, encoder.transforms, strict=True):
            own.append(int(np.argmax(plain_logits(x, transform, words))))
            x = x - words[own[-1]]
        codes.append(own)
    return codes


def test_codes_and_sums_come_from_one_recursion() -> None:
    vectors, encoder = small(np.random.default_rng(0))
    codes, sums = encoder.encode(vectors, ThreadPool(1))
    assert codes.tolist() == plain_codes(vectors, encoder)
    words = [sum(encoder.codebooks[b][k] for b, k in enumerate(own)) for own in codes]
    np.testing.assert_allclose(sums, words, atol=1e-12)


def relaxed_sums(vectors: Any, encoder: ItemEncoder, codebooks: Any, transforms: Any) -> Any:
    """q with choices o_b = hard_b + p_b - (p_b at the encoder's own C and M): smooth in C and M.

    Its derivative is what "straight-through" says: forward the choice, backward the softmax.
    """
    sums = []
    for v, own in zip(vectors, plain_codes(vectors, encoder), strict=True):
        x, fixed, total = v.copy(), v.copy(), np.zeros_like(v)
        for b, k in enumerate(own):
            before = plain_logits(fixed, encoder.transforms[b], encoder.codebooks[b])
            now = plain_logits(x, transforms[b], codebooks[b])
            choice = shares_of(now, encoder.temperature) - shares_of(before, encoder.temperature)
            choice[k] += 1
            word = choice @ codebooks[b]
            x, total = x - word, total + word
            fixed = fixed - encoder.codebooks[b][k]
        sums.append(total)
    return np.array(sums)


def test_slopes_of_the_encoder_equal_differences_of_the_relaxed_sum() -> None:
    rng = np.random.default_rng(1)
    vectors, encoder = small(rng)
    at_items = rng.standard_normal(vectors.shape)
    codes, sums = encoder.encode(vectors, ThreadPool(1))
    C, M = encoder.codebooks, encoder.transforms
    np.testing.assert_allclose(relaxed_sums(vectors, encoder, C, M), sums, atol=1e-12)
    at_words, at_transforms = encoder.gradients(vectors, codes, at_items, ThreadPool(1))
    by_words = differences(lambda c: np.sum(at_items * relaxed_sums(vectors, encoder, c, M)), C)
    by_matrix = differences(lambda m: np.sum(at_items * relaxed_sums(vectors, encoder, C, m)), M)
    np.testing.assert_allclose(at_words, by_words, atol=1e-7)
    np.testing.assert_allclose(at_transforms, by_matrix, atol=1e-7)


def test_the_encoder_gives_the_same_bytes_for_any_number_of_threads() -> None:
    rng = np.random.default_rng(2)
    vectors, encoder = small(rng, items=20_000)
    found = []
    for threads in (1, 2, 3):
        with ThreadPool(threads) as pool:
            codes, sums = encoder.encode(vectors, pool)
            slopes = encoder.gradients(vectors, codes, vectors, pool)
            found.append([array.tobytes() for array in (codes, sums, *slopes)])
    assert found[0] == found[1] == found[2]


def scene(rng: np.random.Generator, n: int = 6, m: int = 9) -> tuple[StartVectors, Any, Any]:
    """The vectors of a start, and users and quantised items, in float64."""
    weights = rng.random(m)
    start = (rng.standard_normal((n, 4)), rng.standard_normal((m, 4)))
    teacher = StartVectors(*start, weights / weights.sum())
    return teacher, rng.standard_normal((n, 4)), rng.standard_normal((m, 4))


def test_the_error_of_the_scores_equals_plain_loops() -> None:
    rng = np.random.default_rng(3)
    teacher, users, items = scene(rng)

    def plain(U: Any, Q: Any) -> float:
        errors = [
            teacher.weights[i] * (U[u] @ Q[i] - teacher.users[u] @ teacher.items[i]) ** 2
            for u in range(len(U))
            for i in range(len(Q))
        ]
        return float(sum(errors)) / (2 * len(U))

    value, at_users, at_items = teacher.gradients(users, items)
    assert value == pytest.approx(plain(users, items), abs=1e-9)
    np.testing.assert_allclose(at_users, differences(lambda U: plain(U, items), users), atol=1e-8)
    np.testing.assert_allclose(at_items, differences(lambda Q: plain(users, Q), items), atol=1e-8)


def test_a_step_is_adam_on_the_whole_loss() -> None:
    """The first step of Adam moves each number by the rate, against the sign of its slope."""
    rng = np.random.default_rng(5)
    teacher, users, _ = scene(rng)
    given = (teacher.users, teacher.items, teacher.weights)
    teacher = StartVectors(*(array.astype(np.float32) for array in given))
    codebooks = rng.standard_normal((2, 4, 4)).astype(np.float32)
    arrays = start_arrays(users.astype(np.float32), codebooks.copy())
    config = LightRec(decay=0.3, distill_weight=0.7, temperature=0.9).config
    owner = np.array([0, 0, 3, 4], dtype=np.int32)
    positives = np.array([1, 2, 2, 8], dtype=np.int32)
    negatives = np.array([[3, 4], [0, 8], [7, -1], [1, 5]], dtype=np.int32)
    encoder = ItemEncoder(codebooks.astype(float), np.array(2 * [np.eye(4)]), 0.9)
    V = teacher.items.astype(float)
    met = np.bincount(positives, minlength=9) + np.bincount(negatives[negatives >= 0], None, 9) / 2

    def plain(U: Any, C: Any, M: Any) -> float:
        Q = relaxed_sums(V, encoder, C, M)
        total = sum(
            np.log1p(np.exp(U[u] @ (Q[j] - Q[i]))) / 8
            for u, i, js in zip(owner, positives, negatives, strict=True)
            for j in js[js >= 0]
        )
        norms = sum(U[u] @ U[u] for u in owner) + met @ (Q * Q).sum(axis=1)
        start = teacher.users.astype(float) @ V.T
        errors = ((U @ Q.T - start) ** 2).mean(axis=0) @ teacher.weights
        return float(total + 0.3 * norms / 8 + 0.7 * errors / 2)

    learner = BatchLearner(arrays, teacher, config, ThreadPool(1))
    take_step(learner.step(negatives.size), Triplets(owner, positives, negatives))
    learner.learn(1e-3)
    at = (users, encoder.codebooks, encoder.transforms)
    wanted = {
        "users": differences(lambda U: plain(U, *at[1:]), users),
        "codebooks": differences(lambda C: plain(users, C, at[2]), encoder.codebooks),
        "transforms": differences(lambda M: plain(*at[:2], M), encoder.transforms),
    }
    for name, slopes in wanted.items():
        np.testing.assert_allclose(10 * arrays[f"{name}_first"], slopes, atol=2e-5)


def test_the_exported_codes_are_those_that_were_learned() -> None:
    """What the file says of an item is the sum that training had, turned back."""
    data = planted(60, 40)
    model = LightRec(bits=12, epochs=3, steps=2, start=START).fit(data, options=RunOptions(seed=1))
    found = model.representation_
    assert isinstance(found, Codebooks)
    assert found.codebooks.shape == (2, 64, 16)
    np.testing.assert_allclose(
        found.scores(np.arange(60)), found.user_vectors @ found.item_vectors.T, atol=1e-4
    )
    assert set(found.tensors()) == {"user_vectors", "item_codes", "codebooks"}


def test_codes_are_cut_into_codebooks() -> None:
    assert code_shape(20) == (4, 32)
    assert code_shape(32) == (4, 256)
    assert code_shape(64) == (8, 256)
    assert code_shape(64, 4) == (16, 16)
    with pytest.raises(OptionError, match=r"13 bits cannot be cut.*as 14"):
        LightRec(bits=13)
    with pytest.raises(OptionError, match=r"20 bits cannot be cut.*of 8 bits each.*as 24"):
        LightRec(bits=20, codebook_bits=8)


def test_a_start_that_ranks_by_distance_is_refused() -> None:
    with pytest.raises(OptionError, match="cml ranks by distance"):
        LightRec(start={"model": "cml"})


def test_whitening_makes_lengths_the_errors_of_scores() -> None:
    rng = np.random.default_rng(6)
    users = (rng.standard_normal((500, 6)) @ rng.standard_normal((6, 6))).astype(np.float32)
    item = rng.standard_normal(6).astype(np.float32)
    turn, back = whitening(users)
    np.testing.assert_allclose(turn @ back, np.eye(6), atol=1e-4)
    np.testing.assert_allclose((users @ back) @ (item @ turn), users @ item, atol=1e-3)
    assert np.sum((item @ turn) ** 2) == pytest.approx(np.mean((users @ item) ** 2), rel=1e-4)


def test_residual_k_means_finds_planted_sums() -> None:
    """Items that are sums of one of 4 far and one of 4 near words are found without error."""
    rng = np.random.default_rng(7)
    far, near = 10 * rng.standard_normal((4, 8)), rng.standard_normal((4, 8))
    near -= near.mean(axis=0)
    items = (far[:, None] + near[None]).reshape(16, 8).repeat(5, axis=0).astype(np.float32)
    codebooks = residual_codebooks(items, np.ones(80, np.float32), 2, 4, seed=1)
    encoder = ItemEncoder(codebooks, np.array(2 * [np.eye(8, dtype=np.float32)]), 1.0)
    _, sums = encoder.encode(items, ThreadPool(1))
    np.testing.assert_allclose(sums, items, atol=1e-4)


def test_steps_shrink_from_epoch_to_epoch() -> None:
    rates = [LightRec(learning_rate=0.6).config.rate(epoch) for epoch in range(3)]
    assert rates == pytest.approx([0.6, 0.4, 0.3])
