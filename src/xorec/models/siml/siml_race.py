"""The settings of SIML that are left to the data, by a race (`models.racing`).

No value is right everywhere: with negatives by the root of popularity NDCG rises by a fifth on
dense data whose popular items crowd the lists and falls on other data; sparse data like a steep
loss with many negatives, dense data a soft one. A few epochs tell (docs/tuning.md).
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from xorec.core.files import write_text
from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.models.racing import RaceTrack, race
from xorec.models.siml.siml import DEFAULTS, SIML, WEIGHTS, popularity_bias
from xorec.representations.vectors import Vectors
from xorec.training.auto import AUTO
from xorec.training.epochs import fingerprint

if TYPE_CHECKING:
    from xorec.models.siml.siml import SIMLConfig

CANDIDATES: tuple[dict[str, Any], ...] = (
    {},
    {"alpha": 0.75},
    {"alpha": 1.0},
    {"alpha": 0.0, "temperature": 4.0},
    {"alpha": 0.75, "temperature": 3.5, "negatives": 60},
    {"alpha": 0.75, "temperature": 5.0, "negatives": 60},
)
"""What they have in the place of `DEFAULTS`."""


def settle(
    config: SIMLConfig,
    train: Interactions,
    validation: Interactions | None,
    options: RunOptions,
    name: str = "siml",
) -> SIMLConfig:
    """The settings with the winner's in the place of `auto`; says which they are, and whose."""
    key = fingerprint(SIML(**config.model_dump()), train, validation, options)
    found = _read(options, key)
    if found is None:
        found = _race(config, train, validation, options, name)
        _write(options, key, found)
    return config.model_copy(update=found)


def _race(
    config: SIMLConfig,
    train: Interactions,
    validation: Interactions | None,
    options: RunOptions,
    name: str,
) -> dict[str, Any]:
    left = [one for one in DEFAULTS if getattr(config, one) == AUTO]
    track = RaceTrack.of(train, validation, options)
    if track is None:
        return {one: DEFAULTS[one] for one in left}
    models = [SIML(**settings) for settings in candidates(config)]
    by_weight = "popularity" in left
    winner = race(
        models,
        track,
        lambda found: best_weight(found, track)[1] if by_weight else track.value(found),
    )
    chosen: dict[str, Any] = winner.model.config.model_dump(include=set(left))
    if by_weight:
        chosen["popularity"] = best_weight(winner.learned, track)[0]
    words = ", ".join(f"{one} {chosen[one]}" for one in left)
    tried = "the best of a short race" if len(models) > 1 else "the best that was tried"
    options.progress.note(f"{name}: {words} ({tried}, NDCG@20 {winner.value:.4f}).")
    return chosen


def candidates(config: SIMLConfig) -> list[dict[str, Any]]:
    """The settings of all that race: what is given stays, no two are the same."""
    plain = config.settled().model_dump()
    if config.popularity == AUTO:
        plain["popularity"] = 0.0  # of all weights each is judged with the one that suits it
    found: list[dict[str, Any]] = []
    for candidate in CANDIDATES:
        free = {name: v for name, v in candidate.items() if getattr(config, name) == AUTO}
        if {**plain, **free} not in found:
            found.append({**plain, **free})
    return found


def best_weight(learned: Any, track: RaceTrack) -> tuple[float, float]:
    """The weight of popularity that these vectors want, and its NDCG@20: larger ones as long as
    that rises."""
    users, items = learned.user_vectors, learned.item_vectors
    best, value = WEIGHTS[0], -1.0
    for weight in WEIGHTS:
        bias = popularity_bias(track.train, weight)
        found = track.value(Vectors(users, items, bias))
        if found <= value:
            break
        best, value = weight, found
    return best, value


def _read(options: RunOptions, key: str) -> dict[str, Any] | None:
    """What a race of this very run has found before it was stopped."""
    path = options.for_stage("settings").checkpoint
    if path is None or not options.resume or not path.exists():
        return None
    kept = json.loads(path.read_text(encoding="utf-8"))
    return dict(kept["settings"]) if kept["run"] == key else None


def _write(options: RunOptions, key: str, settings: dict[str, Any]) -> None:
    path = options.for_stage("settings").checkpoint
    if path is not None:
        write_text(path, json.dumps({"run": key, "settings": settings}))
