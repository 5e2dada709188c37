"""Where the items of a generation lie: out of its file, or made once, in the background."""

from __future__ import annotations

import threading

import numpy as np
import numpy.typing as npt

from xorec.core.progress import logged
from xorec.recommender.item_map import layout_of, principal_places
from xorec.recommender.recommender import Recommender
from xorec.service.http.problems import busy

_WAIT = 1.0
"""Seconds that a request waits for a map that is being made."""


class ItemMap:
    """Places of all items, by row. layout: how they were made."""

    def __init__(self, recommender: Recommender) -> None:
        self._recommender = recommender
        self._places, self.layout = recommender.map_xy, layout_of(recommender) or "pca"
        self._made, self._lock = threading.Event(), threading.Lock()
        self._failure: Exception | None = None
        self._begun = False

    def places(self, wait: float = _WAIT) -> npt.NDArray[np.int16]:
        """Two numbers an item (m, 2); 503 while they are being made."""
        if self._places is None:
            with self._lock:
                if not self._begun:
                    self._begun = True
                    threading.Thread(target=self._make, name="map", daemon=True).start()
            if not self._made.wait(wait):
                raise busy("the map is being made: come again. `xorec map` keeps one in the file.")
            if self._failure is not None:
                raise self._failure
        assert self._places is not None
        return self._places

    def _make(self) -> None:
        try:
            with logged("map", items=len(self._recommender.item_ids)):
                self._places = principal_places(self._recommender)
        except Exception as failure:
            self._failure = failure
        finally:
            self._made.set()
