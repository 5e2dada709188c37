"""Plug-ins: models, stores and engines of other packages, by their entry points.

    [project.entry-points."xorec.models"]
    pure-svd = "xorec_example.pure_svd:PureSVD"

A plug-in cannot replace a built-in name, and is imported only when asked for by its name.
"""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points
from typing import Any, Literal

from xorec.core.errors import OptionError
from xorec.core.printable import quoted

Group = Literal["xorec.models", "xorec.stores", "xorec.engines"]


def plugin_names(group: Group) -> list[str]:
    """The names that installed packages bring, sorted."""
    return sorted(_found(group))


def load_plugin(group: Group, name: str) -> Any:
    """The object that a package registers under this name, or None."""
    entry = _found(group).get(name)
    if entry is None:
        return None
    try:
        return entry.load()
    except Exception as error:  # of any kind, out of another package
        raise OptionError(
            f"the plug-in {quoted(name)} of {_package(entry)} cannot be loaded: "
            f"{type(error).__name__}: {error}. Mend or remove that package."
        ) from error


def refuse_plugin(group: Group, name: str, why: str) -> OptionError:
    """The error for a plug-in of the wrong kind."""
    package = _package(_found(group)[name])
    return OptionError(f"the plug-in {quoted(name)} of {package} {why}.")


def _found(group: Group) -> dict[str, EntryPoint]:
    """Entry points by name; of two packages the first in the alphabet wins."""
    found = sorted(entry_points(group=group), key=_package, reverse=True)
    return {entry.name: entry for entry in found}


def _package(entry: EntryPoint) -> str:
    return entry.dist.name if entry.dist is not None else "an unknown package"
