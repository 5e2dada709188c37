"""The representations by their name in the model file."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from xorec.core.errors import ModelFileError

REPRESENTATIONS = {
    "vectors": ("xorec.representations.vectors", "Vectors"),
    "distances": ("xorec.representations.vectors", "Distances"),
    "codes": ("xorec.representations.codes", "Codes"),
    "masked-codes": ("xorec.representations.codes", "MaskedCodes"),
    "composed-codes": ("xorec.representations.composed", "ComposedCodes"),
    "codebooks": ("xorec.representations.codebooks", "Codebooks"),
    "two-stage": ("xorec.representations.two_stage", "TwoStage"),
    "neighbours": ("xorec.representations.neighbours", "Neighbours"),
    "item-weights": ("xorec.representations.item_weights", "ItemWeights"),
    "shared-scores": ("xorec.representations.shared_scores", "SharedScores"),
}
"""Kind: (module, class)."""
OLDER = {"shortlist": ("xorec.representations.two_stage", "Shortlist")}
"""Kinds of older files: read as one of today's, never written."""


def representation_class(kind: str) -> Any:
    """The class of representations of this kind.

    >>> representation_class("codes").__name__
    'Codes'
    """
    known = REPRESENTATIONS | OLDER
    if kind not in known:
        raise ModelFileError(f"a representation of kind {kind!r} is not known to this xorec.")
    module, attribute = known[kind]
    return getattr(import_module(module), attribute)
