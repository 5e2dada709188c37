import numpy as np
import numpy.typing as npt
import pytest

from xorec.core.errors import DataError, OptionError
from xorec.core.rng import below, draw, stream
from xorec.evaluation.protocol import Evaluation
from xorec.evaluation.significance import (
    bootstrap_ratios,
    compare,
    flipped_sums,
    sign_flip_test,
)

Floats = npt.NDArray[np.float64]


def evaluation(values: Floats, hits: Floats | None = None, users: int = 0) -> Evaluation:
    counts = np.random.default_rng(1).integers(1, 9, len(values))
    hits = np.zeros(len(values)) if hits is None else hits
    return Evaluation(
        np.arange(users, users + len(values)),
        counts,
        {"ndcg@10": values, "hits@10": hits},
        {
            "ndcg@10": float(values.mean()),
            "hr@10": float(hits.sum() / counts.sum()),
            "gini@10": 0.5,
        },
    )


def test_kernels_agree_with_their_twins() -> None:
    rng = np.random.default_rng(0)
    top, bottom = rng.random(70), rng.random(70)
    twins, flips = [], []
    for sample in range(5):
        key = np.uint64(stream(3, sample, 0))
        drawn = [below(np.uint64(draw(key, place)), 70) for place in range(70)]
        twins.append(top[drawn].sum() / bottom[drawn].sum())
        key = np.uint64(stream(3, sample, 1))
        bits = [(int(draw(key, at - at % 64)) >> at % 64) & 1 for at in range(70)]
        flips.append(sum(-d if bit else d for d, bit in zip(top, bits, strict=True)))
    np.testing.assert_allclose(bootstrap_ratios(top, bottom, 5, 3), twins, rtol=1e-12)
    np.testing.assert_allclose(flipped_sums(top, 5, 3), flips, atol=1e-12)


def test_the_interval_of_a_mean_is_that_of_the_normal_law() -> None:
    values = np.random.default_rng(3).normal(5, 3, 2000)
    found = evaluation(values).interval("ndcg@10", samples=4000)
    half = 1.96 * values.std() / np.sqrt(2000)
    assert found.low == pytest.approx(values.mean() - half, abs=0.1 * half)
    assert found.high == pytest.approx(values.mean() + half, abs=0.1 * half)


def test_micro_hr_is_resampled_as_a_ratio() -> None:
    rng = np.random.default_rng(4)
    counts = evaluation(np.zeros(400)).test_counts
    proportional = evaluation(np.zeros(400), hits=counts / 4)
    found = proportional.interval("hr@10")
    assert found.low == pytest.approx(0.25)
    assert found.high == pytest.approx(0.25)
    noisy = evaluation(np.zeros(400), hits=rng.binomial(counts, 0.25).astype(float))
    found = noisy.interval("hr@10")
    assert found.low < noisy["hr@10"] < found.high
    assert found == noisy.interval("hr@10")
    assert found != noisy.interval("hr@10", seed=1)


def test_p_values_are_uniform_when_nothing_is_there() -> None:
    rng = np.random.default_rng(5)
    p = np.array(
        [sign_flip_test(rng.standard_normal(100), samples=399, seed=seed) for seed in range(400)]
    )
    for level in (0.05, 0.1, 0.5):
        spread = 3.5 * np.sqrt(level * (1 - level) / 400)
        assert abs(np.mean(p <= level) - level) < spread


def test_p_of_a_few_users_is_the_share_of_sign_patterns() -> None:
    """Five differences of one sign: 2 of 32 patterns are as large."""
    p = sign_flip_test(np.array([1.0, 2.0, 0.0, 3.0, 4.0, 5.0]), samples=40_000)
    assert p == pytest.approx(2 / 32, abs=0.005)
    assert sign_flip_test(np.zeros(9)) == 1


def test_a_better_model_is_found_better() -> None:
    rng = np.random.default_rng(6)
    values = rng.random(500)
    better = evaluation(np.clip(values + rng.normal(0.03, 0.1, 500), 0, None), hits=np.ones(500))
    found = compare(better, evaluation(values), "ndcg@10", samples=2000)
    assert found.difference == pytest.approx(better["ndcg@10"] - values.mean())
    assert 0 < found.interval.low < found.difference < found.interval.high
    assert found.p_value == pytest.approx(1 / 2001)
    back = compare(evaluation(values), better, "ndcg@10", samples=2000)
    assert back.difference == -found.difference
    assert back.p_value == found.p_value
    micro = compare(better, evaluation(values), "hr@10", samples=200)
    assert micro.difference == pytest.approx(better["hr@10"])


def test_a_model_does_not_differ_from_itself() -> None:
    one = evaluation(np.random.default_rng(7).random(50))
    found = compare(one, one, "ndcg@10", samples=100)
    assert (found.difference, found.interval.low, found.interval.high) == (0, 0, 0)
    assert found.p_value == 1


def test_what_cannot_be_compared_is_refused() -> None:
    one = evaluation(np.ones(5))
    with pytest.raises(DataError, match="the same test part"):
        compare(one, evaluation(np.ones(5), users=1), "ndcg@10")
    with pytest.raises(DataError, match="the same test part"):
        compare(one, evaluation(np.ones(6)), "ndcg@10")
    for metric in ("gini@10", "ndcg@11", "hr@11"):
        with pytest.raises(OptionError, match="has no value for each user"):
            one.interval(metric)
    with pytest.raises(OptionError, match="level is 95"):
        one.interval("ndcg@10", level=95)
    with pytest.raises(OptionError, match="samples is 0"):
        one.interval("ndcg@10", samples=0)
