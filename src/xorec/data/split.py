"""split: a training part, a test part, and a validation part cut from the training part.

The part of a pair depends on (seed, raw user id, raw item id) and, where asked for, on times: never
on the order of the rows. The test part does not change when a validation part is asked for, so one
can tune on the validation part and then train on everything but the same test part.

folds: cross-validation. Every pair is tested once, by a model that has not learned it.

Every pair has two numbers to sort by: `when` (a time, or a random number) and its key, a random
number that breaks ties. The last pairs by (when, key) are held out first; the first ones come back
first.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Unpack, get_args

import numpy as np
import numpy.typing as npt

from xorec.core.errors import DataError, OptionError
from xorec.core.kernels import inlined, kernel
from xorec.core.printable import did_you_mean
from xorec.core.rng import mix
from xorec.data.interactions import TEST, TRAIN, VALIDATION, Interactions
from xorec.data.io.read import ReadOptions, as_interactions, refuse_reading

Method = Literal["random", "per-user", "leave-last", "time", "given"]
METHODS: tuple[Method, ...] = get_args(Method)

Mask = npt.NDArray[np.bool_]
Integers = npt.NDArray[np.int64]
Rows = npt.NDArray[np.int32]
Keys = npt.NDArray[np.uint64]


@dataclass(frozen=True, eq=False, kw_only=True)
class Split:
    """The parts of one data set: the same ids and rows in all, no pair in two of them.

    settings: what they were made with. kept_back: how many pairs stayed in training because they
    were the last ones there of their user or item.

    >>> parts = split([(user, item) for user in range(5) for item in range(20)], test=0.2)
    >>> print(parts)
    random, seed 0; 80 train, 20 test pairs
    >>> parts.describe()["kept_back"]
    0
    """

    train: Interactions
    validation: Interactions | None
    test: Interactions
    settings: dict[str, Any] = field(default_factory=dict)
    kept_back: int = 0

    @property
    def sizes(self) -> dict[str, int]:
        """The pairs of each part.

        >>> split([(user, item) for user in range(5) for item in range(20)], test=0.2).sizes
        {'train': 80, 'validation': 0, 'test': 20}
        """
        held = 0 if self.validation is None else self.validation.n_pairs
        return {"train": self.train.n_pairs, "validation": held, "test": self.test.n_pairs}

    def __str__(self) -> str:
        """One line: how it was made, and how large the parts are."""
        words = ", ".join(f"{size:,} {part}" for part, size in self.sizes.items() if size)
        return f"{split_in_words(self.settings)}; {words} pairs"

    def describe(self) -> dict[str, Any]:
        """Settings and sizes, as flat JSON."""
        sizes = {f"{part}_pairs": size for part, size in self.sizes.items()}
        return {**self.settings, **sizes, "kept_back": self.kept_back}


def split_in_words(settings: Mapping[str, Any]) -> str:
    """How a split was made, in short, from `Split.settings`.

    >>> split_in_words({"method": "given", "column": "fold", "validation": 0.0, "seed": 0})
    'given, column fold'
    """
    words = [str(settings.get("method", "parts of your own"))]
    words += [f"column {settings['column']}"] if "column" in settings else []
    words += ["by files"] if "files" in settings else []
    words += [f"{settings['fold'] + 1} of {settings['folds']}"] if "fold" in settings else []
    is_drawn = words[0] in ("random", "per-user", "folds") or settings.get("validation")
    words += [f"seed {settings['seed']}"] if is_drawn else []
    return ", ".join(words)


def split(
    data: Any,
    *,
    method: Method | None = None,
    test: float = 0.2,
    validation: float = 0.0,
    seed: int = 0,
    keep_last: bool = True,
    **reading: Unpack[ReadOptions],
) -> Split:
    """Split `data` into training, validation and test parts.

    data: Interactions, or what `read` takes: a frame, a SciPy matrix, rows of pairs, a path.
    reading: how `read` reads it: user_column, ...
    method: None takes the split that the data brings along, else a random one;
      random      the share `test` of all pairs (the paper: 0.2);
      per-user    the share `test` of every user's pairs, rounded to the nearest;
      leave-last  the last pair of every user by time (`test` is not used);
      time        the latest pairs of all, about the share `test`; equal times stay together;
      given       what the file's split column says (`test` is not used).
    validation: cut in the same way from what remains: a share of it; with leave-last, any number
      above 0 takes the pair before the last; with given, the file's own validation part, or a
      random share of the training part where the file has none. 0: no validation part.
    keep_last: a user or item whose training pairs would all leave gets the first of them back
      (by time where the method goes by time, else at random). A given split is never changed.

    >>> from xorec import Interactions
    >>> data = Interactions.from_pairs((user, item) for user in range(5) for item in range(20))
    >>> parts = split(data, test=0.2, validation=0.1, seed=1)
    >>> parts.train.n_pairs, parts.validation.n_pairs, parts.test.n_pairs
    (72, 8, 20)
    """
    data = as_interactions(data, **reading)
    method = method or ("random" if data.parts is None else "given")
    _check(data, method, test, validation, seed)
    shares = {} if method in ("leave-last", "given") else {"test": test}
    settings = {"method": method, **shares, "validation": validation, "seed": seed}
    settings |= {"keep_last": keep_last} | (data.parts_from if method == "given" else {})
    keys, plain = _keys_of(data, seed), replace(data, parts=None, parts_from={})
    held, stays = None, np.zeros(data.n_pairs, dtype=np.bool_)
    if method == "given" and data.parts is not None:
        inside, held_out = data.parts == TRAIN, data.parts == TEST
        for name, mask in (("training", inside), ("test", held_out)):
            data.select(mask).require_pairs(f"the {name} part of the given split")
        if (data.parts == VALIDATION).any():
            held, settings["validation"] = plain.select(data.parts == VALIDATION), 0.0
    else:
        held_out, stays = _cut(plain, keys, method, test, keep_last, "test")
        inside = ~held_out
    train = plain.select(inside)
    if held is None and validation > 0:
        how = "random" if method == "given" else method
        left, more = _cut(train, reseed(keys[inside]), how, validation, keep_last, "validation")
        train, held = train.select(~left), train.select(left)
        stays[inside] |= more
    return Split(
        train=train,
        validation=held,
        test=plain.select(held_out),
        settings=settings,
        kept_back=int(np.count_nonzero(stays)),
    )


def as_split(thing: Any, *, seed: int = 0, **reading: Unpack[ReadOptions]) -> Split:
    """A split as it is; anything else as `split` takes it, with a tenth for validation.

    A split that the data brought along is used. reading: how `read` reads it.

    >>> as_split([(user, item) for user in range(5) for item in range(20)]).describe()["test_pairs"]
    20
    """
    if isinstance(thing, Split):
        refuse_reading(reading, "the data: this is a split")
        return thing
    return split(thing, validation=0.1, seed=seed, **reading)


def hold_out(data: Interactions, share: float, seed: int = 0) -> Split:
    """Cut off `share` of the pairs to choose a model by, where no test part says how.

    The latest, where the pairs have times: what is to be predicted comes later, too, and a random
    part would rank models as if it did not. Else at random. It is the `test` of the result.

    >>> pairs = [(user, item) for user in range(5) for item in range(20)]
    >>> hold_out(as_interactions(pairs), 0.1).settings["method"]
    'random'
    """
    timed = data.times is not None and data.times.min() < data.times.max()
    return split(data, method="time" if timed else "random", test=share, seed=seed)


def _cut(
    data: Interactions, keys: Keys, method: str, share: float, keep_last: bool, part: str
) -> tuple[Mask, Mask]:
    """The pairs that leave for `part`, and those that stay as the last of a user or item."""
    by_time = method in ("leave-last", "time")
    when = data.times if by_time and data.times is not None else keys.view(np.int64)
    if method == "random":
        held_out = _largest(keys, round(share * data.n_pairs))
    elif method == "time":
        held_out = _latest(when, share)
    elif method == "leave-last":
        held_out = last_of_each_user(data.indptr, when, keys)
    else:
        counts = np.floor(share * data.user_counts + 0.5).astype(np.int64)
        held_out = first_in_order(np.argsort(keys), data.user_rows, counts)
    stays = held_out.copy()
    if keep_last:
        bring_back(data.indptr, data.indices, when, keys, held_out, data.n_items)
    if not held_out.any():
        raise DataError(f"the {method} split leaves no {part} pair: {_why_empty(data, method)}")
    return held_out, stays & ~held_out


def _largest(keys: Keys, count: int) -> Mask:
    """The `count` largest numbers."""
    if count == 0:
        return np.zeros(len(keys), dtype=np.bool_)
    border = np.partition(keys, len(keys) - count)[len(keys) - count]
    return np.asarray(keys >= border)


def _latest(times: Integers, share: float) -> Mask:
    """The pairs after a point in time, as near to `share` of all as equal times allow."""
    ordered = np.sort(times)
    wanted = len(ordered) - round(share * len(ordered))
    at = ordered[min(wanted, len(ordered) - 1)]
    first = int(np.searchsorted(ordered, at, side="left"))
    past = int(np.searchsorted(ordered, at, side="right"))
    use_first = first > 0 and (wanted - first <= past - wanted or past == len(ordered))
    return np.asarray(times >= at if use_first else times > at)


def _keys_of(data: Interactions, seed: int) -> Keys:
    """A random number of each pair, by the seed and its raw ids."""
    users, items = data.users.hashes(seed), data.items.hashes(seed)
    return np.asarray(pair_keys(data.indptr, data.indices, users, items))


def _check(data: Interactions, method: str, test: float, validation: float, seed: int) -> None:
    if method not in METHODS:
        known = f"use {', '.join(METHODS)}.{did_you_mean(str(method), METHODS)}"
        raise OptionError(f"split method {method!r} is not known: {known}")
    if not 0 < test < 1:
        raise OptionError(f"test is {test}: give a share between 0 and 1, such as 0.2.")
    if not 0 <= validation < 1:
        raise OptionError(f"validation is {validation}: give a share from 0 up to 1, such as 0.1.")
    if not 0 <= seed < 2**63:
        raise OptionError(f"seed is {seed}: give a number from 0 to 2**63 - 1.")
    data.require_pairs()
    if method in ("leave-last", "time") and data.times is None:
        raise DataError(
            f"the {method} split needs times and the data has none: name their column with "
            "time_column (--time-column), or split at random."
        )
    if method == "given" and data.parts is None:
        raise DataError(
            "the given split needs a column that says train or test and the data has none: "
            "name it with split_column (--split-column), or split at random."
        )


def _why_empty(data: Interactions, method: str) -> str:
    if method == "time" and data.times is not None and data.times.min() == data.times.max():
        return f"all pairs have the same time ({int(data.times[0])}); split at random."
    return (
        f"{data.n_users:,} users, {data.n_items:,} items and {data.n_pairs:,} pairs are too few; "
        "give a larger share, more data, or keep_last=False."
    )


def folds(
    data: Any,
    count: int = 5,
    *,
    validation: float = 0.0,
    seed: int = 0,
    keep_last: bool = True,
    **reading: Unpack[ReadOptions],
) -> Iterator[Split]:
    """Split `data` into `count` random parts of the same size, each the test part of one split.

    data: Interactions, or what `read` takes; a split that it brings along is not used.
    reading: how `read` reads it: user_column, ...
    validation: a share of each training part. keep_last: a user or item whose training pairs would
    all leave gets the first of them back, so that pair is tested in no fold. Which part a pair is
    in hangs on the seed and the raw ids alone.

    >>> pairs = [(user, item) for user in range(5) for item in range(20)]
    >>> [(parts.train.n_pairs, parts.test.n_pairs) for parts in folds(pairs, 4)]
    [(75, 25), (75, 25), (75, 25), (75, 25)]
    """
    if isinstance(count, bool) or not isinstance(count, int) or count < 2:
        raise OptionError(f"count is {count!r}: give a whole number of folds, 2 or more.")
    data = as_interactions(data, **reading)
    data.require_pairs()
    keys = _keys_of(data, seed)
    fold_of = np.empty(data.n_pairs, dtype=np.int64)
    fold_of[np.argsort(keys, kind="stable")] = np.arange(data.n_pairs) % count
    for fold in range(count):
        held_out = fold_of == fold
        wanted = int(np.count_nonzero(held_out))
        if keep_last:
            when = keys.view(np.int64)
            bring_back(data.indptr, data.indices, when, keys, held_out, data.n_items)
        parts = np.where(held_out, TEST, TRAIN).astype(np.int8)
        pairs = replace(data, parts=parts, parts_from={})
        given = split(pairs, method="given", validation=validation, seed=seed, keep_last=keep_last)
        settings = {**given.settings, "method": "folds", "fold": fold, "folds": count}
        kept_back = given.kept_back + wanted - int(np.count_nonzero(held_out))
        yield replace(given, settings=settings, kept_back=kept_back)


@kernel
def pair_keys(indptr: Integers, indices: Rows, user_hashes: Keys, item_hashes: Keys) -> Any:
    """A 64-bit random number for every pair, from the hashes of its two ids."""
    keys = np.empty(len(indices), dtype=np.uint64)
    for user in range(len(indptr) - 1):
        for pair in range(indptr[user], indptr[user + 1]):
            keys[pair] = mix(np.uint64(user_hashes[user]) + mix(item_hashes[indices[pair]]))
    return keys


@kernel
def reseed(keys: Keys) -> Any:
    """Fresh random numbers from those of an earlier cut."""
    fresh = np.empty_like(keys)
    for pair in range(len(keys)):
        fresh[pair] = mix(keys[pair] + np.uint64(1))
    return fresh


@kernel
def last_of_each_user(indptr: Integers, when: Integers, keys: Keys) -> Any:
    """Mark the last pair of each user."""
    held_out = np.zeros(len(when), dtype=np.bool_)
    for user in range(len(indptr) - 1):
        last = indptr[user]
        for pair in range(indptr[user] + 1, indptr[user + 1]):
            if _before(when, keys, last, pair):
                last = pair
        if indptr[user] < indptr[user + 1]:
            held_out[last] = True
    return held_out


@kernel
def first_in_order(order: Integers, user_rows: Rows, counts: Integers) -> Any:
    """Mark the first `counts[u]` pairs of each user `u`, taken in the order given."""
    held_out = np.zeros(len(order), dtype=np.bool_)
    taken = np.zeros(len(counts), dtype=np.int64)
    for place in range(len(order)):
        pair = order[place]
        user = user_rows[pair]
        if taken[user] < counts[user]:
            held_out[pair] = True
            taken[user] += 1
    return held_out


@kernel
def bring_back(
    indptr: Integers, indices: Rows, when: Integers, keys: Keys, held_out: Mask, n_items: int
) -> None:
    """Unmark the first pair of every user, then of every item, that would have none left.

    An item is looked at after all users, so a pair that came back for its user serves its item.
    """
    stays_of_item = np.zeros(n_items, dtype=np.int64)
    for user in range(len(indptr) - 1):
        first, stays = indptr[user], 0
        for pair in range(indptr[user], indptr[user + 1]):
            stays += not held_out[pair]
            if _before(when, keys, pair, first):
                first = pair
        if stays == 0 and indptr[user] < indptr[user + 1]:
            held_out[first] = False
        for pair in range(indptr[user], indptr[user + 1]):
            stays_of_item[indices[pair]] += not held_out[pair]
    first_of_item = np.full(n_items, -1, dtype=np.int64)
    for pair in range(len(indices)):
        item = indices[pair]
        if stays_of_item[item] == 0 and (
            first_of_item[item] < 0 or _before(when, keys, pair, first_of_item[item])
        ):
            first_of_item[item] = pair
    for item in range(n_items):
        if first_of_item[item] >= 0:
            held_out[first_of_item[item]] = False


@inlined
def _before(when: Integers, keys: Keys, one: int, other: int) -> bool:
    """Whether pair `one` comes before pair `other` by (when, key)."""
    if when[one] != when[other]:
        return bool(when[one] < when[other])
    return bool(keys[one] < keys[other])
