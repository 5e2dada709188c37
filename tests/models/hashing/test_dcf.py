from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest

from tests.support.data_update import check_data_update
from xorec.core.bits import unpack_signs
from xorec.data.negatives import Negatives
from xorec.models.hashing.dcf import DCF
from xorec.models.hashing.factored_kernels import of_history, sampled
from xorec.representations.codes import Codes
from xorec.testing.data import planted
from xorec.testing.models import EpochModelTests
from xorec.training.discrete.balance import balanced


class TestDCF(EpochModelTests):
    model = DCF
    settings = {"bits": 16, "epochs": 6}  # noqa: RUF012


def codes_of(model: DCF) -> tuple[np.ndarray, np.ndarray]:
    found = model.representation_
    assert isinstance(found, Codes)
    return tuple(
        unpack_signs(words, found.bits).astype(np.float64)
        for words in (found.user_codes, found.item_codes)
    )  # type: ignore[return-value]


def test_the_loss_is_the_objective_of_what_was_learned_and_never_rises() -> None:
    """X and Y are the best ones before the last sweep, so they can only be worse than now's."""
    data = planted(60, 40)
    settings = {"bits": 12, "balance": 0.25, "negatives": 3, "negative_target": -0.5, "alpha": 0.0}
    model = DCF(epochs=12, fresh=False, **settings).fit(data)
    losses = [row["loss"] for row in model.history_]
    assert all(after <= before + 1e-9 * abs(before) for before, after in pairwise(losses))
    assert model.history_[-1]["user_flips"] == model.history_[-1]["item_flips"] == 0
    B, D = codes_of(model)
    sides = sampled(data, Negatives.of(data), 3, 0, 0)
    total = -2.0 * 0.25 * 12 * (np.sum(B * balanced(B, 0)) + np.sum(D * balanced(D, 1)))
    for u in range(60):
        for pair in sides[0].pairs[sides[0].starts[u] : sides[0].starts[u + 1]]:
            i, target = (pair, 12.0) if pair >= 0 else (-1 - pair, -6.0)
            total += (target - B[u] @ D[i]) ** 2
    assert losses[-1] * len(sides[0].pairs) == pytest.approx(total, rel=1e-6)


def test_fresh_negatives_change_from_sweep_to_sweep() -> None:
    data = planted(60, 40)
    fixed = DCF(bits=16, epochs=12, fresh=False).fit(data)
    fresh = DCF(bits=16, epochs=12, fresh=True).fit(data)
    assert fixed.history_[0] == fresh.history_[0]
    assert fixed.history_[-1]["user_flips"] < 0.01 < fresh.history_[-1]["user_flips"]


def test_fold_in_solves_the_new_users_own_problem() -> None:
    """No bit of theirs could be turned at a gain: by A and c of their pairs."""
    data = planted(60, 40)
    model = DCF(bits=12, epochs=4).fit(data)
    _, D = codes_of(model)
    for user in range(20):
        code = unpack_signs(model.fold_in(model.representation_, data.of_user(user)), 12)[0]
        side, met = of_history(data.of_user(user).astype(np.int32), 40, model.config.negatives)
        positive = side.pairs >= 0
        rows = D[met[np.where(positive, side.pairs, -1 - side.pairs)]]
        targets = np.where(positive, 12.0, 12.0 * model.config.negative_target)
        value = np.sum((targets - rows @ code) ** 2)
        for k in range(12):
            turned = code * np.where(np.arange(12) == k, -1, 1)
            assert np.sum((targets - rows @ turned) ** 2) >= value - 1e-6


def test_an_update_solves_the_rows_that_changed_and_leaves_the_others() -> None:
    check_data_update(DCF(bits=16, epochs=6))
