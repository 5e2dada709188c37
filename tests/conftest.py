from __future__ import annotations

import os
from itertools import groupby

import pytest
from hypothesis import settings

os.environ["XOREC_STAMPS"] = "off"  # tests leave nothing in the user's caches
settings.register_profile("xorec", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True)
settings.load_profile("ci" if os.environ.get("CI") else "xorec")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files from the front and from the back by turns: workers that compile do not meet in a room,
    where each would compile the same kernels."""
    files = [list(tests) for _, tests in groupby(items, key=lambda item: item.path)]
    ends = [files[-1 - at // 2] if at % 2 else files[at // 2] for at in range(len(files))]
    items[:] = [test for tests in ends for test in tests]
