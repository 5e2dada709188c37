"""Whether two Interactions are equal to the last bit, notes included."""

from __future__ import annotations

from xorec.data.interactions import Interactions

_ARRAYS = ("indptr", "indices", "times", "ratings", "weights", "parts")


def assert_same_data(found: Interactions, expected: Interactions) -> None:
    """Ids and their kinds, pairs, what stands beside them, and what was said of them."""
    assert (found.users, found.items) == (expected.users, expected.items)
    assert found.digest() == expected.digest()
    assert found.notes == expected.notes
    assert found.parts_from == expected.parts_from
    for name in _ARRAYS:
        one, other = getattr(found, name), getattr(expected, name)
        assert (one is None) == (other is None), name
        if one is not None:
            assert one.dtype == other.dtype, name
            assert one.tobytes() == other.tobytes(), name
