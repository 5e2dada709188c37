"""RQ3: how fast is online recommendation by codes, beside BPR's vectors and beside faiss?

Each call measures one size, and its rows can be kept; `section` puts all rows together.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from xorec.core.arrays import positive_int
from xorec.core.errors import OptionError
from xorec.core.options import DEFAULTS, RunOptions
from xorec.data.interactions import Interactions
from xorec.experiments.bench.methods import missing
from xorec.experiments.bench.timing import thread_limit
from xorec.experiments.reproduce.speed.data import SpeedData, drawn, learned
from xorec.experiments.reproduce.speed.section import CATALOGUE, DATA, PAPER, section
from xorec.experiments.reproduce.speed.sides import make_sides
from xorec.experiments.reproduce.speed.timing import measure, rows_of
from xorec.representations.base import Representation

__all__ = [
    "CATALOGUE_SEEN",
    "CATALOGUE_USERS",
    "SIZES",
    "Size",
    "measure_catalogue",
    "measure_paper_size",
    "measure_representations",
    "measure_speed",
    "section",
]

Rows = list[dict[str, Any]]


@dataclass(frozen=True)
class Size:
    """Users, items, and the items that a user has seen on average."""

    users: int
    items: int
    seen: int


SIZES = {
    "MovieLens": Size(6_040, 3_706, 132),
    "Movies": Size(18_128, 11_252, 35),
    "Yelp": Size(31_668, 38_048, 39),
    "Books": Size(603_374, 348_957, 11),
}
"""The paper's four. It prints Movies and Books; MovieLens is taken for MovieLens 1M, Yelp for
yelp2018. Seen: the training pairs, four of five, over the users."""

CATALOGUE_USERS, CATALOGUE_SEEN = 1_000, 40


def measure_paper_size(
    name: str, bits: int, k: int, options: RunOptions, rounds: int, budget: float
) -> Rows:
    """One of SIZES."""
    if name not in SIZES:
        raise OptionError(f"there is no size {name!r}: give one of {', '.join(SIZES)}.")
    size = SIZES[name]
    facts = {"part": PAPER, "size": name}
    return measure_speed(
        size.users, size.items, bits, size.seen, k, options, rounds, budget, **facts
    )


def measure_catalogue(
    items: int, bits: int, k: int, options: RunOptions, rounds: int, budget: float
) -> Rows:
    """A thousand users before a catalogue of `items` items."""
    users, seen = CATALOGUE_USERS, CATALOGUE_SEEN
    return measure_speed(users, items, bits, seen, k, options, rounds, budget)


def measure_speed(
    users: int,
    items: int,
    bits: int,
    seen: int,
    k: int = 10,
    options: RunOptions = DEFAULTS,
    rounds: int = 5,
    budget: float = 20.0,
    *,
    part: str = CATALOGUE,
    size: str | None = None,
) -> Rows:
    """Rows (see `speed_timing.rows_of`) of drawn codes and vectors of this size."""
    _check(k, rounds, budget)
    for name, value in (("users", users), ("items", items), ("bits", bits)):
        positive_int(value, name)
    if seen < 0:
        raise OptionError(f"seen is {seen}: give 0 or more.")
    facts = {"part": part, "size": f"{items:,} items" if size is None else size, "k": k}
    return _measured(drawn(users, items, bits, seen, options), k, options, rounds, budget, facts)


def measure_representations(
    codes: Representation,
    vectors: Representation,
    seen: Interactions,
    k: int = 10,
    options: RunOptions = DEFAULTS,
    rounds: int = 5,
    budget: float = 20.0,
    *,
    size: str = "data",
) -> Rows:
    """The same of what DSIML and BPR have learned from the pairs `seen`."""
    _check(k, rounds, budget)
    facts = {"part": DATA, "size": size, "k": k}
    data = learned(codes, vectors, seen, options.seed)
    return _measured(data, k, options, rounds, budget, facts)


def _check(k: int, rounds: int, budget: float) -> None:
    positive_int(k)
    positive_int(rounds, "rounds")
    if not budget > 0:
        raise OptionError(f"budget is {budget}: give more than 0 seconds.")


def _measured(
    data: SpeedData,
    k: int,
    options: RunOptions,
    rounds: int,
    budget: float,
    facts: dict[str, Any],
) -> Rows:
    threads, name = options.thread_count, f"{facts['size']}, {data.bits} bits"
    lacking = missing(["faiss"])
    if lacking:
        options.progress.note("faiss is not installed, so without it: pip install 'xorec[faiss]'.")
    with thread_limit(threads, [] if lacking else ["faiss"]):
        with options.progress.task(f"{name}: build and check"):
            sides = make_sides(data, min(k, data.n_items), threads, not lacking)
        with options.progress.task(f"{name}: time", total=len(sides) * (1 + rounds)) as task:
            turns = measure(sides, data, rounds, budget, task)
    return rows_of(turns, data, threads, facts)
