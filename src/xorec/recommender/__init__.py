"""The recommender: `xorec.recommender.Recommender`."""

from xorec.recommender.recommender import Recommender

__all__ = ["Recommender"]
