"""The queue of the loop: in order, bounded, writes counted apart."""

from __future__ import annotations

import asyncio

from xorec.service.http.queue import RequestQueue


def test_writes_and_lists_are_counted_apart_and_answered_in_order() -> None:
    async def run() -> list[str]:
        done: list[str] = []
        queue = RequestQueue(asyncio.get_running_loop(), 2, 3, lambda: 0)
        for name, writes in (("a", True), ("b", False), ("c", True), ("d", True), ("e", False)):
            assert not queue.is_full(writes=writes), name
            queue.add(lambda name=name: done.append(name), writes=writes)  # type: ignore[misc]
        assert queue.is_full(writes=True)
        assert queue.is_full(writes=False)
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert not queue.is_full(writes=True)
        assert not queue.is_full(writes=False)
        assert len(queue) == 0
        return done

    assert asyncio.run(run()) == ["a", "b", "c", "d", "e"]


def test_what_is_under_way_elsewhere_counts_for_lists_only() -> None:
    async def run() -> None:
        queue = RequestQueue(asyncio.get_running_loop(), 4, 4, lambda: 4)
        assert queue.is_full(writes=False)
        assert not queue.is_full(writes=True)

    asyncio.run(run())
