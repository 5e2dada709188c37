"""Float users that settle against the items' bits."""

from __future__ import annotations

import numpy as np

from xorec.core.bits import pack_signs
from xorec.core.options import RunOptions
from xorec.core.threads import ThreadPool
from xorec.evaluation.protocol import evaluate
from xorec.models.siml.dsiml import DSIML
from xorec.models.siml.dsiml_ranking import refine_new_user, refine_users
from xorec.models.siml.optimizers import Start
from xorec.models.siml.siml_kernels import NO_TEACHER
from xorec.representations.codes import Codes
from xorec.testing.data import halves, planted

TRAIN, TEST = halves(planted())
MODEL = DSIML(bits=32, optimizer="none", start={"epochs": 10})


def start() -> Start:
    rng = np.random.default_rng(0)
    codes = MODEL.fit(TRAIN, options=RunOptions(threads=1)).representation_
    assert isinstance(codes, Codes)
    from xorec.core.bits import unpack_signs

    items = unpack_signs(codes.item_codes, 32).astype(np.float32)
    users = rng.standard_normal((TRAIN.n_users, 32), dtype=np.float32)
    return Start(users, items, TRAIN, NO_TEACHER)


def ndcg(users: np.ndarray, items: np.ndarray) -> float:
    codes = Codes(pack_signs(users), pack_signs(items), 32, users)
    return evaluate(codes, TRAIN, TEST, ks=(10,))["ndcg@10"]


def test_users_from_anywhere_find_their_place_and_items_stay() -> None:
    begin = start()
    items = begin.items.copy()
    with ThreadPool(1) as pool:
        users = refine_users(begin.users, begin.items, MODEL.config, begin, 0, pool)
    np.testing.assert_array_equal(items, begin.items)
    np.testing.assert_allclose(np.linalg.norm(users, axis=1), 1, rtol=1e-5)
    assert ndcg(users, items) > 2 * ndcg(begin.users, items)


def test_somebody_who_has_every_item_has_no_negatives() -> None:
    begin = start()
    everything = np.arange(TRAIN.n_items)
    place = begin.items.sum(axis=0, keepdims=True)
    vector = refine_new_user(place, everything, pack_signs(begin.items), MODEL.config)
    assert np.isfinite(vector).all()
