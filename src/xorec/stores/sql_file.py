"""SqlFileStore: a database in one file, opened when it is first asked; one writes at a time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import Any

from xorec.core.addresses import Address
from xorec.core.locks import locked
from xorec.stores.sql import SqlStore


class SqlFileStore(SqlStore):
    """A store derives from it and says how its file is opened."""

    def __init__(self, address: Address) -> None:
        super().__init__(address)
        assert address.path is not None
        self._path = address.path
        self._writes = False

    @abstractmethod
    def connect(self) -> Any:
        """A connection to the file: to write inside `writing`, else to read only."""

    @cached_property
    def _connection(self) -> Any:
        return self.connect()

    def close(self) -> None:
        if (connection := vars(self).pop("_connection", None)) is not None:
            connection.close()

    @contextmanager
    def writing(self) -> Iterator[None]:
        self.close()
        self._writes = True
        try:
            with locked(self._path):
                yield
        finally:
            self._writes = False
            self.close()
