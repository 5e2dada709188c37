"""What an experiment has to say: a section of tables, figures and verdicts, as plain data.

Experiments make sections and know nothing of files; `report` turns them into a page, CSV, PNG and
SVG and knows nothing of experiments.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from xorec.plots.figures import Figure

Kind = Literal["text", "count", "measure", "p", "time", "paper"]
Verdict = Literal["holds", "holds in part", "does not hold", "not tested"]


@dataclass(frozen=True)
class Column:
    """A column of a table: its key in the rows and the CSV file, its head on the page, its kind.

    text and count: as they are (counts with commas). measure: `digits` decimals. p: a p-value.
    time: a measure of the clock, which no two runs share. paper: a figure of the paper, shown in
    grey. spread: the key of what is shown after a plus-minus sign. best: the largest is bold.
    """

    key: str
    head: str
    kind: Kind = "measure"
    digits: int = 4
    spread: str | None = None
    best: bool = False


def counts(*keys: str, **heads: str) -> list[Column]:
    """Columns of whole numbers: those whose key is their head, then those with a head of its own.

    >>> [column.head for column in counts("items", user_bits="bits a user")]
    ['items', 'bits a user']
    """
    named = {key: key for key in keys} | heads
    return [Column(key, head, "count") for key, head in named.items()]


@dataclass(frozen=True)
class Table:
    """Rows under a title. name: the stem of its CSV file, which has every key of the rows.

    shown: how many rows a reader sees; all by default. The file has all of them.
    """

    name: str
    title: str
    columns: Sequence[Column]
    rows: Sequence[Mapping[str, Any]]
    note: str = ""
    shown: int | None = None


@dataclass(frozen=True)
class Claim:
    """A sentence of the paper, whether it holds here, and the figures that say so."""

    text: str
    verdict: Verdict
    evidence: str
    timed: bool = False


@dataclass(frozen=True)
class Section:
    """One experiment on one data set (or on all): key is rq1 .. rq5."""

    key: str
    title: str
    question: str
    paragraphs: Sequence[str] = ()
    tables: Sequence[Table] = ()
    figures: Sequence[Figure] = ()
    claims: Sequence[Claim] = ()
