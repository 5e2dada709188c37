"""One data set of a run: its parts, how settings are chosen and how methods are tested on it.

Settings are chosen on the validation part (`tune`: as many trials for every method, the first of
them its defaults); the method then learns from training and validation pairs together, once for
each seed, and is tested. The split and the trials have the plan's first seed.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from math import log2
from typing import Any

import numpy as np

from xorec.core.options import RunOptions
from xorec.data.datasets.catalog import load_data
from xorec.data.interactions import Interactions
from xorec.data.prepare import prepare
from xorec.data.split import Split, split
from xorec.evaluation.protocol import Evaluation, evaluate
from xorec.lab.reproduce.cache import Cache, Result
from xorec.lab.reproduce.plan import DataSpec, Plan, Winner, method_of
from xorec.models import model_class
from xorec.models.base import checkpoints
from xorec.representations.base import Representation
from xorec.selection.tuning.tuning import as_json, space_of, tune

METRICS = ("ndcg", "hr", "user_hr", "recall")
"""The metrics of a test that are kept."""


class DatasetRun:
    """Choices and tests on one data set; what is done is read from `cache`.

    A result is kept by its key: the data, the settings and the seed; the cache adds the code.
    """

    def __init__(
        self, source: DataSpec, parts: Split, plan: Plan, cache: Cache, options: RunOptions
    ) -> None:
        assert parts.validation is not None
        self.source, self.plan, self.cache = source, plan, cache
        self.parts, self.train, self.validation = parts, parts.train, parts.validation
        self.options = replace(options, cache=cache.folder / "starts")

    @classmethod
    def open(cls, source: DataSpec, plan: Plan, cache: Cache, options: RunOptions) -> DatasetRun:
        """Read a data set and split it: as its file says, or at random."""
        data = load_data(
            source.path, threads=options.threads, progress=options.progress, **source.columns
        )
        data = prepare(data, min_rating=source.min_rating, core=source.core)
        for note in data.notes:
            options.progress.note(f"{source.name}: {note}")
        parts = split(data, test=plan.test, validation=plan.validation, seed=plan.seed)
        return cls(source, parts, plan, cache, options)

    @property
    def name(self) -> str:
        """Of the data set."""
        return self.source.name

    @property
    def main_metric(self) -> str:
        """What is tested for significance: NDCG at the first cut-off."""
        return f"ndcg@{self.plan.ks[0]}"

    @cached_property
    def all_train(self) -> Interactions:
        """Training and validation pairs: what the last fits learn from."""
        return self.train.union(self.validation, self.options.thread_count)

    @cached_property
    def _digests(self) -> list[str]:
        return [self.train.digest(), self.validation.digest(), self.parts.test.digest()]

    def describe(self) -> dict[str, Any]:
        """Sizes, split and digest of the data, as flat JSON."""
        whole = self.all_train.union(self.parts.test, self.options.thread_count)
        size = {"users": whole.n_users, "items": whole.n_items, "pairs": whole.n_pairs}
        about = {"name": self.name, "path": self.source.path, "digest": whole.digest()}
        return {**about, **size, **self.parts.describe()}

    def choose(self, method: str, bits: int | None = None) -> Winner:
        """The settings of a method that are best on validation, for this length of codes."""
        if (given := self._given(method, bits)) is not None:
            return given
        key = self._choice_key(method, bits)
        result = self.cache.get("choice", key, lambda: self._tune(key))
        return Winner(data=self.name, method=method, bits=key["fixed"].get("bits"), **result.values)

    def is_chosen(self, method: str, bits: int | None = None) -> bool:
        """Whether the choice has been made already."""
        given = self._given(method, bits)
        return given is not None or self.cache.has("choice", self._choice_key(method, bits))

    def _given(self, method: str, bits: int | None) -> Winner | None:
        """The choice of an earlier run, if the plan has it."""
        length = method_of(method, self.plan, bits)[1].get("bits")
        for one in self.plan.chosen:
            if (one.data, one.method) == (self.name, method) and one.bits in (None, length):
                return one
        return None

    def _choice_key(self, method: str, bits: int | None) -> dict[str, Any]:
        model, fixed = method_of(method, self.plan, bits)
        space = as_json(space_of(model, fixed)) if model_class(model).space else {}
        return {
            "data": self._digests[:2],
            "model": model,
            "fixed": fixed,
            "space": space,
            "trials": self.plan.trials if space else 0,
            "seed": self.plan.seed,
        }

    def _tune(self, key: dict[str, Any]) -> Result:
        model, fixed = key["model"], key["fixed"]
        if not key["space"]:
            settings = model_class(model)(**fixed).config.model_dump()
            values = {"trials": 0, "validation": None, "default": None, "seconds": 0.0}
            return Result({"model": model, "settings": settings, **values})
        study = self.cache.path("study", {**key, "trials": None}).with_suffix(".journal")
        options = replace(self.options, seed=self.plan.seed)
        how = {"trials": self.plan.trials, "study": study, "fixed": fixed, "options": options}
        found = tune(model, self.parts, **how)
        return Result(
            {
                "model": model,
                "settings": found.best.refit,
                "trials": len(found.trials),
                "validation": found.best.value,
                "default": found.trials[0].value,
                "seconds": found.seconds,
            }
        )

    def test(self, method: str, seed: int, bits: int | None = None) -> Result:
        """A method with its chosen settings, learned from all training pairs, tested once."""
        key = self._test_key(method, seed, bits)
        return self.cache.get("test", key, lambda: self._fit_and_evaluate(key))

    def is_tested(self, method: str, seed: int, bits: int | None = None) -> bool:
        """Whether the test has been made already."""
        chosen = self.is_chosen(method, bits)
        return chosen and self.cache.has("test", self._test_key(method, seed, bits))

    def _test_key(self, method: str, seed: int, bits: int | None) -> dict[str, Any]:
        settings = self.choose(method, bits).settings
        return {
            "data": self._digests,
            "model": method_of(method, self.plan)[0],
            "settings": settings if bits is None else {**settings, "bits": bits},
            "seed": seed,
            "ks": list(self.plan.ks),
        }

    def _fit_and_evaluate(self, key: dict[str, Any]) -> Result:
        learned, seconds = self.fit(key["model"], key["settings"], key["seed"], key)
        categories = self.parts.test.categories or self.all_train.categories
        result = evaluate(
            learned,
            self.all_train,
            self.parts.test,
            ks=self.plan.ks,
            by_category=categories is not None,
            options=self.options,
        )
        kept = {n: v for n, v in result.metrics.items() if n.partition("@")[0] in METRICS}
        values = {
            "metrics": kept,
            "categories": result.categories,
            "sizes": bits_of(learned),
            "bytes": learned.nbytes,
            "seconds": seconds,
        }
        users = {"users": result.users, "counts": result.test_counts}
        return Result(values, {**users, "ndcg": result.per_user[self.main_metric]})

    def fit(
        self, model: str, settings: dict[str, Any], seed: int, key: dict[str, Any]
    ) -> tuple[Representation, float]:
        """Learn from all training pairs; a fit that was killed goes on from its last epoch."""
        checkpoint = self.cache.path("fit", key).with_suffix(".checkpoint")
        options = replace(self.options, seed=seed, checkpoint=checkpoint, resume=True)
        began = time.perf_counter()
        learned = model_class(model)(**settings).fit(self.all_train, None, options)
        seconds = time.perf_counter() - began
        for leftover in checkpoints(checkpoint):
            leftover.unlink(missing_ok=True)
        return learned.representation_, seconds


def evaluation_of(tests: Sequence[Result]) -> Evaluation:
    """The values of each user in the main metric, averaged over seeds, under the name `ndcg`."""
    first = tests[0].arrays
    values = np.mean([test.arrays["ndcg"] for test in tests], axis=0)
    return Evaluation(first["users"], first["counts"], {"ndcg": values}, {})


def over_seeds(figures: Sequence[Mapping[str, float]]) -> dict[str, float | None]:
    """The mean of each figure, and under `.._sd` its standard deviation; None of one seed.

    >>> over_seeds([{"hr@10": 0.25}, {"hr@10": 0.75}])
    {'hr@10': 0.5, 'hr@10_sd': 0.3535533905932738}
    """
    found: dict[str, float | None] = {}
    for name in figures[0]:
        values = [one[name] for one in figures]
        found[name] = float(np.mean(values))
        found[f"{name}_sd"] = float(np.std(values, ddof=1)) if len(values) > 1 else None
    return found


def bits_of(representation: Representation) -> dict[str, int]:
    """Bits of a user's row and of an item's, without those that only fill up a word; and of what
    belongs to all rows (codebooks).

    From the tensors: those of users and of items have it in their names.

    >>> from xorec.representations.codes import Codes
    >>> bits_of(Codes.from_signs(np.ones((3, 20)), np.ones((5, 20))))
    {'user_bits': 20, 'item_bits': 20, 'shared_bits': 0}
    """
    bits, tensors = {"user_bits": 0, "item_bits": 0, "shared_bits": 0}, representation.tensors()
    for name, tensor in tensors.items():
        side = f"{name.partition('_')[0]}_bits"
        if side not in ("user_bits", "item_bits"):
            bits["shared_bits"] += 8 * tensor.nbytes if tensor.ndim > 1 else 0
        elif name.endswith("_codes"):
            books = tensors.get("codebooks", np.empty((0, 1)))
            bits[side] += representation.code_length or int(len(books) * log2(books.shape[1]))
        elif len(tensor):
            bits[side] += 8 * tensor.nbytes // len(tensor)
    return bits
