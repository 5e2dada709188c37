"""The house: who may import whom (ARCHITECTURE.md). Reads every import, lazy ones too."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

import xorec

ROOT = Path(xorec.__file__).parent
ROOMS = (
    "core",
    "databases",
    "data",
    "representations",
    "search",
    "evaluation",
    "training",
    "models",
    "recommender",
    "selection",
    "engines",
    "stores",
    "service",
    "client",
    "plots",
    "lab",
    "cli",
)
"""From the ground up: a room imports itself and the rooms before it."""
FAMILIES = ("baselines", "factorization", "metric", "graph", "siml", "hashing", "blend")
"""Of models, likewise."""
NOT_FROM = {
    "engines": {"representations", "search", "evaluation", "models"},
    "lab": {"service"},
}
"""Rooms below that are nevertheless closed to a room."""
FACE = {"xorec", "xorec.__version__"}
"""What `import xorec` gives: the version. Names of the public API are for people, not for rooms."""


def modules() -> Iterator[tuple[str, ast.Module]]:
    for path in sorted(ROOT.rglob("*.py")):
        parts = ("xorec", *path.relative_to(ROOT).with_suffix("").parts)
        name = ".".join(parts).removesuffix(".__init__")
        yield name, ast.parse(path.read_text(encoding="utf-8"))


def imports(tree: ast.Module) -> Iterator[str]:
    """Every module of ours that is named in an import, at the top or inside a function."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (one.name for one in node.names if one.name.split(".")[0] == "xorec")
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            if node.module == "xorec":
                yield from (f"xorec.{one.name}" for one in node.names)
            elif node.module and node.module.startswith("xorec."):
                yield node.module


def wrong_step(importer: str, imported: str) -> str | None:
    """Why this import is not allowed; None where it is."""
    own, other = (name.split(".")[1:] for name in (importer, imported))
    if not own or importer == "xorec.__main__" or imported in FACE:
        return None
    if own[0] == "testing":
        return None
    if not other or other[0] not in ROOMS:
        return f"{imported} is in no room" + (" (a kit is for tests)" if other else "")
    if ROOMS.index(other[0]) > ROOMS.index(own[0]):
        return f"{own[0]} stands before {other[0]}"
    if other[0] in NOT_FROM.get(own[0], ()):
        return f"{other[0]} is closed to {own[0]}"
    if own[0] == other[0] == "models" and other[1:2] and other[1] in FAMILIES:
        if len(own) == 1:
            return None  # the registry
        if own[1] not in FAMILIES:
            return f"what all families share must not import the family {other[1]}"
        if FAMILIES.index(other[1]) > FAMILIES.index(own[1]):
            return f"the family {own[1]} stands before {other[1]}"
    return None


def test_every_import_goes_down() -> None:
    wrong = [
        f"{importer} imports {imported}: {why}"
        for importer, tree in modules()
        for imported in imports(tree)
        if (why := wrong_step(importer, imported)) is not None
    ]
    assert not wrong, "\n".join(wrong)


def test_every_module_is_in_a_room() -> None:
    rooms = {name.split(".")[1] for name, _ in modules() if name.count(".")}
    assert rooms <= {*ROOMS, "testing", "__main__"}


@pytest.mark.parametrize(
    ("importer", "imported"),
    [
        ("xorec.core.rng", "xorec.data.ids"),
        ("xorec.representations.codes", "xorec.search.top_k"),
        ("xorec.training.epochs", "xorec.models.base"),
        ("xorec.models.metric.cml", "xorec.models.siml.siml"),
        ("xorec.models.base", "xorec.models.factorization.bpr"),
        ("xorec.recommender.recommender", "xorec.testing.models"),
        ("xorec.data.ids", "xorec.cli.main"),
        ("xorec.lab.bench.serve", "xorec.service.http.app"),
        ("xorec.selection.comparison", "xorec.engines.spark.engine"),
        ("xorec.core.files", "xorec.Recommender"),
    ],
)
def test_a_wrong_step_is_seen(importer: str, imported: str) -> None:
    assert wrong_step(importer, imported) is not None


@pytest.mark.parametrize("domain", ["live", "log", "jobs"])
def test_the_domain_of_the_service_does_not_speak_http(domain: str) -> None:
    outside = ("xorec.service.api", "xorec.service.http")
    wrong = [
        f"{importer} imports {imported}"
        for importer, tree in modules()
        for imported in imports(tree)
        if importer.startswith(f"xorec.service.{domain}.") and imported.startswith(outside)
    ]
    assert not wrong, "\n".join(wrong)


SMALL = 40
"""Lines: a smaller module with one importer, in its own folder, belongs into that importer."""
MOST_IMPORTS = 0.08
"""Of all lines of src; the goal is 0.07. `from __future__` is not counted."""


def test_no_module_is_a_fragment() -> None:
    importers: dict[str, set[str]] = {}
    for importer, tree in modules():
        for node in ast.walk(tree):
            if isinstance(node, ast.ImportFrom) and node.module:
                names = {node.module, *(f"{node.module}.{one.name}" for one in node.names)}
            elif isinstance(node, ast.Import):
                names = {one.name for one in node.names}
            else:
                continue
            for name in names:
                importers.setdefault(name, set()).add(importer)
    wrong = []
    for path in sorted(ROOT.rglob("*.py")):
        folder = ".".join(("xorec", *path.relative_to(ROOT).parent.parts))
        lines = path.read_text(encoding="utf-8").count("\n")
        found = [*importers.get(f"{folder}.{path.stem}", ())]
        near = [one for one in found if one == folder or one.rpartition(".")[0] == folder]
        if path.stem != "__init__" and lines < SMALL and len(found) == len(near) == 1:
            wrong.append(f"{path.relative_to(ROOT)}, {lines} lines: merge it into {near[0]}")
    assert not wrong, "\n".join(wrong)


def test_imports_are_few_of_all_lines() -> None:
    """Fewer, larger modules on a topic; the message lists those that import most."""
    total, counts = 0, dict[str, int]()
    for name, tree in modules():
        counts[name] = sum(
            (node.end_lineno or node.lineno) - node.lineno + 1
            for node in ast.walk(tree)
            if isinstance(node, ast.Import)
            or (isinstance(node, ast.ImportFrom) and node.module != "__future__")
        )
    for path in ROOT.rglob("*.py"):
        total += path.read_text(encoding="utf-8").count("\n")
    share = sum(counts.values()) / total
    most = sorted(counts, key=lambda name: -counts[name])[:20]
    listed = ", ".join(f"{name} {counts[name]}" for name in most)
    assert share <= MOST_IMPORTS, f"{share:.1%} of {total:,} lines; most: {listed}"
