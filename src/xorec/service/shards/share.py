"""Which items a shard has: the n-th of so many shares of nearly the same size."""

from __future__ import annotations

from dataclasses import dataclass

from xorec.core.errors import OptionError


@dataclass(frozen=True)
class Share:
    """number: from 1 to count.

    >>> Share.of("2/3").rows(10), str(Share.of("2/3"))
    ((3, 6), '2/3')
    """

    number: int = 1
    count: int = 1

    @classmethod
    def of(cls, text: str) -> Share:
        """Of "2/3"; checked by the settings."""
        number, count = map(int, text.split("/"))
        return cls(number, count)

    def rows(self, items: int) -> tuple[int, int]:
        """(start, stop): the rows of the share, of so many items."""
        start, stop = (items * n // self.count for n in (self.number - 1, self.number))
        if start == stop:
            raise OptionError(
                f"shard {self} of {items:,} items has none: take fewer shards than items."
            )
        return start, stop

    def __str__(self) -> str:
        return f"{self.number}/{self.count}"


def short(digest: str) -> str:
    """The first digits of a digest, for people.

    >>> short("blake3:ecac3ba3c2c19cf5ecf7913b")
    'ecac3ba3c2c1'
    """
    return digest.rpartition(":")[2][:12]
