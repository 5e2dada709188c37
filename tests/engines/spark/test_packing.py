"""Arrays as bytes: every type and shape comes back, without a copy."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from xorec.engines.spark.packing import map_packed, pack, unpack, write_packed

TYPES = [np.bool_, np.int8, np.uint16, np.int32, np.int64, np.uint64, np.float32, np.float64]


@settings(max_examples=60, deadline=None)
@given(
    st.dictionaries(
        st.text(max_size=8),
        st.sampled_from(TYPES).flatmap(lambda kind: arrays(kind, array_shapes(min_side=0))),
        max_size=4,
    )
)
def test_what_goes_in_comes_out(given_arrays: dict[str, np.ndarray]) -> None:
    found = unpack(pack(given_arrays))
    assert list(found) == list(given_arrays)
    for name, array in given_arrays.items():
        assert found[name].dtype == array.dtype
        assert found[name].shape == array.shape
        assert found[name].tobytes() == array.tobytes()


def test_arrays_are_aligned_views_that_kernels_take_as_any_other(tmp_path: Path) -> None:
    path = tmp_path / "packed"
    with path.open("wb") as file:
        write_packed({"a": np.arange(3, dtype=np.int8), "b": np.arange(5.0)}, file)
    for found in (map_packed(path), unpack(path.read_bytes())):
        assert found["b"].flags.writeable  # a read-only type would be compiled once more
        assert not found["b"].flags.owndata
        assert found["b"].flags.aligned
        np.testing.assert_array_equal(found["b"], np.arange(5.0))


def test_a_slice_is_packed_whole() -> None:
    rows = np.arange(12).reshape(3, 4)
    np.testing.assert_array_equal(unpack(pack({"x": rows[:, 1:3]}))["x"], rows[:, 1:3])


@pytest.mark.parametrize("scalar", [np.float32(2.5), 7])
def test_a_scalar_keeps_its_shape(scalar: float) -> None:
    assert unpack(pack({"x": np.asarray(scalar)}))["x"].shape == ()
