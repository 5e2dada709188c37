"""What DSIML may start from: SIML, or a model of the graph. `start.model` says which."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Discriminator, Field, Tag

from xorec.models import model_class
from xorec.models.base import Model
from xorec.models.lightgcn import LightGCNConfig
from xorec.models.siml import SIMLConfig
from xorec.models.siml_gcn import SIMLGCNConfig

_WHICH = "the model whose vectors become codes"


class SIMLStart(SIMLConfig):
    """Vectors of SIML."""

    model: Literal["siml"] = Field("siml", description=_WHICH)


class SIMLGCNStart(SIMLGCNConfig):
    """Vectors of SIML-GCN."""

    model: Literal["siml-gcn"] = Field("siml-gcn", description=_WHICH)


class LightGCNStart(LightGCNConfig):
    """Vectors of LightGCN."""

    model: Literal["lightgcn"] = Field("lightgcn", description=_WHICH)


def _model_of(value: Any) -> str:
    return value.get("model", "siml") if isinstance(value, dict) else getattr(value, "model", "")


AnyStart = Annotated[
    Annotated[SIMLStart, Tag("siml")]
    | Annotated[SIMLGCNStart, Tag("siml-gcn")]
    | Annotated[LightGCNStart, Tag("lightgcn")],
    Discriminator(
        _model_of,
        custom_error_type="start_model",
        custom_error_message="its model must be siml, siml-gcn or lightgcn",
    ),
]


def start_model(start: SIMLStart | SIMLGCNStart | LightGCNStart) -> Model[Any]:
    """The model that these settings are of, not yet fitted."""
    model: Model[Any] = model_class(start.model)(**start.model_dump(exclude={"model"}))
    return model
