"""The registry of models: one line for each, in the order in which they are listed.

The lines are plain imports, so that editors and type checkers know the classes, but nothing is
imported before it is asked for: `MODELS` is read from the text of this file (as SPEC 1 of
scientific Python does with stubs). A model's name on the command line and in model files is its
file's, with hyphens. All else about a model is declared on its class (`models.base.Model`). Models
of other packages (`core.plugins`) come after ours.
"""

from __future__ import annotations

import ast
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from xorec.core.errors import OptionError
from xorec.core.plugins import load_plugin, plugin_names, refuse_plugin
from xorec.core.printable import did_you_mean

if TYPE_CHECKING:
    # isort: off
    from xorec.models.baselines.popularity import Popularity as Popularity
    from xorec.models.baselines.item_knn import ItemKNN as ItemKNN
    from xorec.models.baselines.ease import EASE as EASE
    from xorec.models.baselines.slim import SLIM as SLIM
    from xorec.models.factorization.als import ALS as ALS
    from xorec.models.factorization.bpr import BPR as BPR
    from xorec.models.metric.cml import CML as CML
    from xorec.models.metric.sml import SML as SML
    from xorec.models.graph.cpr import CPR as CPR
    from xorec.models.graph.lightgcn import LightGCN as LightGCN
    from xorec.models.siml.siml import SIML as SIML
    from xorec.models.siml.siml_gcn import SIMLGCN as SIMLGCN
    from xorec.models.hashing.signs import Signs as Signs
    from xorec.models.hashing.dcf import DCF as DCF
    from xorec.models.hashing.cccf import CCCF as CCCF
    from xorec.models.hashing.dpr import DPR as DPR
    from xorec.models.hashing.drmf import DRMF as DRMF
    from xorec.models.hashing.phd import PHD as PHD
    from xorec.models.hashing.lightrec import LightRec as LightRec
    from xorec.models.siml.dsiml import DSIML as DSIML
    from xorec.models.blend import Blend as Blend
    # isort: on


def _read_registry() -> dict[str, tuple[str, str]]:
    """Name on the command line: (module, class), from the import lines above."""
    tree = ast.parse(Path(__file__).read_text(encoding="utf-8"))
    (block,) = (node for node in tree.body if isinstance(node, ast.If))
    found = [line for line in block.body if isinstance(line, ast.ImportFrom) and line.module]
    return {
        str(line.module).rpartition(".")[2].replace("_", "-"): (
            str(line.module),
            line.names[0].name,
        )
        for line in found
    }


MODELS = _read_registry()
"""Name on the command line: (module, class)."""
CLASSES = {attribute: module for module, attribute in MODELS.values()}
"""Class: module. The models' part of the public names of `xorec`."""


def model_names() -> list[str]:
    """All names that `model_class` knows: ours, then those of plug-ins.

    >>> model_names()[0]
    'popularity'
    """
    return [*MODELS, *(name for name in plugin_names("xorec.models") if name not in MODELS)]


def model_class(name: str) -> Any:
    """The class of the model called `name`.

    >>> model_class("bpr")().name
    'bpr'
    """
    if name in MODELS:
        module, attribute = MODELS[name]
        return getattr(import_module(module), attribute)
    found = load_plugin("xorec.models", name)
    if found is None:
        known = model_names()
        hint = did_you_mean(name, known)
        raise OptionError(f"there is no model {name!r}: the models are {', '.join(known)}.{hint}")
    if getattr(found, "name", None) != name or not hasattr(found, "Config"):
        raise refuse_plugin("xorec.models", name, "is no model of this name: its class must say so")
    return found
