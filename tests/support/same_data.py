"""The pairs of Interactions by raw ids; and whether two Interactions are equal to the last bit."""

from __future__ import annotations

from typing import Any

from xorec.data.interactions import Interactions

_ARRAYS = ("indptr", "indices", "times", "ratings", "weights", "parts")


def pairs_of(data: Interactions) -> list[tuple[Any, Any]]:
    """(user, item) of every pair, in the order of the rows."""
    users, items = data.users.take(data.user_rows), data.items.take(data.indices)
    return list(zip(users, items, strict=True))


def pair_set(data: Interactions) -> set[tuple[Any, Any]]:
    """The same as a set."""
    return set(pairs_of(data))


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
