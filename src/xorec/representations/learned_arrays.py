"""LearnedArrays: the arrays that a model or a recommender has learned, for other libraries."""

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from xorec.core.errors import MissingExtraError, OptionError
from xorec.representations.base import Representation

if TYPE_CHECKING:
    from xorec.core.bits import Words
    from xorec.data.ids import Ids
    from xorec.representations.base import Floats


class LearnedArrays:
    """Row r of every array of users (items) belongs to `user_ids[r]` (`item_ids[r]`).

    >>> import xorec
    >>> pairs = [("ann", "tea"), ("ann", "jam"), ("bob", "tea")]
    >>> model = xorec.ALS(dimensions=4, epochs=1).fit(pairs)
    >>> model.item_vectors.shape, list(model.item_ids)
    ((2, 4), ['jam', 'tea'])
    >>> model.user_vectors.shape, list(model.user_ids)
    ((2, 4), ['ann', 'bob'])
    >>> coded = xorec.Signs(bits=16).fit(pairs)
    >>> coded.user_codes.shape, coded.item_codes.dtype
    ((2, 1), dtype('uint64'))
    """

    @abstractmethod
    def _learned(self) -> Representation: ...

    if TYPE_CHECKING:  # properties of a model, fields of a recommender

        @property
        def user_ids(self) -> Ids: ...

        @property
        def item_ids(self) -> Ids: ...

    @property
    def user_vectors(self) -> Floats:
        """The users' vectors, float32 (n_users, dimensions)."""
        return self._array("user_vectors")

    @property
    def item_vectors(self) -> Floats:
        """The items' vectors, float32 (n_items, dimensions)."""
        return self._array("item_vectors")

    @property
    def user_codes(self) -> Words:
        """The users' codes, uint64 (n_users, words): bit k is bit k % 64 of word k // 64."""
        return self._array("user_codes")

    @property
    def item_codes(self) -> Words:
        """The items' codes, uint64 (n_items, words): bit k is bit k % 64 of word k // 64."""
        return self._array("item_codes")

    def to_numpy(self) -> dict[str, npt.NDArray[Any]]:
        """The ids and all arrays there are, by name: `numpy.savez(path, **model.to_numpy())`.

        >>> from xorec.testing.examples import shop
        >>> shop().to_numpy()["item_ids"]
        array(['milk', 'rice', 'tea'], dtype=object)
        """
        ids = {"user_ids": self.user_ids.to_numpy(), "item_ids": self.item_ids.to_numpy()}
        return {**ids, **self._learned().arrays()}

    def to_faiss(self) -> Any:
        """The items as an exact faiss index: needs pip install 'xorec[faiss]'.

        Codes: IndexBinaryFlat, asked with `user_codes.view(numpy.uint8)`. Vectors: IndexFlatIP
        (IndexFlatL2 where items are ranked by distance), asked with `user_vectors`. Its labels are
        rows: `item_ids.take(labels)`. It knows nothing of seen items.

        >>> import xorec
        >>> model = xorec.ALS(dimensions=4, epochs=1).fit([("ann", "tea"), ("bob", "jam")])
        >>> scores, labels = model.to_faiss().search(model.user_vectors, 1)
        >>> [model.item_ids.take(row) for row in labels]
        [['tea'], ['jam']]
        """
        try:
            import faiss
        except ImportError:
            raise MissingExtraError("to_faiss needs faiss: pip install 'xorec[faiss]'.") from None

        learned = self._learned()
        arrays = learned.arrays()
        index: Any
        if learned.kind in ("codes", "two-stage"):
            index = faiss.IndexBinaryFlat(64 * self.item_codes.shape[1])
            index.add(np.ascontiguousarray(self.item_codes).view(np.uint8))
        elif learned.kind in ("vectors", "distances") and "item_bias" not in arrays:
            kinds = {"vectors": faiss.IndexFlatIP, "distances": faiss.IndexFlatL2}
            index = kinds[learned.kind](self.item_vectors.shape[1])
            index.add(np.ascontiguousarray(self.item_vectors))
        else:
            raise OptionError(
                f"faiss cannot rank as this model does: {learned.score_description}; take a model "
                "of vectors or codes."
            )
        return index

    def _array(self, name: str) -> npt.NDArray[Any]:
        arrays = self._learned().arrays()
        if name not in arrays:
            known = ", ".join(arrays) or "neither vectors nor codes"
            raise OptionError(f"this model has no {name}: it has {known}.")
        return arrays[name]
