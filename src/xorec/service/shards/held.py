"""HeldShard: what a server searches for a front, of one generation."""

from __future__ import annotations

from collections import OrderedDict
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xorec.core.errors import DataError, OptionError
from xorec.core.printable import quoted
from xorec.service.http.problems import HttpError
from xorec.service.schemas.shards import ShardAnswer, ShardHits, ShardSearchBody
from xorec.service.shards.queries import check_ascending, unpack_query
from xorec.service.shards.share import Share, short

if TYPE_CHECKING:
    from xorec.service.live.model import LiveModel
    from xorec.service.service import Service

_KEPT = 64
"""Choices of items that are kept ready, at most."""


class HeldShard:
    """The index of the live model is that of the share (`search.sharded.Shard`), or whole."""

    def __init__(self, live: LiveModel, share: Share) -> None:
        self.live, self.share = live, share
        self.start, self.stop = share.rows(len(live.items))
        self._ready: OrderedDict[bytes, Any] = OrderedDict()

    def describe(self) -> ShardAnswer:
        """Which items it has."""
        return ShardAnswer(
            model=self.live.ref,
            shard=str(self.share),
            start=self.start,
            stop=self.stop,
            items=len(self.live.items),
        )

    def search(self, body: ShardSearchBody) -> ShardHits:
        """The best of its items; 409 where the front means another model or another shard."""
        live = self.live
        if body.digest != live.about.digest:
            raise HttpError(
                409,
                f"this shard serves the model {short(live.about.digest)}, not "
                f"{quoted(short(body.digest))}: let the front and all shards have the same file.",
            )
        if body.shard != str(self.share):
            raise HttpError(409, f"this is shard {self.share}, not {quoted(body.shard)}.")
        query = unpack_query(live.recommender.representation, body.query)
        without = self._rows(body.without, "without")
        hits = live.recommender.index.search(
            query,
            min(body.k, self.stop - self.start),
            exclude=(np.array([0, len(without)]), without),
            allow=self._choice(body),
        )
        count = int(hits.counts[0])
        distances = None if hits.distances is None else hits.distances[0, :count].tolist()
        return ShardHits.model_construct(
            model=live.ref,
            rows=hits.items[0, :count].tolist(),
            scores=hits.scores[0, :count].tolist(),
            distances=distances,
        )

    def _choice(self, body: ShardSearchBody) -> Any:
        """What the search takes as `allow`: made ready once for each choice."""
        if body.allow is not None and body.allow_bits is not None:
            raise OptionError("give allow or allow_bits, not both.")
        if body.allow is not None:
            return self._rows(body.allow, "allow")
        bits = body.allow_bits
        if bits is None:
            return None
        if bits not in self._ready:
            size = self.stop - self.start
            if len(bits) != -(-size // 8):
                raise DataError(
                    f"allow_bits has {len(bits):,} bytes: a bit for each of {size:,} rows."
                )
            mask = np.unpackbits(np.frombuffer(bits, np.uint8), count=size, bitorder="little")
            rows = np.flatnonzero(mask) + self.start
            self._ready[bits] = self.live.recommender.index.item_filter(rows)
            while len(self._ready) > _KEPT:
                self._ready.popitem(last=False)
        return self._ready[bits]

    def _rows(self, packed: bytes, what: str) -> npt.NDArray[np.int32]:
        if len(packed) % 4:
            raise DataError(f"{what} has {len(packed)} bytes: 4 for each row.")
        rows = np.frombuffer(packed, "<i4").astype(np.int32)
        check_ascending(rows, self.start, self.stop, what)
        return rows


def held_by(service: Service) -> HeldShard:
    """The shard of the generation that is served now."""
    held, live = service.held, service.models.default
    if held is None or held.live is not live:
        held = service.held = HeldShard(live, Share.of(service.config.shard or "1/1"))
    return held
