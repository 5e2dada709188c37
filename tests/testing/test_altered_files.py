"""A sample of `benchmarks/fuzz_model_files.py`: every tensor of every kind of file, altered."""

from __future__ import annotations

import os
import signal
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tests.support.altered_files import (
    ANSWERED,
    CRASHED,
    RAISED,
    REFUSED,
    altered,
    ask,
    outcome,
)
from tests.support.model_files import SMALL, write_files
from xorec.core.errors import DataError
from xorec.recommender import storage
from xorec.recommender.recommender import Recommender
from xorec.representations import REPRESENTATIONS

EVERY = 53
"""One of so many alterations: enough to come by every tensor."""


def every_kind(*always: str) -> list[Any]:
    """The kinds of model files; all but a few are for `make test-all`."""
    rest = [case for case in (*SMALL, "tables", "text") if case not in always]
    return [*always, *(pytest.param(case, marks=pytest.mark.exhaustive) for case in rest)]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {path.stem: path for path in write_files(tmp_path_factory.mktemp("files"))}


def test_there_is_a_file_of_every_representation(files: dict[str, Path]) -> None:
    kinds = {Recommender.load(path).representation.kind for path in files.values()}
    assert kinds == set(REPRESENTATIONS)
    assert "index.starts" in storage.read(files["tables"])[0]


@pytest.mark.parametrize("case", every_kind("codes", "item-weights"))
def test_an_altered_file_is_answered_or_refused(
    files: dict[str, Path], case: str, tmp_path: Path
) -> None:
    ask(files[case])
    bad, met = [], set()
    for number, (what, write) in enumerate(altered(files[case], seed=0)):
        if number % EVERY:
            continue
        write(tmp_path / "altered")
        word, details = outcome(tmp_path / "altered")
        met.add(word)
        if word not in (ANSWERED, REFUSED):
            bad.append(f"{what}: {word} {details}")
    assert not bad
    assert REFUSED in met


@pytest.mark.parametrize("kind", ["date", "uuid", "datetime", "none"])
def test_ids_that_are_not_of_their_kind_are_refused(
    files: dict[str, Path], kind: str, tmp_path: Path
) -> None:
    tensors, metadata = storage.read(files["text"])
    about = {key: fact for key, fact in metadata.items() if key not in ("format", "digest")}
    about["id_kinds"] = {"user_ids": kind, "item_ids": kind}
    storage.write(tmp_path / "altered", tensors, about)
    word, details = outcome(tmp_path / "altered")
    assert word == REFUSED, details
    assert kind in details


def test_a_crash_and_a_foreign_exception_are_told_apart(tmp_path: Path) -> None:
    def crash(path: Path) -> None:
        os.kill(os.getpid(), signal.SIGSEGV)

    def raise_it(path: Path) -> None:
        raise ValueError("five")

    def refuse(path: Path) -> None:
        raise DataError("no")

    assert outcome(tmp_path, crash) == (CRASHED, "SIGSEGV")
    assert outcome(tmp_path, raise_it) == (RAISED, "ValueError: five")
    assert outcome(tmp_path, refuse) == (REFUSED, "no")


@pytest.mark.parametrize(
    ("name", "change"),
    [
        ("index.rows", lambda a: a[:0]),
        ("index.rows", lambda a: a[::-1]),
        ("index.before", lambda a: a + 10**6),
        ("index.starts", lambda a: a * 1000),
        ("index.places", lambda a: a + 1),
        ("index.places", lambda a: a[:0]),
        ("tie_rank", lambda a: np.full_like(a, 10**9)),
        ("representation.bits", lambda a: a[:0]),
        ("representation.item_codes", lambda a: ~a),
    ],
)
def test_what_crashed_once_is_refused(
    files: dict[str, Path], name: str, change: object, tmp_path: Path
) -> None:
    tensors, metadata = storage.read(files["tables"])
    about = {key: fact for key, fact in metadata.items() if key not in ("format", "digest")}
    assert callable(change)
    wrong = {**tensors, name: change(np.array(tensors[name]))}
    storage.write(tmp_path / "altered", wrong, about)
    word, details = outcome(tmp_path / "altered")
    assert word == REFUSED, details
    assert name.split(".")[-1].split("_")[0] in details
