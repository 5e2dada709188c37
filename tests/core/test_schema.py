"""The gate for what comes from outside: every line of it, on tensors that break just that one."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from xorec.core.errors import DataError
from xorec.core.schema import Schema, Tensor, check_tensors

SCHEMA: Schema = {
    "indptr": Tensor("int64", ("users+1",), offsets_of="rows"),
    "rows": Tensor(("int32", "int64"), ("pairs",), rows_of="items"),
    "weights": Tensor("float32", ("pairs", 2), least=0, most=1),
    "bias": Tensor("float32", ("items",), optional=True),
}
SIZES = {"users": 3, "items": 5}


def tensors() -> dict[str, npt.NDArray[Any]]:
    return {
        "indptr": np.array([0, 2, 2, 4]),
        "rows": np.array([0, 4, 1, 2], dtype=np.int32),
        "weights": np.linspace(0, 1, 8, dtype=np.float32).reshape(4, 2),
        "bias": np.zeros(5, dtype=np.float32),
    }


def test_what_is_as_declared_passes() -> None:
    check_tensors(tensors(), SCHEMA, SIZES)
    without = {name: array for name, array in tensors().items() if name != "bias"}
    check_tensors(without, SCHEMA, SIZES)
    no_users: dict[str, npt.NDArray[Any]] = {
        "indptr": np.zeros(1, dtype=np.int64),
        "rows": np.zeros(0, dtype=np.int64),
        "weights": np.zeros((0, 2), dtype=np.float32),
    }
    check_tensors(no_users, SCHEMA, {"users": 0, "items": 0})


@pytest.mark.parametrize(
    ("name", "wrong", "message"),
    [
        ("rows", None, "rows is missing"),
        ("weights", None, "weights is missing"),
        ("rows", np.array([0, 4, 1, 2.0]), "rows is float64 .* should be int32 or int64 of 1"),
        ("rows", np.array([[0, 4, 1, 2]]), "rows is int64 .* of 1 dimensions"),
        ("rows", np.array([0, 5, 1, 2]), "rows has the value 5 but 0 to 4 are possible"),
        ("rows", np.array([0, -1, 1, 2]), "rows has the value -1 but 0 to 4"),
        ("rows", np.array([0, 4, 1]), "weights has the shape .*: 4 should be 3"),
        ("indptr", np.array([0, 2, 4]), "indptr has the shape .*: 3 should be 4"),
        ("indptr", np.array([0, 2, 1, 4]), "indptr does not rise from 0 to 4"),
        ("indptr", np.array([1, 2, 2, 4]), "indptr does not rise from 0 to 4"),
        ("indptr", np.array([0, 2, 2, 3]), "indptr does not rise from 0 to 4"),
        ("indptr", np.array([0, 2, 2, 5]), "indptr does not rise from 0 to 4"),
        ("weights", np.full((4, 2), 1.5, np.float32), "weights has the value 1.5 but 0 to 1"),
        ("weights", np.full((4, 2), -0.5, np.float32), "weights has the value -0.5 but 0 to 1"),
        ("weights", np.zeros((4, 3), np.float32), "weights has the shape .*: 3 should be 2"),
        ("bias", np.zeros(4, np.float32), "bias has the shape .*: 4 should be 5"),
    ],
)
def test_what_is_not_is_named(name: str, wrong: npt.NDArray[Any] | None, message: str) -> None:
    given = tensors()
    if wrong is None:
        del given[name]
    else:
        given[name] = wrong
    with pytest.raises(DataError, match=message):
        check_tensors(given, SCHEMA, SIZES)


def test_sizes_that_are_not_known_are_as_first_met() -> None:
    schema = {name: Tensor("int64", ("n", "m")) for name in ("a", "b")}
    check_tensors({"a": np.zeros((2, 3), np.int64), "b": np.ones((2, 3), np.int64)}, schema, {})
    with pytest.raises(DataError, match="b has the shape"):
        check_tensors({"a": np.zeros((2, 3), np.int64), "b": np.ones((3, 2), np.int64)}, schema, {})
