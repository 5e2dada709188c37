"""No setting of any model is ignored, nor the seed: each changes what is learned."""

from __future__ import annotations

from typing import Any, Literal, get_args, get_origin

import numpy as np
import pytest

from xorec.core.errors import OptionError
from xorec.core.options import RunOptions
from xorec.models import MODELS, model_class
from xorec.testing.data import planted

pytestmark = pytest.mark.exhaustive

DATA = planted(60, 40)
SMALL: dict[str, Any] = {
    **{"epochs": 4, "bits": 16, "dimensions": 8, "batch_size": 300, "block_size": 300},
    **{"start_epochs": 2, "steps": 2, "start": {"epochs": 2, "dimensions": 8}},
}
UNSEEDED = ("popularity", "item-knn", "ease", "slim")
WHEN_TO_STOP = {"patience", "validate_every"}
"""These say when a fit with a validation part ends."""
TOGETHER: dict[str, dict[str, Any]] = {
    "siml.reg": {"norms": "free"},
    "cpr.smoothing": {"layers": 1},
    "dsiml.form": {"distill_weight": 0.0},
    "dsiml.solver": {"optimizer": "bqp", "epochs": 1},
    "dsiml.vector_dtype": {"shortlist": 10},
    "blend.neighbours": {"per_item": 3},
    "blend.per_item": {"neighbours": 5},
    "phd.noise_decay": {"noise": 1.0},
    "phd.init_scale": {"start": "random"},
    "drmf.growth": {"stage": 1, "pace": 0.5},
    "drmf.most": {"stage": 1, "pace": 0.5, "warm_up": 0},
    "drmf.stage": {"stage": 1, "pace": 0.5, "warm_up": 0},
    "drmf.solver": {"bits": 32, "start_epochs": 0},
    "sml.gamma": {"scaling": "released"},
    "sml.batch": {"scaling": "released"},
    "lightgcn.optimizer": {"epochs": 1},
}
"""Settings that matter only beside others."""
OTHERS: dict[str, Any] = {
    "bits": 24, "block_size": 100, "batch_size": 500, "shortlist": 10, "items": 20, "groups": 4,
    "neighbours": 3, "start": {"epochs": 3, "dimensions": 8}, "codebook_bits": 4, "layers": 3,
    "passes": 1, "dpr.alpha": 0.1, "dpr.beta": 0.1, "drmf.most": 0.6, "cpr.decay": 1.0,
    "siml.form": "triplet", "siml-gcn.form": "triplet", "slim": {"l2": 5.0}, "dsiml.offset": 0.5,
    "dsiml.teacher_list_length": 5,
}  # fmt: skip
"""Values that matter in data so small."""
INERT = {"dsiml.extra_positives"}
"""For catalogues of thousands: `test_dsiml` has it."""


def learned(name: str, settings: dict[str, Any], seed: int = 0) -> dict[str, Any]:
    fields = model_class(name).Config.model_fields
    given = {key: value for key, value in SMALL.items() if key in fields}
    if get_origin(_type(name, "start")) is Literal:  # another setting of that name
        del given["start"]
    model = model_class(name)(**{**given, **settings})
    return dict(model.fit(DATA, options=RunOptions(seed=seed, threads=1)).representation_.tensors())


def _type(name: str, setting: str) -> Any:
    field = model_class(name).Config.model_fields.get(setting)
    return None if field is None else field.annotation


def same(one: dict[str, Any], other: dict[str, Any]) -> bool:
    return one.keys() == other.keys() and all(
        one[key].shape == other[key].shape and np.array_equal(one[key], other[key]) for key in one
    )


def another(name: str, setting: str, value: Any) -> Any:
    """Another legal value."""
    kind = _type(name, setting)
    if get_origin(kind) is not Literal and (known := {f"{name}.{setting}", setting} & set(OTHERS)):
        return OTHERS[max(known, key=len)]
    if isinstance(value, bool):
        return not value
    if isinstance(value, str):
        return next(one for one in get_args(kind) if one not in (value, "auto"))
    if isinstance(value, int):
        return value + 1
    limits = model_class(name).Config.model_fields[setting].metadata
    most = min((getattr(one, "le", getattr(one, "lt", 1e9)) for one in limits), default=1e9)
    return value / 2 if value and 2 * value > most else 2 * value or 0.5


def settings_of(name: str) -> list[str]:
    return [one for one in model_class(name).Config.model_fields if one not in WHEN_TO_STOP]


@pytest.mark.parametrize("name", [name for name in MODELS if settings_of(name)])
def test_every_setting_changes_what_is_learned(name: str) -> None:
    ignored = []
    for setting in settings_of(name):
        key = f"{name}.{setting}"
        if key in INERT:
            continue
        beside = TOGETHER.get(key, {})
        value = model_class(name)(**beside).config.resolved().model_dump()[setting]
        value = {**SMALL, **beside}.get(setting, value) if setting != "start" else value
        if same(
            learned(name, beside), learned(name, {**beside, setting: another(name, setting, value)})
        ):
            ignored.append(setting)
    assert not ignored


@pytest.mark.parametrize("name", MODELS)
def test_the_seed_and_nothing_else_is_chance(name: str) -> None:
    one, again, other = (learned(name, {}, seed) for seed in (1, 1, 2))
    assert same(one, again)
    assert same(one, other) == (name in UNSEEDED)


@pytest.mark.parametrize(
    ("name", "old", "new", "value"),
    [
        ("dsiml", "distill", "extra_positives", 3),
        ("dsiml", "teach", "distill_weight", 2.0),
        ("dsiml", "lists", "teacher_list_length", 9),
        ("dsiml", "keep", "vector_dtype", "int8"),
        ("blend", "keep", "vector_dtype", "float16"),
        ("slim", "keep", "weight_dtype", "int8"),
        ("lightrec", "distill", "distill_weight", 4.0),
    ],
)
def test_an_old_name_of_a_setting_is_read_and_said(
    name: str, old: str, new: str, value: Any
) -> None:
    with pytest.warns(DeprecationWarning, match=rf"settings: {old} \(now {new}\)"):
        model = model_class(name)(**{old: value})
    assert model.config == model_class(name)(**{new: value}).config
    with pytest.raises(OptionError, match=f"{name}: {old} is the old name of {new}"):
        model_class(name)(**{old: value, new: value})
