"""Altered model files: every tensor, the metadata and the header in many ways.

Each is opened and asked in a process of its own (a fork, so kernels are loaded already). It must be
answered or refused with a XorecError: no crash, no hang, no other exception.
"""

from __future__ import annotations

import faulthandler
import os
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from tests.support.altered_headers import altered_headers, altered_metadata
from xorec.core.errors import XorecError
from xorec.core.options import RunOptions
from xorec.data.interactions import Interactions
from xorec.evaluation.protocol import evaluate
from xorec.recommender import storage
from xorec.recommender.batch import for_all_users
from xorec.recommender.recommender import Recommender
from xorec.recommender.unseen import unseen_pairs

Array = npt.NDArray[Any]
Write = Callable[[Path], object]
"""Writes an altered file to a path."""
ANSWERED, REFUSED, RAISED, HUNG, CRASHED = "answered", "refused", "raised", "hung", "crashed"
SECONDS = 60
"""Of work; ten times as long by the clock, for on a busy machine others work too."""
_WILD = (-1, 1, -(2**31), 2**31 - 1, 10**9, 2**63 - 1, -(2**63), 2**32, 255)


def alterations(array: Array, rng: np.random.Generator) -> Iterator[tuple[str, Array]]:
    """What can be wrong with one tensor: (name, the altered tensor)."""
    flat = array.reshape(-1)
    yield "empty", array[:0]
    yield "cut", array[: len(array) // 2]
    yield "one less", array[:-1]
    yield "twice", np.concatenate([array, array])
    yield "backwards", array[::-1].copy()
    yield "flat", flat.copy()
    yield "a dimension more", array[..., None].copy()
    for dtype in ("float32", "int64", "int32", "uint64", "uint8", "int8", "float16"):
        if array.dtype != dtype:
            with np.errstate(all="ignore"):
                yield dtype, array.astype(dtype)
    yield "zeros", np.zeros_like(array)
    for value in _WILD:
        full = np.full(array.shape, value % 2**64, dtype=np.uint64).astype(np.int64)
        with np.errstate(all="ignore"):
            yield f"full of {value}", full.astype(array.dtype)
        if flat.size:
            for place in sorted({0, flat.size - 1, int(rng.integers(flat.size))}):
                one = flat.copy()
                with np.errstate(all="ignore"):
                    one[place] = np.array(value % 2**64, np.uint64).astype(np.int64)
                yield f"{value} at {place}", one.reshape(array.shape)
    if array.dtype.kind == "f":
        for special in (np.nan, np.inf, -np.inf, np.finfo(array.dtype).max):
            yield f"full of {special}", np.full_like(array, special)
    if flat.size:
        turned = np.frombuffer(flat.tobytes(), dtype=np.uint8).copy()
        turned[int(rng.integers(turned.size))] ^= np.uint8(1 << rng.integers(8))
        yield "a bit turned", turned.view(array.dtype).reshape(array.shape)
        shuffled = flat.copy()
        rng.shuffle(shuffled)
        yield "shuffled", shuffled.reshape(array.shape)
        if np.issubdtype(array.dtype, np.integer) and flat.size > 1:
            one, other = rng.integers(flat.size, size=2)
            moved = flat.copy()
            moved[one] = flat[other]
            yield "a value twice", moved.reshape(array.shape)


def altered(path: Path, seed: int) -> Iterator[tuple[str, Write]]:
    """(what was done, how to write it) of every alteration of a model file.

    seed: of the places that are altered; the header and the metadata are altered for seed 0 alone,
    where nothing is left to chance.
    """
    tensors, metadata = storage.read(path)
    about = {key: fact for key, fact in metadata.items() if key not in ("format", "digest")}
    rng = np.random.default_rng(seed)
    for name, array in tensors.items():
        without = {key: tensors[key] for key in tensors if key != name}
        yield f"{name}: gone", partial(storage.write, tensors=without, metadata=about)
        for what, other in alterations(np.array(array), rng):
            wrong = {**tensors, name: other}
            yield f"{name}: {what}", partial(storage.write, tensors=wrong, metadata=about)
    if seed == 0:
        for what, wrong_about in altered_metadata(about):
            yield what, partial(storage.write, tensors=tensors, metadata=wrong_about)
        for what, content in altered_headers(path.read_bytes()):
            yield what, partial(Path.write_bytes, data=content)


def ask(path: Path) -> None:
    """Open a file and ask everything that reaches a kernel."""
    shop = Recommender.load(path, verify=False, threads=1)
    users, items = shop.user_ids, shop.item_ids
    for row in range(0, len(users), max(1, len(users) // 3)):
        shop.recommend(users[row], 5)
        shop.recommend(users[row], 5, deny=[items[0]])
    shop.recommend(users[0], 5, allow=[items[0], items[len(items) - 1]])
    shop.recommend_many([users[row] for row in range(min(40, len(users)))], 7)
    for _ in for_all_users(shop, 3).blocks(RunOptions(threads=1)):
        pass
    questions: list[Callable[[], object]] = [
        lambda: shop.similar(items[0], 5),
        lambda: shop.similar_users(users[0], 5),
        lambda: shop.explain(users[0], items[0]),
        lambda: shop.fold_in([items[0]]),
        lambda: shop.recommend_for([items[0], items[1]], 5),
        lambda: shop.explain_for([items[0]], items[1]),
        lambda: shop.recommend(users[0], 5, allow=shop.in_category(_labels(shop))),
        lambda: _evaluate(shop),
        lambda: shop.update(_pairs(shop)).recommend(users[0], 5),
    ]
    for question in questions:
        with suppress(XorecError):  # not every representation can
            question()
    Recommender.load(path, threads=1)


def _pairs(shop: Recommender) -> Interactions:
    """A few pairs that may be new, one of them of a new user."""
    users, items = shop.user_ids, shop.item_ids
    new = "new user" if users.kind == "str" else -123
    last = len(items) - 1
    return Interactions.from_pairs(
        [(users[0], items[0]), (users[0], items[last]), (users[1], items[1]), (new, items[last])]
    )


def _labels(shop: Recommender) -> list[str]:
    return [] if shop.categories is None else list(shop.categories.labels)


def _evaluate(shop: Recommender) -> None:
    train, test, _ = unseen_pairs(shop, _pairs(shop), None)
    evaluate(shop.representation, train, test, ks=(2,), tie_rank=shop.tie_rank)


def outcome(path: Path, question: Callable[[Path], None] = ask) -> tuple[str, str]:
    """What becomes of a file in a process of its own: one of the words above, and details."""
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        os.close(reading)
        signal.setitimer(signal.ITIMER_PROF, SECONDS)
        signal.alarm(10 * SECONDS)
        faulthandler.disable()
        warnings.simplefilter("ignore")  # numbers too large are no harm
        try:
            question(path)
            said = ANSWERED
        except XorecError as error:
            said = f"{REFUSED} {error}"
        except BaseException as error:  # what we look for
            said = f"{RAISED} {type(error).__name__}: {error}"
        os.write(writing, said[:2000].encode(errors="replace"))
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as pipe:
        said = pipe.read().decode(errors="replace")
    _, status = os.waitpid(child, 0)
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        hung = number in (signal.SIGALRM, signal.SIGPROF)
        return (HUNG if hung else CRASHED), signal.Signals(number).name
    word, _, details = said.partition(" ")
    return word, details
