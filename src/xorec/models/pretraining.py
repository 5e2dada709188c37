"""Pretraining: the continuous model whose vectors another model turns into codes.

The setting `start` holds that model's settings; its own `model` names it. With `options.cache` set,
several fits that start from the same vectors (trials, lengths of codes) learn them once: vectors
are kept under everything that made them, the code included.
"""

from __future__ import annotations

import hashlib
import json
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from pathlib import Path
from typing import Annotated, Any, Literal, TypeVar

import numpy as np
from pydantic import BeforeValidator, Field, ValidationError, create_model
from pydantic_core import PydanticCustomError

from xorec.core.files import save_tensors
from xorec.core.locks import locked
from xorec.core.options import RunOptions
from xorec.core.source_digest import source_digest
from xorec.data.interactions import Interactions
from xorec.models import model_class, model_names
from xorec.models.base import Model, Part
from xorec.representations.vectors import Floats
from xorec.training.config import ModelConfig, format_error

C = TypeVar("C", bound=ModelConfig)


@dataclass(frozen=True, eq=False)
class PretrainedVectors:
    """Vectors of users (n, d) and items (m, d), and the epochs behind them (0: it has none).

    start: the settings that they come from, with a value for each that was `auto`.
    """

    user_vectors: Floats
    item_vectors: Floats
    epochs: int
    start: Any


def vector_models() -> list[str]:
    """The models that learn a vector for each user and item."""
    return [name for name in model_names() if model_class(name).learns_vectors]


class PretrainedModel(Model[C]):
    """A model that begins with the vectors of another one, by its setting `start`."""

    start_epochs_ = 0
    """The epochs of the start, as `epochs_`."""

    def _pretrain(
        self, train: Interactions, validation: Part, options: RunOptions
    ) -> PretrainedVectors:
        config: Any = self.config
        found = pretrain(config.start, train, validation, options)
        self.start_epochs_ = found.epochs
        self.config = config.model_copy(update={"start": found.start})
        return found

    def refit_settings(self) -> dict[str, Any]:
        """The settings for a fit on all pairs: the numbers of epochs that validation chose."""
        config: Any = self.config
        start = refit_pretraining(config.start, self.start_epochs_)
        return {**super().refit_settings(), "start": start}


def pretrain(
    start: Any, train: Interactions, validation: Part, options: RunOptions
) -> PretrainedVectors:
    """Fit the model that these settings are of, or read what an equal fit has left.

    A fit with the settings and the epochs that this one ends with would be equal to it.
    """
    path = cache_path(start, train, validation, options)
    if path is not None and path.exists():
        return _read(path, start)
    model = pretraining_model(start).fit(train, validation, options.for_stage("start"))
    tensors = model.representation_.tensors()
    users, items, settings = tensors["user_vectors"], tensors["item_vectors"], model.config
    learned = PretrainedVectors(users, items, model.epochs_, _with(start, settings.model_dump()))
    if path is not None:
        kept = {"users": users, "items": items, "epochs": np.array([learned.epochs])}
        again = _with(start, refit_pretraining(learned.start, learned.epochs))
        for same in {path, cache_path(again, train, validation, options) or path}:
            with locked(same):  # processes that learn the same vectors side by side take turns
                save_tensors(same, kept, {"settings": settings.model_dump_json()})
    return learned


def _with(start: Any, settings: dict[str, Any]) -> Any:
    """A start with these settings of its model."""
    return type(start)(**{**settings, "model": start.model})


def pretraining_model(start: Any) -> Model[Any]:
    """The model that these settings are of, not yet fitted."""
    model: Model[Any] = model_class(start.model)(**start.model_dump(exclude={"model"}))
    return model


@lru_cache(maxsize=64)
def folding_model(start: Any) -> Model[Any]:
    """The same for fold-ins alone, made once: checking settings takes longer than an item's."""
    return pretraining_model(start)


def refit_pretraining(start: Any, epochs: int) -> dict[str, Any]:
    """The settings of a start for a fit on more pairs: with the epochs that validation chose."""
    settings: dict[str, Any] = start.model_dump()
    return {**settings, "epochs": max(1, epochs)} if "epochs" in settings else settings


def cache_path(
    start: Any, train: Interactions, validation: Part, options: RunOptions
) -> Path | None:
    """The file of this very fit: by data, settings, seed and code; None without a cache."""
    if options.cache is None:
        return None
    parts = [train.digest(), None if validation is None else validation.digest()]
    key = [parts, start.model_dump(), options.seed, source_digest()]
    text = json.dumps(key, sort_keys=True)
    return options.cache / f"start-{hashlib.blake2b(text.encode(), digest_size=16).hexdigest()}"


def _read(path: Path, start: Any) -> PretrainedVectors:
    from safetensors import safe_open

    with safe_open(path, framework="numpy") as file:
        settings = json.loads(file.metadata()["settings"])
        users, items, epochs = (file.get_tensor(name) for name in ("users", "items", "epochs"))
    return PretrainedVectors(users, items, int(epochs[0]), _with(start, settings))


@cache
def _settings_of(name: str) -> type[ModelConfig]:
    """The settings of a model, and which one it is."""
    config = model_class(name).Config
    which = Field(name, description="the model whose vectors become codes")
    model: Any = (Literal[name], which)
    fields: dict[str, Any] = {"model": model}
    if "popularity" in config.model_fields:  # vectors that become codes have no bias
        fields["popularity"] = (
            float,
            Field(0.0, ge=0, le=0, description="must be 0: codes hold no bias"),
        )
    made: type[ModelConfig] = create_model(f"{config.__name__}OfStart", __base__=config, **fields)
    return made


def _parse(default: str, value: Any) -> Any:
    if isinstance(value, ModelConfig):
        value = value.model_dump()
    if not isinstance(value, dict):
        raise PydanticCustomError("start", "it must be a table of settings")
    name = value.get("model", default)
    if name not in model_names() or not model_class(name).learns_vectors:
        *others, last = vector_models()
        known = f"{', '.join(others)} or {last}"
        raise PydanticCustomError("start", "its model must be {known}", {"known": known})
    try:
        return _settings_of(name)(**value)
    except ValidationError as error:
        text = format_error(name, _settings_of(name), error)
        raise PydanticCustomError("start", "{text}", {"text": text}) from None


FromSIML = Annotated[Any, BeforeValidator(partial(_parse, "siml")), Field(validate_default=True)]
"""Settings of a start that is SIML unless its `model` says another."""
FromBPR = Annotated[Any, BeforeValidator(partial(_parse, "bpr")), Field(validate_default=True)]
"""The same with BPR."""
