"""What only our own tests, benchmarks and tools need: not installed with the package.

The kits that authors of plug-ins derive from are in `xorec.testing`.
"""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).parents[2]
"""The repository: a child that imports `tests.support` starts here."""
