"""RemoteIndex: the exact search over all items, by the shards of a front."""

from __future__ import annotations

import base64
import json
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

from xorec.core.arrays import positive_int
from xorec.core.errors import OptionError
from xorec.data.tie_rank import TieRank
from xorec.search.checks import check_choice, check_lists, check_rows
from xorec.search.hits import Exclude, Hits
from xorec.search.sharded import merged
from xorec.service.shards.front import Front
from xorec.service.shards.queries import pack_query
from xorec.service.shards.remote import RemoteShard

Rows = npt.NDArray[np.int64]


class SentChoice(NamedTuple):
    """A choice of items as it is sent: for each shard the field that says it."""

    fields: tuple[dict[str, str], ...]


class RemoteIndex:
    """One query at a time goes to all shards; what they find is merged by the tie rule.

    digest: of the model file that all of them must serve. See `search.index.Index`.
    """

    def __init__(self, front: Front, digest: str, tie_rank: TieRank) -> None:
        self._front, self._digest, self._tie_rank = front, digest, tie_rank
        self._ranges = [shard.share.rows(len(tie_rank)) for shard in front.shards]

    def __len__(self) -> int:
        return len(self._tie_rank)

    def search(
        self,
        queries: Any,
        k: int,
        *,
        exclude: Exclude | None = None,
        allow: Any = None,
        deny: npt.NDArray[np.integer] | None = None,
        threads: int = 1,
    ) -> Hits:
        """The `k` best items of one query; an HttpError (503) names the shard that fails."""
        k, items = min(positive_int(k), len(self)), len(self)
        if (queries.shape[0] if hasattr(queries, "shape") else len(queries)) != 1:
            raise OptionError("shards are asked for one query at a time.")
        arrays = pack_query(queries)
        hidden = np.zeros(0, dtype=np.int64) if deny is None else check_rows(deny, items, "deny")
        if exclude is not None:
            (begin, end), rows = check_lists(exclude, 1, "exclude")
            hidden = np.union1d(hidden, check_rows(rows[begin:end], items, "exclude"))
        hidden = np.unique(hidden).astype(np.int32)
        choice = allow if allow is None or isinstance(allow, SentChoice) else self._sent(allow)
        body = {
            "digest": self._digest,
            "k": k,
            "query": {name: _text(array) for name, array in arrays.items()},
        }
        bodies = []
        for at, (shard, (start, stop)) in enumerate(
            zip(self._front.shards, self._ranges, strict=True)
        ):
            own = hidden[slice(*np.searchsorted(hidden, [start, stop]))]
            more = {} if choice is None else choice.fields[at]
            every = {**body, "shard": str(shard.share), "without": _text(own), **more}
            bodies.append(json.dumps(every).encode())
        answers = self._front.ask("POST", "/v1/shard/search", bodies)
        found = [
            _hits(shard, answer, rows, k)
            for shard, answer, rows in zip(self._front.shards, answers, self._ranges, strict=True)
        ]
        return merged(found, self._tie_rank, k)

    def item_filter(self, items: npt.NDArray[Any]) -> SentChoice:
        """A choice of items (rows, or one bool for each row), for many searches."""
        return self._sent(items)

    def tensors(self) -> dict[str, npt.NDArray[Any]]:
        """Nothing is kept here."""
        return {}

    def explain(self) -> str:
        """What is searched by."""
        return " | ".join(f"shard {one.share} at {one.url}" for one in self._front.shards)

    @property
    def nbytes(self) -> int:
        """Bytes here: of the tie rank alone."""
        return self._tie_rank.nbytes

    def _sent(self, items: npt.NDArray[Any]) -> SentChoice:
        """As rows or as bits, whichever is shorter."""
        rows = np.unique(check_choice(items, len(self)))
        return SentChoice(tuple(_field(rows, start, stop) for start, stop in self._ranges))


def _field(rows: Rows, start: int, stop: int) -> dict[str, str]:
    own = rows[slice(*np.searchsorted(rows, [start, stop]))]
    if 32 * len(own) < stop - start:
        return {"allow": _text(own.astype("<i4"))}
    mask = np.zeros(stop - start, dtype=np.bool_)
    mask[own - start] = True
    return {"allow_bits": _text(np.packbits(mask, bitorder="little"))}


def _text(array: npt.NDArray[Any]) -> str:
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return base64.b64encode(little.tobytes()).decode("ascii")


def _hits(shard: RemoteShard, answer: Any, rows: tuple[int, int], k: int) -> Hits:
    """An answer of a shard, looked at as anything from outside."""
    try:
        items = np.array(answer["rows"], dtype=np.int64)
        scores = np.array(answer["scores"], dtype=np.float32)
        said = answer["distances"]
        distances = None if said is None else np.array(said, dtype=np.int32)
    except (KeyError, TypeError, ValueError, OverflowError):
        raise shard.failed("answers what is no list") from None
    shapes = {one.shape for one in (items, scores, *(() if said is None else (distances,)))}
    inside = not len(items) or (items.min() >= rows[0] and items.max() < rows[1])
    if shapes != {(len(items),)} or len(items) > k or not inside:
        raise shard.failed("answers items that it does not hold")
    near = None if distances is None else distances[None]
    return Hits(items.astype(np.int32)[None], scores[None], np.array([len(items)]), near)
