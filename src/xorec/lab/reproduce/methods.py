"""Methods: a name in a table, the model behind it, and the settings that do not move."""

from __future__ import annotations

from typing import Any

from xorec.lab.reproduce.plan import QUICK_EPOCHS, Plan
from xorec.models import model_class


def method_of(name: str, plan: Plan, bits: int | None = None) -> tuple[str, dict[str, Any]]:
    """(the model of a method, what is fixed of it).

    A table of `plan.settings` may name the `model` (else it is the method's own name) and its
    `start`: a table, or the name of a model whose settings stand in `starts`. The length of codes
    or the dimensions are the plan's.
    """
    fixed = dict(plan.settings.get(name, {}))
    model = str(fixed.pop("model", name))
    fields = model_class(model).Config.model_fields
    starts: dict[str, Any] = plan.settings.get("starts", {})
    start = fixed.get("start")
    if isinstance(start, str):
        fixed["start"] = {"model": start, **starts.get(start, {})}
    if "bits" in fields:
        fixed["bits"] = bits or plan.bits[0]
    elif "dimensions" in fields:
        fixed["dimensions"] = plan.dimensions
    if plan.quick:
        _shorten(model, fixed)
    return model, fixed


def lengths_of(name: str, plan: Plan) -> tuple[int | None, ...]:
    """The lengths of codes at which a method is chosen and tested; one without codes has None."""
    return plan.bits if "bits" in method_of(name, plan)[1] else (None,)


def label_of(name: str, bits: int | None, lengths: tuple[int, ...]) -> str:
    """How a row is called: with the length where there are several."""
    return f"{name} {bits}" if bits is not None and len(lengths) > 1 else name


def _shorten(model: str, fixed: dict[str, Any]) -> None:
    """At most QUICK_EPOCHS epochs, of the start too."""
    config = model_class(model)(**fixed).config.model_dump()
    if "epochs" in config:
        fixed["epochs"] = min(config["epochs"], QUICK_EPOCHS)
    if "epochs" in config.get("start", {}):
        start = config["start"]
        fixed["start"] = {**start, "epochs": min(start["epochs"], QUICK_EPOCHS)}
