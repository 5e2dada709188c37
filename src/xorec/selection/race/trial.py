"""RaceTrial: one recipe of a race, fitted on the training part, measured on validation."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from typing import Any

from xorec.core.errors import XorecError
from xorec.core.options import RunOptions
from xorec.core.progress import SILENT
from xorec.data.interactions import Interactions
from xorec.evaluation.protocol import evaluate
from xorec.models import model_class
from xorec.selection.model_specs import ModelSpec, shown
from xorec.selection.serving import serving_cost
from xorec.training.epochs import validation_sample

METRIC = "ndcg@10"
BASELINE = "popularity"


@dataclass(frozen=True)
class RaceTrial:
    """What one recipe gave: NDCG@10 on validation, and what it takes to serve.

    bytes_per_item: of what the model file keeps of items, without an index. refit: the settings for
    a fit on all pairs. note: why it has no value, where it has none. interval: of 95 % confidence
    around the value, over the `users` that it was measured on.
    """

    model: str
    settings: dict[str, Any]
    value: float
    seconds: float
    bytes_per_item: float = 0.0
    us_per_query: float = 0.0
    refit: dict[str, Any] = field(default_factory=dict)
    note: str = ""
    interval: tuple[float, float] | None = None
    users: int = 0

    @property
    def spec(self) -> ModelSpec:
        """The recipe."""
        return ModelSpec(self.model, self.settings)

    @property
    def label(self) -> str:
        """The recipe in words: what differs from the defaults, without settings of vectors."""
        own = {name: value for name, value in self.settings.items() if name != "start"}
        words = (word.removeprefix("slim.") for word in shown(own))
        return " ".join([self.model, *(word for word in words if not word.endswith("_dtype=int8"))])

    def row(self) -> dict[str, Any]:
        """A flat row for tables and `--json`."""
        return {
            "model": self.model,
            "label": self.label,
            f"validation_{METRIC}": self.value,
            "bytes_per_item": self.bytes_per_item,
            "us_per_query": self.us_per_query,
            "seconds_fit": self.seconds,
            "note": self.note,
        }


def run_trial(
    spec: ModelSpec, train: Interactions, validation: Interactions, options: RunOptions
) -> RaceTrial:
    """Fit the recipe and measure it; one that fails has a note and no value."""
    began, settings = time.perf_counter(), dict(spec.settings)
    try:
        model = model_class(spec.name)(**settings).fit(train, validation, options)
    except XorecError as error:
        seconds = time.perf_counter() - began
        return RaceTrial(spec.name, settings, 0.0, seconds, note=str(error))
    seconds = time.perf_counter() - began
    learned = model.representation_
    quiet = replace(options, progress=SILENT)
    sample = validation_sample(validation, options.seed)
    measured = evaluate(learned, train, sample, ks=(10,), options=quiet)
    around = measured.interval(METRIC, seed=options.seed)
    return RaceTrial(
        spec.name,
        settings,
        measured[METRIC],
        seconds,
        learned.item_nbytes // max(1, train.n_items),  # some bytes are of all items together
        serving_cost(learned, train, threads=options.thread_count).us_per_query,
        model.refit_settings(),
        interval=(around.low, around.high),
        users=measured.n_users,
    )
