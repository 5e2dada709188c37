"""Front: a server whose lists are searched by others; it knows users, events and all names."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, TypeVar

from xorec.core.printable import quoted
from xorec.service.settings.config import Config, Keys
from xorec.service.shards.remote import Asked, RemoteShard
from xorec.service.shards.share import Share, short

T = TypeVar("T")


class Front:
    """shards: in the order of their items. Lists are made in threads, for they wait for shards."""

    def __init__(self, shards: Sequence[RemoteShard], threads: int) -> None:
        self.shards = tuple(shards)
        self._threads = ThreadPoolExecutor(threads, thread_name_prefix="front")

    @classmethod
    def of(cls, config: Config) -> Front | None:
        """What the settings say; None where there are no shards."""
        if not config.shards:
            return None
        limits, count = config.limits, len(config.shards)
        shards = [
            RemoteShard(
                url,
                Share(number, count),
                seconds=limits.shard_seconds,
                connections=limits.shard_connections,
                key=_key(config.keys),
            )
            for number, url in enumerate(config.shards, 1)
        ]
        return cls(shards, limits.shard_connections)

    def run(self, function: Callable[..., T], *arguments: Any) -> asyncio.Future[T]:
        """Call it in a thread; what is to be awaited."""
        return asyncio.get_running_loop().run_in_executor(self._threads, function, *arguments)

    def ask(self, method: str, path: str, bodies: Sequence[bytes]) -> list[Any]:
        """The answers of all shards, which work at the same time; an HttpError names who failed."""
        asked: list[Asked] = []
        try:
            for shard, body in zip(self.shards, bodies, strict=True):
                asked.append(shard.ask(method, path, body))
            return [one.reply() for one in asked]
        finally:
            for one in asked:
                one.abandon()  # what was replied to is done with

    def check(self, digest: str, items: int) -> None:
        """Refuse, by 503 with the name of the shard, unless all hold their share of this model."""
        answers = self.ask("GET", "/v1/shard", [b""] * len(self.shards))
        for shard, answer in zip(self.shards, answers, strict=True):
            found = _part(answer, "model", "digest")
            if found != digest:
                other, ours = short(str(found)), short(digest)
                raise shard.failed(f"serves another model ({other}, not {ours})")
            start, stop = shard.share.rows(items)
            said = [_part(answer, name) for name in ("shard", "start", "stop", "items")]
            if said != [str(shard.share), start, stop, items]:
                raise shard.failed(f"holds another share: it says {quoted(said[0])}")

    def close(self) -> None:
        """Let go of threads and connections."""
        self._threads.shutdown(wait=False, cancel_futures=True)
        for shard in self.shards:
            shard.close()


def _part(answer: Any, *names: str) -> Any:
    for name in names:
        answer = answer.get(name) if isinstance(answer, dict) else None
    return answer


def _key(keys: Keys) -> str | None:
    """The key that a front shows to its shards: the least of its own."""
    for some in (keys.read, keys.write, keys.admin):
        if some:
            return some[0].get_secret_value()
    return None
