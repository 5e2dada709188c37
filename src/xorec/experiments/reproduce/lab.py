"""The lab of one data set: its parts, how settings are chosen and how methods are tested on it.

Settings are chosen on the validation part (`tune`: as many trials for every method, the first of
them its defaults); the method then learns from training and validation pairs together, once for
each seed, and is tested. The split and the trials have the plan's first seed.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np

from xorec import __version__
from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.data.split import Split
from xorec.evaluation.protocol import evaluate
from xorec.evaluation.result import Evaluation
from xorec.experiments.reproduce.cache import Cache, Part
from xorec.experiments.reproduce.methods import method_of
from xorec.experiments.reproduce.plan import Choice, Plan, Source
from xorec.experiments.sizes import sizes_of
from xorec.experiments.tuning.spaces import as_json, space_of
from xorec.experiments.tuning.tuning import tune
from xorec.models import model_class
from xorec.models.fitting import checkpoints
from xorec.representations.base import Representation


class Lab:
    """Choices and tests on one data set; what is done is read from `cache`."""

    def __init__(
        self, source: Source, parts: Split, plan: Plan, cache: Cache, options: RunOptions
    ) -> None:
        assert parts.validation is not None
        self.source, self.plan, self.cache = source, plan, cache
        self.parts, self.train, self.validation = parts, parts.train, parts.validation
        self.options = replace(options, cache=cache.folder / "starts")

    @property
    def name(self) -> str:
        """Of the data set."""
        return self.source.name

    @property
    def main(self) -> str:
        """What is tested for significance: NDCG at the first cut-off."""
        return f"ndcg@{self.plan.ks[0]}"

    @cached_property
    def everything(self) -> Interactions:
        """Training and validation pairs: what the last fits learn from."""
        return self.train.union(self.validation, self.options.thread_count)

    @cached_property
    def _digests(self) -> list[str]:
        return [self.train.digest(), self.validation.digest(), self.parts.test.digest()]

    def describe(self) -> dict[str, Any]:
        """Sizes, split and digest of the data, as flat JSON."""
        whole = self.everything.union(self.parts.test, self.options.thread_count)
        size = {"users": whole.n_users, "items": whole.n_items, "pairs": whole.n_pairs}
        about = {"name": self.name, "path": self.source.path, "digest": whole.digest()}
        return {**about, **size, **self.parts.describe()}

    def choose(self, method: str) -> Choice:
        """The settings of a method that are best on validation."""
        for one in self.plan.chosen:
            if (one.data, one.method) == (self.name, method):
                return one
        about = self._choice_about(method)
        part = self.cache.get("choice", about, lambda: self._tuned(method, about))
        return Choice(data=self.name, method=method, **part.facts)

    def chosen(self, method: str) -> bool:
        """Whether the choice has been made already."""
        given = any((c.data, c.method) == (self.name, method) for c in self.plan.chosen)
        return given or self.cache.has("choice", self._choice_about(method))

    def _choice_about(self, method: str) -> dict[str, Any]:
        model, fixed = method_of(method, self.plan)
        space = as_json(space_of(model, fixed)) if model_class(model).space else {}
        return {
            "xorec": __version__,
            "data": self._digests[:2],
            "model": model,
            "fixed": fixed,
            "space": space,
            "trials": self.plan.trials if space else 0,
            "seed": self.plan.seed,
        }

    def _tuned(self, method: str, about: dict[str, Any]) -> Part:
        model, fixed = method_of(method, self.plan)
        if not about["space"]:
            settings = model_class(model)(**fixed).config.model_dump()
            nothing = {"trials": 0, "validation": None, "default": None, "seconds": 0.0}
            return Part({"model": model, "settings": settings, **nothing})
        study = self.cache.path("study", {**about, "trials": None}).with_suffix(".journal")
        options = replace(self.options, seed=self.plan.seed)
        found = tune(
            model, self.parts, trials=self.plan.trials, study=study, fixed=fixed, options=options
        )
        return Part(
            {
                "model": model,
                "settings": found.best.refit,
                "trials": len(found.trials),
                "validation": found.best.value,
                "default": found.trials[0].value,
                "seconds": found.seconds,
            }
        )

    def test(self, method: str, seed: int, bits: int | None = None) -> Part:
        """A method with its chosen settings, learned from everything, tested once."""
        settings = self.choose(method).settings
        if bits is not None:
            settings = {**settings, "bits": bits}
        about = self._test_about(method, settings, seed)
        return self.cache.get("test", about, lambda: self._tested(about))

    def tested(self, method: str, seed: int, bits: int | None = None) -> bool:
        """Whether the test has been made already."""
        if not self.chosen(method):
            return False
        settings = self.choose(method).settings
        settings = settings if bits is None else {**settings, "bits": bits}
        return self.cache.has("test", self._test_about(method, settings, seed))

    def _test_about(self, method: str, settings: dict[str, Any], seed: int) -> dict[str, Any]:
        return {
            "xorec": __version__,
            "data": self._digests,
            "model": method_of(method, self.plan)[0],
            "settings": settings,
            "seed": seed,
            "ks": list(self.plan.ks),
        }

    def _tested(self, about: dict[str, Any]) -> Part:
        learned, seconds = self.fit(about["model"], about["settings"], about["seed"], about)
        categories = self.parts.test.categories or self.everything.categories
        result = evaluate(
            learned,
            self.everything,
            self.parts.test,
            ks=self.plan.ks,
            by_category=categories is not None,
            options=self.options,
        )
        facts = {
            "metrics": {name: v for name, v in result.metrics.items() if _kept(name)},
            "categories": result.categories,
            "sizes": sizes_of(learned).row(),
            "bytes": learned.nbytes,
            "seconds": seconds,
        }
        users = {"users": result.users, "counts": result.test_counts}
        return Part(facts, {**users, "ndcg": result.per_user[self.main]})

    def fit(
        self, model: str, settings: dict[str, Any], seed: int, about: dict[str, Any]
    ) -> tuple[Representation, float]:
        """Learn from everything; a fit that was killed goes on from its last epoch."""
        checkpoint = self.cache.path("fit", about).with_suffix(".checkpoint")
        options = replace(self.options, seed=seed, checkpoint=checkpoint, resume=True)
        began = time.perf_counter()
        learned = model_class(model)(**settings).fit(self.everything, None, options)
        seconds = time.perf_counter() - began
        for leftover in checkpoints(checkpoint):
            leftover.unlink(missing_ok=True)
        return learned.representation_, seconds


def evaluation_of(tests: Sequence[Part]) -> Evaluation:
    """The values of each user in the main metric, averaged over seeds, under the name `ndcg`."""
    first = tests[0].arrays
    values = np.mean([test.arrays["ndcg"] for test in tests], axis=0)
    return Evaluation(first["users"], first["counts"], {"ndcg": values}, {})


def _kept(metric: str) -> bool:
    return metric.partition("@")[0] in ("ndcg", "hr", "user_hr", "recall")
