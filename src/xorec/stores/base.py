"""Store: the contract. It takes the tables of an export, whole or not at all, and answers lists.

A store is one file with one class, and its line in `stores.registry`; the kit that it must pass is
`testing.stores`. A database that speaks SQL derives from `stores.sql.SqlStore`, which leaves little
more than the types of its columns, its Hamming distance, and how its driver is called. A folder of
files derives from `stores.parquet_folder.ParquetFolder`, which leaves how one file is written and
read, a file of codes from `stores.code_files.CodeFile`, which leaves how that file is written.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from functools import cached_property
from typing import Any, ClassVar, NamedTuple, Self

from xorec.core.addresses import Address, without_secrets
from xorec.core.errors import OptionError, StoreError, XorecError
from xorec.core.progress import SILENT, Progress
from xorec.databases.base import CHECK_SERVER
from xorec.recommender.results import Recommendations
from xorec.stores.contents import Contents
from xorec.stores.schema import About

Rows = Mapping[str, Any]
"""Values by column, as in `tables.Batch`: arrays, words (n, W) for codes, lists for text."""


class Near(NamedTuple):
    """One of the nearest items: its row, its id as the column has it, its name, its distance."""

    item_row: int
    item_id: int | str
    name: str | None
    distance: int


class Store(ABC):
    """A place for codes that answers lists. Not for several threads at once: each opens its own.

    `about`, what it knows of an export, is read once: after another export, open it again.

    kind: the kind of the address. extra: what `pip install 'xorec[...]'` must bring, "" for none.

    >>> import tempfile
    >>> import xorec
    >>> from xorec.stores.contents import contents_of
    >>> from xorec.stores.registry import open_store
    >>> pairs = [("ann", "tea"), ("ann", "milk"), ("bob", "tea"), ("bob", "rice")]
    >>> shop = xorec.Recommender.from_model(xorec.Signs(bits=16).fit(pairs), pairs)
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = open_store(f"{folder.name}/shop.sqlite")
    >>> store.write(contents_of(shop, users=True))["items"]
    3
    >>> store.recommend("ann").ids() == shop.recommend("ann").ids()
    True
    >>> store.about.bits, store.read_about().users
    (16, 2)
    >>> store.nearest("ann", k=1)[0].item_id
    'rice'
    >>> store.fetch("items", ["tie_rank"], "item_id", ["tea"])["tie_rank"]
    array([0])
    >>> store.sql(contents_of(shop, users=True)).query.split()[0]
    'SELECT'
    >>> store.close()
    >>> folder.cleanup()

    A store of your own wraps its driver in `telling`: errors come out as one line, and `hint` says
    the way out.

    >>> from xorec.core.errors import StoreError
    >>> try:
    ...     with open_store("shop.npy").telling("write"):
    ...         raise OSError("no room")
    ... except StoreError as error:
    ...     print(error)
    cannot write shop.npy: no room. What was exported before is as it was; mend it and run again.
    >>> store.hint(OSError())
    'What was exported before is as it was; mend it and run again.'
    """

    kind: ClassVar[str]
    extra: ClassVar[str] = ""

    def __init__(self, address: Address) -> None:
        self.address = address

    @abstractmethod
    def write(self, contents: Contents, progress: Progress = SILENT) -> dict[str, int]:
        """Write all tables, and only then take them for those of an older export.

        Whatever happens, what was there before answers as before, until all is there: a second run
        succeeds. Returns the rows of each table.
        """

    @abstractmethod
    def read_about(self) -> About | None:
        """What the export that is there says of itself; None where there is none."""

    @abstractmethod
    def fetch(
        self, table: str, columns: Sequence[str], where: str, values: Sequence[int | str]
    ) -> Rows:
        """The rows of a table whose column `where` has one of `values`, in the order of its key.

        Duplicates and misses in `values` are allowed; there may be thousands of them.
        """

    @abstractmethod
    def nearest(self, user: int | str, k: int, *, seen: bool = False) -> list[Near]:
        """The k items nearest to a user's code by (distance, tie rank).

        user: the id as the column has it. seen: those that the user has, too. The distance is that
        of `about`: less the offset of an item, or under the mask of the user.
        """

    def sql(self, contents: Contents) -> SqlText:
        """The statements for a person's own shell; nothing is opened for it."""
        raise OptionError(f"{self.address} is no database: there is no SQL for it.")

    def close(self) -> None:  # noqa: B027 - most have something to close, not all
        """Let go of files and connections."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    @cached_property
    def about(self) -> About:
        """What the export that is there says of itself."""
        found = self.read_about()
        if found is None:
            raise StoreError(
                f"there is no export in {self.address}: write one with "
                f"`xorec export MODEL --to {self.address} --users`."
            )
        return found

    def recommend(self, user: Hashable, k: int = 10, *, seen: bool = False) -> Recommendations:
        """The `k` best items for a user: the list of `Recommender.recommend`, id for id."""
        from xorec.stores.lists import recommend

        return recommend(self, user, k, seen=seen)

    driver_errors: tuple[type[Exception], ...] = (OSError,)
    """What the driver raises; a store whose driver is imported late sets it on itself."""

    @contextmanager
    def telling(self, doing: str) -> Iterator[None]:
        """Errors of the driver come out as one line without secrets: "cannot {doing} ADDRESS"."""
        try:
            yield
        except XorecError:
            raise
        except self.driver_errors as error:
            said = " ".join(without_secrets(str(error)).split()).rstrip(".")
            hint = self.hint(error)
            raise StoreError(
                f"cannot {doing} {self.address}: {said or type(error).__name__}. {hint}"
            ) from None

    def hint(self, error: Exception) -> str:
        """The way out of an error of the driver, a sentence."""
        return "What was exported before is as it was; mend it and run again."


class SqlText(NamedTuple):
    """Statements to read and run: what makes the tables, and the question for a user's list."""

    tables: str
    query: str

    def __str__(self) -> str:
        return f"{self.tables}\n\n{self.query}"


def as_hint(way_out: str) -> str:
    """The way out of an error of `databases` as a sentence; "" for none."""
    if way_out == CHECK_SERVER:
        return f"What was exported before is as it was; {way_out}."
    return f"{way_out[:1].upper()}{way_out[1:]}." if way_out else ""
