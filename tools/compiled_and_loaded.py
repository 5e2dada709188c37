"""Does the process that compiles the kernels learn the same as those that load them?

    python tools/compiled_and_loaded.py            # every model and optimiser, some minutes
    python tools/compiled_and_loaded.py als dcf    # some

Fits each twice on small planted data, in processes of their own with one fresh folder of kernels,
and compares what was learned byte by byte. The tests do it for ALS alone; that no kernel calls a
fast kernel, which was the cause wherever the two differed, is tested for all (`core.kernels`).
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path
from typing import Any

from xorec.models import MODELS

sys.path.insert(0, str(Path(__file__).parents[1]))  # for tests.support
from tests.support.processes import compiled_and_loaded

SCRIPT = """
from xorec.models import model_class
from xorec.testing.data import planted
kind, settings = model_class({name!r}), {settings!r}
if "epochs" in kind.Config.model_fields:
    settings = {{"epochs": 2, **settings}}
if "start" in kind.Config.model_fields:
    settings = {{"start": {{"epochs": 2}}, **settings}}
learned = kind(**settings).fit(planted(200, 90, per_user=12)).representation_.tensors()
print_digest(*(learned[name] for name in sorted(learned)))
"""
SOLVERS: list[dict[str, Any]] = [
    {"optimizer": "bqp", "solver": solver, "bits": 16} for solver in ("descent", "tabu")
]
CASES: list[tuple[str, dict[str, Any]]] = [(name, {}) for name in MODELS] + [
    ("dsiml", settings) for settings in ({"optimizer": "flip"}, *SOLVERS)
]


def main() -> int:
    """Print a line for each case; returns how many differ."""
    different = 0
    for name, settings in CASES:
        if len(sys.argv) > 1 and name not in sys.argv[1:]:
            continue
        with tempfile.TemporaryDirectory() as folder:
            compiled, loaded = compiled_and_loaded(
                SCRIPT.format(name=name, settings=settings), Path(folder)
            )
        different += compiled != loaded
        print(name, settings or "", "same" if compiled == loaded else "DIFFERENT", flush=True)
    return different


if __name__ == "__main__":
    sys.exit(main())
