"""The pages of the API: what `xorec` exports and what the guide names, from the docstrings."""

from __future__ import annotations

import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from importlib import import_module
from typing import Any

from xorec.core.threads import lazy_property

PAGES: dict[str, tuple[str, str, tuple[str, ...]]] = {
    "data": (
        "Data",
        "From files, frames, matrices and databases to pairs, and to parts of them.",
        (
            "xorec.data.io.read.read",
            "xorec.data.datasets.catalog.load_data",
            "xorec.data.prepare.prepare",
            "xorec.data.split.split",
            "xorec.data.split.folds",
            "xorec.data.split.Split",
            "xorec.data.interactions.Interactions",
        ),
    ),
    "learning": (
        "Learning and measuring",
        "The best lists without being asked, settings, metrics, and which of two is better.",
        (
            "xorec.selection.race.fit.fit",
            "xorec.selection.tuning.tuning.tune",
            "xorec.selection.tuning.tuning.Tuned",
            "xorec.selection.tuning.tuning.Trial",
            "xorec.evaluation.protocol.evaluate",
            "xorec.evaluation.protocol.Evaluation",
            "xorec.evaluation.significance.compare",
            "xorec.evaluation.significance.PairedTest",
            "xorec.evaluation.significance.Interval",
            "xorec.core.options.RunOptions",
        ),
    ),
    "recommender": (
        "Recommender",
        "Raw ids in, lists out; saved as one file.",
        (
            "xorec.recommender.recommender.Recommender",
            "xorec.recommender.results.Recommendations",
            "xorec.recommender.results.RecommendationLists",
            "xorec.recommender.results.Recommended",
            "xorec.recommender.results.ItemFilter",
            "xorec.recommender.similarity.Explanation",
        ),
    ),
    "search": (
        "Search",
        "Exact top-k over packed codes, filters inside.",
        ("xorec.search.hamming.index.HammingIndex", "xorec.search.hits.Hits"),
    ),
    "stores": (
        "Stores",
        "Codes and lists in databases and files.",
        (
            "xorec.stores.registry.open_store",
            "xorec.stores.contents.contents_of",
            "xorec.stores.base.Store",
        ),
    ),
    "client": (
        "Client",
        "The service over HTTP, plain and async; the methods are those of the endpoints.",
        (
            "xorec.client.client.Client",
            "xorec.client.client.AsyncClient",
            "xorec.client.operations.Operations",
            "xorec.client.errors.ClientError",
            "xorec.client.errors.UnreachableError",
        ),
    ),
    "plots": (
        "Plots",
        "Pictures by one call each; `from xorec import plots`, extra `plots`.",
        (
            "xorec.plots.comparisons.frontier",
            "xorec.plots.models.training_curves",
            "xorec.plots.comparisons.bits",
            "xorec.plots.models.distances",
            "xorec.plots.models.item_map",
            "xorec.plots.pictures.Picture",
        ),
    ),
    "errors": ("Errors", "One family under XorecError.", ("xorec.core.errors",)),
}
"""File: (title, what it is about, paths). The models have a page of their own."""
_CALLED = (property, cached_property, lazy_property, classmethod, staticmethod)
_SAME = {
    "xorec.client.client.AsyncClient": ("xorec.client.client.Client",),
    "xorec.client.operations.Operations": ("xorec.client.client.Client",),
}
"""Path: others with the same methods, whose examples count."""


def pages() -> dict[str, str]:
    """Markdown by file, mkdocstrings' directives in it; all that is public is on some page."""
    made = {f"api/{file}.md": _page(*page) for file, page in PAGES.items()}
    made["api/models.md"] = _models_page()
    missing = sorted(_public() - {path for *_, paths in PAGES.values() for path in paths})
    missing = [path for path in missing if path not in _model_paths()]
    if missing:
        raise SystemExit(f"on no page of tools/site/reference.py: {', '.join(missing)}")
    return made


def without_docstring() -> list[str]:
    """Public names and members on these pages that say nothing of themselves."""
    paths = [path for *_, paths in PAGES.values() for path in paths] + _model_paths()
    return sorted({name for path in paths for name in _silent(path)})


def without_example() -> list[str]:
    """Public names and members on these pages without an example of their use.

    An example is a doctest, so it runs. For a method or a property, one in the docstring of its
    class will do. Models share their methods: those of `Model` stand for all.
    """
    paths = [path for *_, paths in PAGES.values() for path in paths] + _model_paths()
    return sorted({name for path in paths for name in _unshown(path)})


_INHERITED = {
    "xorec.recommender.recommender.Recommender": "    options:\n      inherited_members: true\n"
}
"""Pages of classes whose base class has some of what a user calls."""


def _page(title: str, about: str, paths: tuple[str, ...]) -> str:
    directives = (f"::: {path}\n{_INHERITED.get(path, '')}" for path in paths)
    return "\n".join([f"# {title}", "", about, "", *directives])


def _models_page() -> str:
    from xorec.models import MODELS
    from xorec.training.config import describe_settings

    lines = ["# Models", "", "What all have in common, then each with its settings.", ""]
    lines += ["::: xorec.models.base.Model", ""]
    for module, name in MODELS.values():
        model = getattr(import_module(module), name)
        lines += [f"::: {module}.{name}", "    options:", "      members: false", ""]
        rows = describe_settings(model.Config)
        if rows:
            lines += ["| setting | default | range | |", "|---|---|---|---|"]
        for row in rows:
            cells = [f"`{row['name']}`", *(_cell(row[key]) for key in ("default", "range"))]
            about = str(row["about"]).replace("|", "\\|").replace("*", "\\*")
            lines.append(f"| {' | '.join(cells)} | {about} |")
        lines.append("")
    return "\n".join(lines)


def _cell(value: object) -> str:
    return f"`{value}`".replace("|", "\\|") if str(value) else ""


def _public() -> set[str]:
    import xorec

    public = {getattr(xorec, name) for name in xorec.__all__}
    return {f"{one.__module__}.{one.__qualname__}" for one in public} - {
        "xorec.core.errors.XorecError"  # the page of its module
    }


def _model_paths() -> list[str]:
    from xorec.models import MODELS

    return ["xorec.models.base.Model", *(f"{module}.{name}" for module, name in MODELS.values())]


def _silent(path: str) -> Iterator[str]:
    """The path, or a member of it, if it has no docstring."""
    one = _found(path)
    if not inspect.getdoc(one):
        yield path
    members: dict[str, Any] = vars(one) if inspect.isclass(one) or inspect.ismodule(one) else {}
    for name, member in members.items():
        if name.startswith("_") or getattr(member, "__module__", path) not in (
            one.__name__ if inspect.ismodule(one) else one.__module__,
            path,
        ):
            continue
        speaks = inspect.isroutine(member) or inspect.isclass(member)
        if (speaks or isinstance(member, property)) and not inspect.getdoc(getattr(one, name)):
            yield f"{path}.{name}"


def _unshown(path: str) -> Iterator[str]:
    """The path, or a member of it, if no example has it."""
    one = _found(path)
    if inspect.ismodule(one):
        for name, member in vars(one).items():
            if not name.startswith("_") and getattr(member, "__module__", "") == path:
                yield from _unshown(f"{path}.{name}")
        return
    if ">>> " not in (one.__doc__ or ""):
        yield path
    if not inspect.isclass(one) or path in _model_paths()[1:]:
        return
    ours = [base for base in one.__mro__ if base.__module__.startswith("xorec.")]
    shown = "\n".join(_code(base.__doc__) for base in [*ours, *map(_found, _SAME.get(path, ()))])
    for name in dict.fromkeys(name for base in ours for name in vars(base)):
        member = inspect.getattr_static(one, name)
        called = inspect.isroutine(member) or isinstance(member, _CALLED)
        if name.startswith("_") or not called:
            continue
        own = inspect.getdoc(getattr(member, "__func__", member)) or ""
        if own.endswith("by its older name."):
            continue
        if ">>> " not in own and not re.search(rf"\.{name}\b", shown):
            yield f"{path}.{name}"


def _code(docstring: str | None) -> str:
    """The lines of a docstring that run."""
    return "\n".join(re.findall(r"(?m)^ *(?:>>>|\.\.\.) (.*)$", docstring or ""))


def _found(path: str) -> Any:
    module, _, name = path.rpartition(".")
    try:
        return getattr(import_module(module), name)
    except AttributeError:
        return import_module(path)
