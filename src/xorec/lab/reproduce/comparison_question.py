"""A question that is answered by a comparison of methods: what rq1, rq2 and rq4 share."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import ClassVar

from xorec.lab.reproduce.comparison import Comparison
from xorec.lab.reproduce.dataset_run import DatasetRun
from xorec.lab.reproduce.plan import Plan
from xorec.lab.reproduce.question import DatasetQuestion
from xorec.lab.reproduce.steps import Step


class ComparisonQuestion(DatasetQuestion):
    """key, proposed: of the comparison. Its methods are those of the question."""

    key: ClassVar[str]
    proposed: ClassVar[Sequence[str]]

    def __init__(self, dataset: DatasetRun) -> None:
        super().__init__(dataset)
        methods, lengths = self.methods(dataset.plan), self.lengths(dataset.plan)
        self.comparison = Comparison(dataset, self.key, methods, self.proposed, lengths)

    @classmethod
    def lengths(cls, plan: Plan) -> tuple[int, ...]:
        """The lengths of codes; none for vectors."""
        return ()

    def steps(self) -> Iterator[Step]:
        return self.comparison.steps()
