"""Trials as tasks of a remote engine: each a whole fit in one thread, with all the pairs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from xorec.core.engine import Arrays, Engine, Shared
from xorec.core.files import temporary_folder
from xorec.core.kept import Kept
from xorec.core.options import RunOptions
from xorec.core.pickles import pickled, unpickled
from xorec.core.progress import Task
from xorec.experiments.tuning.trial_fits import Search, TrialFit, TrialFitter
from xorec.experiments.tuning.watching import Curve

if TYPE_CHECKING:
    from xorec.experiments.tuning.rounds import Proposal


@dataclass(frozen=True, eq=False)
class RemoteTrials:
    """What is searched, where every task finds it."""

    engine: Engine
    shared: Shared
    seed: int

    @classmethod
    @contextmanager
    def opened(cls, search: Search, seed: int, engine: Engine) -> Iterator[RemoteTrials]:
        """Bring the search to the engine, pairs and all, for all rounds."""
        with temporary_folder() as folder:
            path = folder / "search"
            path.write_bytes(pickled(search).tobytes())
            with engine.share_file("search", path) as shared:
                yield cls(engine, shared, seed)

    def __call__(
        self, wanted: Sequence[Proposal], curves: Sequence[Curve], best: float
    ) -> Iterator[TrialFit]:
        engine = self.engine.for_long_blocks()
        blocks = [{"trial": pickled((one.settings, list(curves)))} for one in wanted]
        for made in engine.map_blocks(fit_trial, blocks, [self.shared], seed=self.seed):
            yield unpickled(made["fit"])


_FITTERS = Kept[TrialFitter](most=1)
"""Of a process that fits trials for others, by the path of the search."""


def fit_trial(block: Arrays, shared: Arrays, *, seed: int) -> Arrays:
    """A block function: one trial. Vectors that several start from are kept beside the search."""
    path = Path(str(shared["search"]))

    def make() -> TrialFitter:
        starts = Path(f"{path}.starts")
        starts.mkdir(exist_ok=True)
        options = RunOptions(seed=seed, threads=1, cache=starts)
        return TrialFitter(unpickled(np.fromfile(path, np.uint8)), options)

    fitter = _FITTERS.get(str(path), make)
    settings, curves = unpickled(block["trial"])
    return {"fit": pickled(fitter.fit(settings, curves, Task(), {}))}
