"""Every command that reads data reads it on the threads that it was given."""

from __future__ import annotations

from pathlib import Path

import pytest

from xorec.cli import arguments as args
from xorec.core.threads import ThreadPool
from xorec.data import merge


def test_threads_reach_the_merge_of_the_pairs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[int] = []

    class Spy(ThreadPool):
        def __init__(self, threads: int) -> None:
            given.append(threads)
            super().__init__(threads)

    monkeypatch.setattr(merge, "ThreadPool", Spy)
    (tmp_path / "x.csv").write_text("user,item,rating\n1,1,5\n1,2,4\n2,1,3\n")
    options = args.Run(threads=3, quiet=True).options()
    data = args.DataSource(data=str(tmp_path / "x.csv")).load(options)
    assert data.n_pairs == 3
    assert given[0] == 3
    assert set(given) <= {1, 3}  # few values are taken by one thread
