from __future__ import annotations

import threading

import pytest

from tests.support.waiting import PATIENCE
from xorec.core.threads import ThreadPool


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("length", [0, 1, 3, 1009])
def test_every_place_is_done_once(threads: int, length: int) -> None:
    done: list[int] = []
    with ThreadPool(threads) as pool:
        pool.map_ranges(length, lambda begin, end: done.extend(range(begin, end)))
        assert sorted(done) == list(range(length))
        pool.map(7, done.append)
    assert sorted(done[length:]) == list(range(7))


def test_the_work_is_shared() -> None:
    """Three pieces are under way at once, or the first would never end."""
    workers, all_here = set(), threading.Barrier(3, timeout=PATIENCE)

    def work(piece: int) -> None:
        workers.add(threading.get_ident())
        if piece < 3:
            all_here.wait()

    with ThreadPool(3) as pool:
        pool.map(30, work)
    assert len(workers) == 3


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("by_main", [True, False])
def test_an_error_of_any_thread_comes_out(threads: int, by_main: bool) -> None:
    together = threading.Barrier(threads, timeout=PATIENCE)

    def work(piece: int) -> None:
        together.wait()
        is_main = threading.current_thread() is threading.main_thread()
        if is_main == (by_main or threads == 1):
            raise ValueError("of a thread")

    with ThreadPool(threads) as pool, pytest.raises(ValueError, match="of a thread"):
        pool.map(2, work)


def test_where_no_thread_can_be_started_the_work_is_done_all_the_same(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """With little address space, say; waiting for a thread that never began would hang."""

    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(threading.Thread, "start", refuse)
    done: list[int] = []
    with ThreadPool(3) as pool:
        pool.map(10, done.append)
    assert sorted(done) == list(range(10))
