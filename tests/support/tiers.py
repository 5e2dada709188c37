"""Tiers of the tests, as far as they follow from what a test uses; all others are marked by hand.

Markers are in pyproject.toml. A test without one of TIERS runs with `make test`.
"""

from __future__ import annotations

from typing import Any

import pytest

TIERS = ("process", "browser", "spark", "database", "docs", "exhaustive")
OF_FIXTURES = {
    "browser": "browser",
    "clickhouse_server": "database",
    "one_postgresql": "database",
    "postgresql": "database",
    "postgresql_server": "database",
    "quick_java": "spark",
    "running": "process",
}
OF_TESTS = {"test_an_export_that_is_killed_leaves_the_old_one": "process"}
"""Of kits, which a plug-in's author runs without our markers."""
SERVERS = {"postgresql", "clickhouse", "clickhouse-server"}
"""Parameters that stand for a database server, or as much of one in this process."""
LENGTHS = {8, 64, 130}
"""Bits at which the kit of indexes runs with `make test`: part of a word, a word, three words.
The kit of stores runs at one length, and on a few of the models of two stages."""
STORED = {"both", "neighbours"}
OF_A_VARIANT = {
    "test_same_seed_same_bytes_for_any_number_of_threads",
    "test_model_file_round_trip",
    "test_checkerboard",
    "test_lists_are_the_recommenders",
    "test_an_export_that_dies_leaves_the_old_one",
}
"""Of the kits of models and stores, what runs with `make test` on a class with `variant = True`: a
model with other settings, a store like another one, of which one has the whole kit."""


def tier_of(item: pytest.Item) -> str | None:
    """The tier that a test belongs to by what it uses."""
    for name in getattr(item, "fixturenames", ()):
        if name in OF_FIXTURES:
            return OF_FIXTURES[name]
    if tier := OF_TESTS.get(getattr(item, "originalname", "")):
        return tier
    params: dict[str, Any] = getattr(getattr(item, "callspec", None), "params", {})
    if any(isinstance(value, str) and value in SERVERS for value in params.values()):
        return "database"
    if _is_one_of_many(item, params):
        return "exhaustive"
    return None


def _is_one_of_many(item: pytest.Item, params: dict[str, Any]) -> bool:
    """Whether other tests show nearly the same: another length, a variant of a model."""
    tests: Any = getattr(item, "cls", None)
    name = getattr(item, "originalname", "")
    if tests is None:
        return False
    kits = {base.__name__ for base in tests.__mro__}  # by name: most tests import no kit
    variant, bits = getattr(tests, "variant", False), params.get("bits", 64)
    if "IndexTests" in kits:
        return bits not in ({64} if variant else LENGTHS)
    if "StoreTests" in kits and (bits != 64 or params.get("stage", "both") not in STORED):
        return True
    return variant and name not in OF_A_VARIANT and name not in vars(tests)
