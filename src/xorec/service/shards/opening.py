"""How a model file is opened: whole, the items of a shard alone, or with its search elsewhere."""

from __future__ import annotations

import numpy as np

from xorec.recommender.recommender import Recommender
from xorec.recommender.similarity import SimilarityIndex
from xorec.representations.base import Representation
from xorec.search.sharded import Shard
from xorec.service.http.problems import HttpError
from xorec.service.live.generations import Generation
from xorec.service.live.models import OpenModel, opened
from xorec.service.settings.config import Config
from xorec.service.shards.front import Front
from xorec.service.shards.remote_index import RemoteIndex
from xorec.service.shards.share import Share

_WARM_K = 10


def opener(config: Config, front: Front | None) -> OpenModel:
    """What opens a generation for a server with these settings."""
    if config.shard is not None:
        share = Share.of(config.shard)
        return lambda about: open_share(about, share)
    if front is not None:
        return lambda about: open_for_front(about, front)
    return opened


def open_share(about: Generation, share: Share) -> Recommender:
    """The file mapped, and an index of the share's items alone: nothing else is made."""
    whole = Recommender.load(about.path, threads=1, index=False)
    rows = share.rows(len(whole.item_ids))
    shard = Shard.of(whole.representation, whole.tie_rank, rows, threads=1)
    if len(whole.user_ids):
        for users in ([0, 0], [0]):  # by both, nobody waits for kernels or the index later
            shard.search(whole.representation.queries(np.array(users)), _WARM_K)
    return whole.searched_by(shard)


def open_for_front(about: Generation, front: Front) -> Recommender:
    """The file mapped, and the search by the shards; refused where shards cannot search it."""
    whole = Recommender.load(about.path, threads=1, index=False)
    learned = whole.representation
    if type(learned).item_range is Representation.item_range:
        learned.item_range(0, learned.n_items)  # says why
    index = RemoteIndex(front, about.digest, whole.tie_rank)
    made = whole.searched_by(index)
    if _is_shared(made):
        vars(made)["item_neighbours"] = SimilarityIndex(learned.among_items(), index)
    return made


def require_shared(recommender: Recommender) -> None:
    """Refuse similar items where the shards, which rank for users, cannot find them."""
    if not _is_shared(recommender):
        raise HttpError(
            501,
            "/v1/similar is not answered by this server: its shards rank by what users have, and "
            "only codes without offsets find similar items in the same way. Ask a server that has "
            "all items.",
        )


def _is_shared(recommender: Recommender) -> bool:
    """Whether items are near each other in the same way as they are near users."""
    learned = recommender.representation
    plain = getattr(learned, "user_vectors", None) is None
    return learned.kind == "codes" and plain and getattr(learned, "item_offsets", None) is None
