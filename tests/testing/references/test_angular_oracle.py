"""The scale part beside pytorch-metric-learning's AngularLoss, written by others.

Its loss of a pair is log(1 + sum over negatives of e^f), f = 4 tan^2 (a + p).n - 2 (1 + tan^2) a.p:
on unit vectors twice our y at temperature 1, so our "npair" form at temperature 2. It takes as
negatives of a pair every reference row of another label.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.support.references.scale_invariant import siml_gradients, siml_loss, siml_values

torch = pytest.importorskip("torch")
losses = pytest.importorskip("pytorch_metric_learning.losses")

PAIRS, COUNT, SIZE = 6, 5, 16


def rows(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Users and positives, (P, D), and one list of negatives that all pairs share, (K, D)."""
    rng = np.random.default_rng(seed)
    drawn = rng.standard_normal((2 * PAIRS + COUNT, SIZE))
    drawn /= np.linalg.norm(drawn, axis=1, keepdims=True)
    return drawn[:PAIRS], drawn[PAIRS : 2 * PAIRS], drawn[2 * PAIRS :]


def ours(
    users: np.ndarray, positives: np.ndarray, negatives: np.ndarray, degrees: float
) -> tuple[float, list[np.ndarray]]:
    """The scale part alone: the loss less the loss at lambda 0; gradients in the same way."""
    together: Any = (users, positives, np.broadcast_to(negatives, (PAIRS, COUNT, SIZE)))
    run: Any = {"temperature": 2.0, "gamma": float(np.tan(np.radians(degrees))), "form": "npair"}
    value = siml_loss(*together, **run) - siml_loss(*together, lambda_=0, **run)
    both, pairwise = siml_gradients(*together, **run), siml_gradients(*together, lambda_=0, **run)
    return value, [a - b for a, b in zip(both, pairwise, strict=True)]


@pytest.mark.parametrize(("kind", "tolerance"), [("float64", 1e-6), ("float32", 1e-5)])
@pytest.mark.parametrize("degrees", [26.57, 40.0, 45.0, 52.4])
def test_loss_and_gradients_agree(kind: str, tolerance: float, degrees: float) -> None:
    """One label for all users and positives, others for the negatives."""
    users, positives, negatives = rows(int(degrees))
    expected, slopes = ours(users, positives, negatives, degrees)
    dtype = getattr(torch, kind)
    anchors = torch.tensor(users, dtype=dtype)
    reference = torch.tensor(np.concatenate([positives, negatives]), dtype=dtype)
    reference.requires_grad_()
    labels = torch.zeros(PAIRS, dtype=torch.int64)
    reference_labels = torch.tensor([0] * PAIRS + list(range(1, COUNT + 1)))
    each = torch.arange(PAIRS)
    indices = (each, each, each, torch.full((PAIRS,), PAIRS))
    loss = losses.AngularLoss(alpha=degrees)(
        anchors, labels, indices, ref_emb=reference, ref_labels=reference_labels
    )
    assert float(loss.detach()) * PAIRS == pytest.approx(expected, rel=tolerance, abs=tolerance)
    loss.backward()
    found = reference.grad.numpy()[PAIRS:] * PAIRS
    np.testing.assert_allclose(found, slopes[2].sum(axis=0), rtol=tolerance, atol=tolerance)


def test_each_pair_agrees_where_every_pair_has_its_own_label() -> None:
    """Positives of the other pairs are then the negatives of a pair.

    (The very same tensor of labels would mean that rows are compared with themselves.)
    """
    users, positives, _ = rows(3)
    labels = torch.arange(PAIRS)
    found = losses.AngularLoss(alpha=45)(
        torch.tensor(users), labels, ref_emb=torch.tensor(positives), ref_labels=labels.clone()
    )
    negatives = np.stack([np.delete(positives, p, axis=0) for p in range(PAIRS)])
    run: Any = {"temperature": 2.0, "form": "npair"}
    expected = siml_values(users, positives, negatives, **run)
    pairwise = siml_values(users, positives, negatives, lambda_=0, **run)
    assert float(found) == pytest.approx(float(np.mean(expected - pairwise)), abs=1e-6)
